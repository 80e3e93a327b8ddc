// What a client says about a delivered message: the body of a publish to its ack subject (jetstream 14).
#pragma once

#include <tern/base/time.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace tern::jetstream {

enum class ack_kind : std::uint8_t { ack, nak, progress, next, term, unknown };

struct ack_body {
  ack_kind kind = ack_kind::unknown;
  nanoseconds delay{0};  // nak: above zero when one was given
  bool has_delay = false;
  bool bad_delay = false;     // nak: one was given that cannot be read
  std::string_view argument;  // next: the pull request; term: the reason
};

// Views into `body`.
ack_body parse_ack_body(std::string_view body);

// The numbers of an ack subject, behind `$JS.ACK.<stream>.<consumer>.` or its v2 form:
// `<delivered>.<stream seq>.<consumer seq>.<timestamp>.<pending>[.<more>]`.
struct ack_numbers {
  std::uint64_t deliveries = 0;
  std::uint64_t stream_sequence = 0;
  std::uint64_t consumer_sequence = 0;
};
// Only the first three count; empty when one of them does not parse.
std::optional<ack_numbers> parse_ack_numbers(std::string_view tail);

}  // namespace tern::jetstream
