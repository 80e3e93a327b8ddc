#include "jetstream/stream/publish_headers.hpp"

#include "base/ascii.hpp"
#include "base/go_duration.hpp"
#include "base/numbers.hpp"
#include "protocol/headers.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace tern::jetstream {
namespace {

constexpr std::string_view common_prefix = "Nats-";
constexpr std::string_view request_info = "Nats-Request-Info";

using field = std::string_view publish_headers::*;
constexpr std::array<std::pair<std::string_view, field>, 22> known_fields = {{
    {"Msg-Id", &publish_headers::message_id},
    {"Expected-Stream", &publish_headers::expected_stream},
    {"Expected-Last-Sequence", &publish_headers::expected_last_sequence},
    {"Expected-Last-Subject-Sequence", &publish_headers::expected_last_subject_sequence},
    {"Expected-Last-Subject-Sequence-Subject", &publish_headers::expected_last_subject_sequence_subject},
    {"Expected-Last-Msg-Id", &publish_headers::expected_last_message_id},
    {"Rollup", &publish_headers::rollup},
    {"TTL", &publish_headers::time_to_live},
    {"Incr", &publish_headers::increment},
    {"Batch-Id", &publish_headers::batch_id},
    {"Batch-Sequence", &publish_headers::batch_sequence},
    {"Batch-Commit", &publish_headers::batch_commit},
    {"Required-Api-Level", &publish_headers::required_api_level},
    {"Schedule", &publish_headers::schedule},
    {"Schedule-Target", &publish_headers::schedule_target},
    {"Schedule-Source", &publish_headers::schedule_source},
    {"Schedule-TTL", &publish_headers::schedule_ttl},
    {"Schedule-Rollup", &publish_headers::schedule_rollup},
    {"Schedule-Time-Zone", &publish_headers::schedule_time_zone},
    {"Schedule-Next", &publish_headers::schedule_next},
    {"Scheduler", &publish_headers::scheduler},
    {"Stream-Source", &publish_headers::stream_source},
}};

void take(publish_headers& into, std::string_view name, std::string_view value) {
  if (name == request_info.substr(common_prefix.size())) {
    into.has_request_info = true;
    return;
  }
  for (const auto& [known, member] : known_fields) {
    if (known != name) continue;
    if ((into.*member).data() == nullptr) into.*member = value;  // the first of a name counts, an empty one too
    return;
  }
}

}  // namespace

publish_headers publish_headers::read(std::string_view block) {
  publish_headers found;
  std::size_t end = block.find("\r\n");
  if (end == std::string_view::npos) return found;
  found.has_status = end > protocol::header_line.size();
  for (std::size_t at = end + 2; at < block.size(); at = end + 2) {
    end = block.find("\r\n", at);
    if (end == std::string_view::npos) break;
    std::string_view line = block.substr(at, end - at);
    if (!line.starts_with(common_prefix)) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view value = line.substr(colon + 1);
    const std::size_t first = value.find_first_not_of(' ');
    value = value.substr(std::min(first, value.size()));
    take(found, line.substr(common_prefix.size(), colon - common_prefix.size()), value);
  }
  return found;
}

std::string storable_headers(std::string_view block) {
  return protocol::without_header(protocol::without_status(block), request_info);
}

std::optional<rollup_scope> parse_rollup(std::string_view text) {
  if (text.empty()) return rollup_scope::none;
  if (equal_in_any_case(text, "sub")) return rollup_scope::subject;
  if (equal_in_any_case(text, "all")) return rollup_scope::all;
  return std::nullopt;
}

std::optional<nanoseconds> parse_time_to_live(std::string_view text) {
  if (equal_in_any_case(text, "never")) return nanoseconds(0);
  if (const auto seconds = parse_decimal(text)) {
    constexpr std::uint64_t seconds_max = 9'000'000'000;  // what fits nanoseconds
    if (*seconds == 0 || *seconds > seconds_max) return std::nullopt;
    return std::chrono::seconds(static_cast<std::int64_t>(*seconds));
  }
  const auto duration = parse_go_duration(text);
  if (!duration || *duration < std::chrono::seconds(1)) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::seconds>(*duration);
}

}  // namespace tern::jetstream
