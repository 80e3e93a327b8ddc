#include "jetstream/consumer/ack_body.hpp"

#include "base/go_duration.hpp"

#include <tern/codec/json.hpp>

#include <cstddef>

namespace tern::jetstream {
namespace {

struct nak_options {
  nanoseconds delay{0};
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n\f\v";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

void read_delay(ack_body& into, std::string_view text) {
  if (text.empty()) return;
  if (text.front() == '{') {
    const auto options = codec::read_json<nak_options>(text, codec::peer_lenient);
    into.bad_delay = !options;
    if (options) into.delay = options->delay;
  } else {
    const auto delay = parse_go_duration(text);
    into.bad_delay = !delay;
    if (delay) into.delay = *delay;
  }
  into.has_delay = !into.bad_delay && into.delay > nanoseconds(0);
}

// A decimal number that ends at a dot or at the end; moves behind the dot.
bool take_number(std::string_view& text, std::uint64_t& value) {
  std::size_t at = 0;
  value = 0;
  for (; at < text.size() && text[at] != '.'; ++at) {
    const auto digit = static_cast<unsigned char>(text[at] - '0');
    if (digit > 9 || value > (~std::uint64_t{0} - digit) / 10) return false;
    value = value * 10 + digit;
  }
  if (at == 0) return false;
  text.remove_prefix(at < text.size() ? at + 1 : at);
  return true;
}

}  // namespace

ack_body parse_ack_body(std::string_view body) {
  ack_body out;
  if (body.empty() || body == "+ACK" || body == "+OK") {
    out.kind = ack_kind::ack;
  } else if (body.starts_with("-NAK")) {
    out.kind = ack_kind::nak;
    read_delay(out, trimmed(body.substr(4)));
  } else if (body == "+WPI") {
    out.kind = ack_kind::progress;
  } else if (body.starts_with("+NXT")) {
    out.kind = ack_kind::next;
    out.argument = body.substr(4);
  } else if (body.starts_with("+TERM")) {
    out.kind = ack_kind::term;
    out.argument = trimmed(body.substr(5));
  }
  return out;
}

std::optional<ack_numbers> parse_ack_numbers(std::string_view tail) {
  ack_numbers out;
  if (!take_number(tail, out.deliveries) || !take_number(tail, out.stream_sequence) ||
      !take_number(tail, out.consumer_sequence)) {
    return std::nullopt;
  }
  return out;
}

}  // namespace tern::jetstream
