#include "jetstream/consumer/pull_request.hpp"

#include "base/numbers.hpp"

#include <tern/codec/json.hpp>

#include <limits>

namespace tern::jetstream {

result<parsed_pull> parse_pull_request(std::string_view body) {
  constexpr std::string_view blanks = " \t\r\n\f\v";
  parsed_pull out;
  out.request.batch = 1;
  const std::size_t begin = body.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return out;
  const std::string_view text = body.substr(begin, body.find_last_not_of(blanks) - begin + 1);
  if (text.front() == '{') {
    out.json = true;
    out.request.batch = 0;
    if (auto read = codec::read_json_into(text, out.request, codec::peer_lenient); !read) {
      return std::unexpected(std::move(read).error());
    }
    if (out.request.idle_heartbeat > out.request.expires / 2 && out.request.idle_heartbeat > nanoseconds(0)) {
      return fail(errc::invalid_argument, "heartbeat value too large");
    }
    return out;
  }
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  if (const auto batch = parse_signed_decimal(digits)) out.request.batch = *batch;
  return out;
}

}  // namespace tern::jetstream
