// The reply subject of a delivered message, which says what an acknowledgement is for (jetstream 14):
//   v1  $JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<timestamp>.<pending>
//   v2  $JS.ACK.<domain|_>.<account hash>.<stream>.<consumer>.<delivered>.<sseq>.<cseq>.<timestamp>.<pending>[.<extra>]
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tern/base/time.hpp>

namespace tern::protocol {

inline constexpr std::string_view ack_prefix = "$JS.ACK.";

// Views into the subject it was parsed from, or into what the caller builds it of. Domain and account are those of v2;
// an absent domain is empty (`_` on the wire).
struct ack_subject {
  std::string_view domain;
  std::string_view account_hash;
  std::string_view stream;
  std::string_view consumer;
  std::uint64_t delivered = 0;
  std::uint64_t stream_sequence = 0;
  std::uint64_t consumer_sequence = 0;
  time_point timestamp{};
  std::uint64_t pending = 0;

  friend bool operator==(const ack_subject&, const ack_subject&) = default;
};

// Empty when it is no such subject or a number in it does not parse.
std::optional<ack_subject> parse_ack_subject(std::string_view subject);

void append_ack_subject(std::string& out, const ack_subject& of);     // v1
void append_ack_subject_v2(std::string& out, const ack_subject& of);  // v2, 11 tokens

// The part before `<delivered>` never changes for a consumer: build it once, then append the numbers per delivery.
std::string ack_subject_prefix(std::string_view stream, std::string_view consumer);
void append_ack_numbers(std::string& out, std::uint64_t delivered, std::uint64_t stream_sequence,
                        std::uint64_t consumer_sequence, time_point timestamp, std::uint64_t pending);

}  // namespace tern::protocol
