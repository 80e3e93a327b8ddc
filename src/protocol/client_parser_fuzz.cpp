// Any input, cut anywhere, gives the same events and outcome as in one piece.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "protocol/client_parser.hpp"

namespace {

using namespace tern::protocol;

struct recorder {
  std::string events;
  verdict note(char kind, std::string_view a = {}, std::string_view b = {}, std::string_view c = {}) {
    events.append(1, kind).append(a).append(1, '|').append(b).append(1, '|').append(c).append(1, '\n');
    return verdict::go_on;
  }
  verdict on_message(const message_frame& message) {
    if (!message.body_and_crlf().ends_with("\r\n")) std::abort();
    note('M', message.subject, message.sid, message.reply);
    return note('m', message.header(), message.payload());
  }
  verdict on_info(std::string_view json) { return note('I', json); }
  verdict on_ping() { return note('i'); }
  verdict on_pong() { return note('o'); }
  verdict on_ok() { return note('+'); }
  verdict on_error(std::string_view text) { return note('-', text); }
};

parse_outcome run(std::string_view bytes, std::uint32_t seed, recorder& handler) {
  client_parser parser;
  while (!bytes.empty()) {
    const std::size_t size = seed == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 1 + (seed >> 16) % 8);
    seed = seed == 0 ? 0 : seed * 1664525u + 1013904223u;
    const std::string piece(bytes.substr(0, size));
    const parse_outcome outcome = parser.consume(piece, handler);
    if (outcome != parse_outcome::more) return outcome;
    bytes.remove_prefix(size);
  }
  return parse_outcome::more;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  recorder whole;
  const parse_outcome expected = run(bytes, 0, whole);
  for (const std::uint32_t seed : {1u, 77u, static_cast<std::uint32_t>(size) * 2654435761u | 1u}) {
    recorder cut;
    const parse_outcome outcome = run(bytes, seed, cut);
    if (outcome != expected || cut.events != whole.events) std::abort();
  }
  return 0;
}
