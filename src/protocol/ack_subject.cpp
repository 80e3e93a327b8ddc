#include "protocol/ack_subject.hpp"

#include <array>

#include "base/numbers.hpp"
#include "protocol/subject.hpp"

namespace tern::protocol {
namespace {

constexpr std::size_t v1_tokens = 9;
constexpr std::size_t v2_tokens = 11;
constexpr std::string_view no_domain = "_";

void append_numbers_of(std::string& out, const ack_subject& of) {
  append_ack_numbers(out, of.delivered, of.stream_sequence, of.consumer_sequence, of.timestamp, of.pending);
}

}  // namespace

std::optional<ack_subject> parse_ack_subject(std::string_view subject) {
  if (!subject.starts_with(ack_prefix)) return std::nullopt;
  std::array<std::string_view, v2_tokens> tokens;
  std::size_t count = 0;
  for (const std::string_view token : subject_tokens(subject)) {
    if (count < tokens.size()) tokens[count] = token;  // what follows in v2 is for later versions
    ++count;
  }
  if (count != v1_tokens && count < v2_tokens) return std::nullopt;
  ack_subject read;
  std::size_t at = 2;
  if (count >= v2_tokens) {
    if (tokens[2] != no_domain) read.domain = tokens[2];
    read.account_hash = tokens[3];
    at = 4;
  }
  read.stream = tokens[at];
  read.consumer = tokens[at + 1];
  if (read.stream.empty() || read.consumer.empty()) return std::nullopt;
  const auto delivered = parse_decimal(tokens[at + 2]);
  const auto stream_sequence = parse_decimal(tokens[at + 3]);
  const auto consumer_sequence = parse_decimal(tokens[at + 4]);
  const auto timestamp = parse_signed_decimal(tokens[at + 5]);
  const auto pending = parse_decimal(tokens[at + 6]);
  if (!delivered || !stream_sequence || !consumer_sequence || !timestamp || !pending) return std::nullopt;
  read.delivered = *delivered;
  read.stream_sequence = *stream_sequence;
  read.consumer_sequence = *consumer_sequence;
  read.timestamp = from_unix_nanoseconds(*timestamp);
  read.pending = *pending;
  return read;
}

std::string ack_subject_prefix(std::string_view stream, std::string_view consumer) {
  std::string prefix(ack_prefix);
  prefix.append(stream).append(1, '.').append(consumer).append(1, '.');
  return prefix;
}

void append_ack_numbers(std::string& out, std::uint64_t delivered, std::uint64_t stream_sequence,
                        std::uint64_t consumer_sequence, time_point timestamp, std::uint64_t pending) {
  append_decimal(out, delivered);
  out += '.';
  append_decimal(out, stream_sequence);
  out += '.';
  append_decimal(out, consumer_sequence);
  out += '.';
  append_signed_decimal(out, to_unix_nanoseconds(timestamp));
  out += '.';
  append_decimal(out, pending);
}

void append_ack_subject(std::string& out, const ack_subject& of) {
  out.append(ack_prefix).append(of.stream).append(1, '.').append(of.consumer).append(1, '.');
  append_numbers_of(out, of);
}

void append_ack_subject_v2(std::string& out, const ack_subject& of) {
  out.append(ack_prefix).append(of.domain.empty() ? no_domain : of.domain).append(1, '.');
  out.append(of.account_hash).append(1, '.').append(of.stream).append(1, '.').append(of.consumer).append(1, '.');
  append_numbers_of(out, of);
}

}  // namespace tern::protocol
