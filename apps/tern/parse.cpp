#include "parse.hpp"

#include "base/go_duration.hpp"
#include "base/numbers.hpp"

#include <limits>
#include <optional>

namespace tern::command {
namespace {

constexpr auto longest_possible = std::numeric_limits<std::int64_t>::max();

std::unexpected<error> bad(std::string_view what, std::string_view text, std::string_view allowed) {
  return fail(errc::invalid_argument, "'" + std::string(text) + "' is no " + std::string(what), std::string(allowed));
}

std::optional<std::int64_t> seconds_of_long_unit(char unit) {
  constexpr std::int64_t day = 24 * 3600;
  switch (unit) {
    case 'd':
      return day;
    case 'w':
      return 7 * day;
    case 'M':
      return 30 * day;
    case 'y':
      return 365 * day;
    default:
      return std::nullopt;
  }
}

std::optional<std::int64_t> bytes_of_unit(std::string_view unit) {
  if (unit.empty() || unit == "B" || unit == "b") return 1;
  static constexpr std::string_view letters = "kmgt";
  const auto power = letters.find(static_cast<char>(unit.front() | 0x20));
  if (power == letters.npos) return std::nullopt;
  const std::string_view rest = unit.substr(1);
  if (!rest.empty() && rest != "B" && rest != "b" && rest != "iB" && rest != "ib") return std::nullopt;
  return std::int64_t{1} << (10 * (power + 1));
}

std::size_t digits_at(std::string_view text) {
  const auto end = text.find_first_not_of("0123456789");
  return end == text.npos ? text.size() : end;
}

}  // namespace

result<nanoseconds> parse_duration(std::string_view text) {
  constexpr std::string_view allowed = "for example 500ms, 30s, 1h30m or 7d";
  std::int64_t total = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t digits = digits_at(rest);
    if (digits == 0 || digits == rest.size()) break;
    const auto unit = seconds_of_long_unit(rest[digits]);
    if (!unit) break;
    const auto count = parse_decimal(rest.substr(0, digits));
    if (!count || *count > static_cast<std::uint64_t>(longest_possible / 1'000'000'000 / *unit))
      return bad("duration", text, allowed);
    total += static_cast<std::int64_t>(*count) * *unit * 1'000'000'000;
    if (total < 0) return bad("duration", text, allowed);
    rest.remove_prefix(digits + 1);
  }
  if (rest.empty() && !text.empty()) return nanoseconds(total);
  const auto short_part = parse_go_duration(rest);
  if (!short_part || (total > 0 && (short_part->count() < 0 || short_part->count() > longest_possible - total)))
    return bad("duration", text, allowed);
  return nanoseconds(total) + *short_part;
}

result<std::int64_t> parse_size(std::string_view text) {
  constexpr std::string_view allowed = "for example 512, 64k, 1MB or 2GiB";
  if (text == "-1") return -1;
  const std::size_t digits = digits_at(text);
  const auto count = parse_decimal(text.substr(0, digits));
  const auto unit = bytes_of_unit(text.substr(digits));
  if (!count || !unit || *count > static_cast<std::uint64_t>(longest_possible / *unit))
    return bad("size", text, allowed);
  return static_cast<std::int64_t>(*count) * *unit;
}

result<client::headers> parse_headers(const std::vector<std::string>& texts) {
  client::headers out;
  for (const std::string& text : texts) {
    const auto colon = text.find(':');
    if (colon == text.npos || colon == 0) return bad("header", text, "write NAME:VALUE");
    std::string_view value = std::string_view(text).substr(colon + 1);
    const auto first = value.find_first_not_of(" \t");
    value = first == value.npos ? std::string_view() : value.substr(first, value.find_last_not_of(" \t") - first + 1);
    out.add(std::string_view(text).substr(0, colon), value);
  }
  if (auto good = out.validate(); !good) return std::unexpected(good.error());
  return out;
}

result<client::storage_type> parse_storage(std::string_view word) {
  if (word == "file" || word == "f") return client::storage_type::file;
  if (word == "memory" || word == "m") return client::storage_type::memory;
  return bad("storage", word, "use file or memory");
}

result<client::retention_policy> parse_retention(std::string_view word) {
  if (word == "limits") return client::retention_policy::limits;
  if (word == "interest") return client::retention_policy::interest;
  if (word == "work" || word == "workq" || word == "workqueue") return client::retention_policy::workqueue;
  return bad("retention policy", word, "use limits, interest or work");
}

result<client::discard_policy> parse_discard(std::string_view word) {
  if (word == "old") return client::discard_policy::old_messages;
  if (word == "new") return client::discard_policy::new_messages;
  return bad("discard policy", word, "use old or new");
}

result<client::ack_policy> parse_ack(std::string_view word) {
  if (word == "none") return client::ack_policy::none;
  if (word == "all") return client::ack_policy::all;
  if (word == "explicit") return client::ack_policy::explicit_ack;
  return bad("acknowledgement policy", word, "use explicit, all or none");
}

result<void> apply_deliver(client::consumer_config& config, std::string_view text, time_point now) {
  using enum client::deliver_policy;
  if (text == "all") {
    config.deliver_policy = all;
  } else if (text == "new") {
    config.deliver_policy = new_messages;
  } else if (text == "last") {
    config.deliver_policy = last;
  } else if (text == "subject") {
    config.deliver_policy = last_per_subject;
  } else if (const auto sequence = parse_decimal(text)) {
    config.deliver_policy = by_start_sequence;
    config.opt_start_seq = *sequence;
  } else if (const auto ago = parse_duration(text); ago && ago->count() > 0) {
    config.deliver_policy = by_start_time;
    config.opt_start_time = now - *ago;
  } else {
    return bad("start of delivery", text, "use all, new, last, subject, a sequence like 17, or a duration ago like 1h");
  }
  return {};
}

result<std::vector<nanoseconds>> parse_backoff(std::string_view text, std::uint32_t steps, nanoseconds shortest,
                                               nanoseconds longest) {
  std::vector<nanoseconds> out;
  if (text.empty() || text == "none") return out;
  if (text == "linear") {
    if (steps == 0 || shortest.count() <= 0 || longest < shortest)
      return fail(errc::invalid_argument, "a linear backoff needs at least one step and 0 < shortest <= longest");
    const nanoseconds apart = (longest - shortest) / static_cast<std::int64_t>(steps);
    for (std::uint32_t step = 0; step < steps; ++step)
      out.push_back(shortest + apart * static_cast<std::int64_t>(step));
    return out;
  }
  while (true) {
    const auto comma = text.find(',');
    const auto value = parse_duration(text.substr(0, comma));
    if (!value || value->count() <= 0) return bad("backoff", text, "use none, linear, or durations like 1s,5s,30s");
    out.push_back(*value);
    if (comma == text.npos) return out;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace tern::command
