// When a message schedule runs: `@at <time>`, `@every <duration>`, six fields of cron, or `@daily` and the like
// (jetstream 5.9).
#pragma once

#include "base/time_zone.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace tern::jetstream {

// A plain value. Runs fall on whole seconds, but for `@at`.
class schedule_pattern {
 public:
  // `zone` is for cron alone and null elsewhere (UTC). Empty when the pattern is bad, or never runs.
  static std::optional<schedule_pattern> parse(std::string_view text, std::shared_ptr<const time_zone> zone = nullptr);

  bool repeats() const { return what_ != kind::once; }
  // The first run of a schedule that was stored then; `@at` may lie before it.
  time_point first(time_point stored) const;
  // The first run after `after`; only of those that repeat, and for the next five years.
  std::optional<time_point> next(time_point stored, time_point after) const;
  const time_zone* zone() const { return zone_.get(); }

 private:
  enum class kind : std::uint8_t { once, interval, cron };
  enum field : std::uint8_t { second, minute, hour, day, month, weekday };
  struct bounds;
  struct range {
    std::uint64_t bits = 0;
    bool any = false;  // `*`
  };

  bool parse_cron(std::string_view text);
  static std::optional<range> parse_field(std::string_view text, field which);
  static std::optional<range> parse_range(std::string_view text, field which);
  bool has(field which, unsigned value) const { return (fields_[which].bits >> value & 1) != 0; }
  bool day_matches(unsigned day_of_month, unsigned day_of_week) const;
  std::optional<time_point> next_of_cron(time_point after) const;
  std::optional<time_point> to_utc(std::int64_t local_seconds, time_point after) const;

  kind what_ = kind::once;
  time_point at_{};
  nanoseconds interval_{0};
  std::array<range, 6> fields_;
  std::shared_ptr<const time_zone> zone_;
};

}  // namespace tern::jetstream
