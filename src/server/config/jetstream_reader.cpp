// The block `jetstream` (core 4.2, jetstream 20.3).
#include "base/ascii.hpp"
#include "base/numbers.hpp"
#include "server/config/option_reader.hpp"

namespace tern::server {

std::span<const option_reader::rule> option_reader::jetstream_rules() {
  static constexpr rule all[] = {
      {"enabled", &option_reader::jetstream_boolean<&jetstream_options::enabled>},
      {"store_dir", &option_reader::jetstream_text<&jetstream_options::store_directory>},
      {"max_memory_store", &option_reader::jetstream_size<&jetstream_options::max_memory>},
      {"max_file_store", &option_reader::jetstream_size<&jetstream_options::max_storage>},
      {"domain", &option_reader::jetstream_text<&jetstream_options::domain>},
      {"strict", &option_reader::jetstream_boolean<&jetstream_options::strict>},
      {"sync_interval", &option_reader::jetstream_sync_interval},
      {"limits", &option_reader::jetstream_limits},
      {"max_buffered_size", &option_reader::jetstream_size<&jetstream_options::max_buffered_bytes>},
      {"max_buffered_msgs", &option_reader::jetstream_integer<&jetstream_options::max_buffered_messages>},
  };
  return all;
}

// A number, or digits with K, M, G or T behind them in quotes, which makes powers of 1024.
void option_reader::take_storage_size(const config_entry& entry, std::int64_t& to) {
  const config_value& from = entry.value;
  if (from.what == config_value::kind::integer) {
    to = from.integer;
    return;
  }
  if (!from.is_text()) return complain(from, entry.key + " must be int64 or string");
  if (from.text.empty()) return;
  constexpr std::string_view suffixes = "KMGT";
  const std::size_t power = suffixes.find(from.text.back());
  if (power == std::string_view::npos)
    return complain(from, entry.key + " sizes defined as strings must end in K, M, G, T");
  const std::string_view digits = std::string_view(from.text).substr(0, from.text.size() - 1);
  const auto number = parse_signed_decimal(digits);
  const int shift = 10 * (static_cast<int>(power) + 1);
  if (!number || *number > (std::numeric_limits<std::int64_t>::max() >> shift) ||
      *number < -(std::numeric_limits<std::int64_t>::max() >> shift))
    return complain(from, entry.key + " strconv.ParseInt: parsing \"" + std::string(digits) + "\": invalid syntax");
  to = *number * (std::int64_t{1} << shift);
}

void option_reader::jetstream(const config_entry& entry) {
  const config_value& from = entry.value;
  if (from.what == config_value::kind::boolean) {
    into_.jetstream.enabled = from.boolean;
    return;
  }
  if (from.is_text()) {
    const std::string word = lower_case(from.text);
    if (word == "enabled" || word == "enable")
      into_.jetstream.enabled = true;
    else if (word == "disabled" || word == "disable")
      into_.jetstream.enabled = false;
    else
      complain(from, "expected 'enabled' or 'disabled' for string value, got '" + from.text + "'");
    return;
  }
  if (!from.is_map())
    return complain(from, "expected map, bool or string to define JetStream, got " + std::string(from.type_name()));
  into_.jetstream.enabled = true;
  read_block("jetstream", from, jetstream_rules());
}

void option_reader::jetstream_sync_interval(const config_entry& entry) {
  if (entry.value.is_text() && lower_case(entry.value.text) == "always") {
    into_.jetstream.sync_interval.reset();
    return;
  }
  nanoseconds interval{0};
  if (take_duration(entry, interval)) into_.jetstream.sync_interval = interval;
}

void option_reader::jetstream_limits(const config_entry& entry) {
  if (!entry.value.is_map()) return wrong_type(entry.value, "map[string]interface {}");
  static constexpr rule all[] = {
      {"max_ack_pending", &option_reader::jetstream_integer<&jetstream_options::max_ack_pending>},
      {"max_request_batch", &option_reader::jetstream_integer<&jetstream_options::max_request_batch>},
      {"duplicate_window", &option_reader::jetstream_duration<&jetstream_options::duplicate_window>},
      {"batch", &option_reader::jetstream_batch_limits},
  };
  read_block("jetstream.limits", entry.value, all);
}

void option_reader::jetstream_batch_limits(const config_entry& entry) {
  if (!entry.value.is_map()) return wrong_type(entry.value, "map[string]interface {}");
  static constexpr rule all[] = {
      {"max_inflight_per_stream", &option_reader::jetstream_integer<&jetstream_options::batch_inflight_per_stream>},
      {"max_inflight_total", &option_reader::jetstream_integer<&jetstream_options::batch_inflight_total>},
      {"max_msgs", &option_reader::jetstream_integer<&jetstream_options::batch_messages>},
      {"timeout", &option_reader::jetstream_duration<&jetstream_options::batch_timeout>},
  };
  read_block("jetstream.limits.batch", entry.value, all);
}

}  // namespace tern::server
