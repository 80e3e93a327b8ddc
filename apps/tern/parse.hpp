// Values of options, as the `nats` command writes them. A text that cannot be read is errc::invalid_argument and says
// what can.
#pragma once

#include <tern/client/headers.hpp>
#include <tern/client/jetstream_records.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tern::command {

// Go durations and the units d, w, M (30 days) and y (365 days): "1d12h", "90s", "0".
result<nanoseconds> parse_duration(std::string_view text);
// Bytes with an optional binary unit: "512", "10k", "1MB", "1MiB" (both 1024 * 1024), "-1".
result<std::int64_t> parse_size(std::string_view text);
// "K:V" each; blanks around the value are dropped.
result<client::headers> parse_headers(const std::vector<std::string>& texts);

result<client::storage_type> parse_storage(std::string_view word);        // file, memory
result<client::retention_policy> parse_retention(std::string_view word);  // limits, interest, work
result<client::discard_policy> parse_discard(std::string_view word);      // old, new
result<client::ack_policy> parse_ack(std::string_view word);              // none, all, explicit

// all, new, last, subject, a sequence ("17") or how long ago ("1h").
result<void> apply_deliver(client::consumer_config& config, std::string_view text, time_point now);
// none, linear (`steps` values from `shortest`, as long apart as `longest` leaves room for) or durations: "1s,5s,30s".
result<std::vector<nanoseconds>> parse_backoff(std::string_view text, std::uint32_t steps, nanoseconds shortest,
                                               nanoseconds longest);

}  // namespace tern::command
