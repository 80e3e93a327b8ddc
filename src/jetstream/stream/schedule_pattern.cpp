#include "jetstream/stream/schedule_pattern.hpp"

#include "base/ascii.hpp"
#include "base/go_duration.hpp"
#include "base/numbers.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

namespace tern::jetstream {
namespace {

using std::chrono::seconds;

constexpr std::int64_t seconds_per_day = 86'400;
constexpr int days_ahead = 5 * 366;  // 29 February comes within them

constexpr std::pair<std::string_view, std::string_view> named_patterns[] = {
    {"@yearly", "0 0 0 1 1 *"}, {"@annually", "0 0 0 1 1 *"}, {"@monthly", "0 0 0 1 * *"}, {"@weekly", "0 0 0 * * 0"},
    {"@daily", "0 0 0 * * *"},  {"@midnight", "0 0 0 * * *"}, {"@hourly", "0 0 * * * *"},
};
constexpr std::string_view months[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                       "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::string_view weekdays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

template <std::size_t Count>
std::optional<unsigned> find_name(const std::string_view (&names)[Count], std::string_view text, unsigned first) {
  const std::string wanted = lower_case(text);
  const auto found = std::ranges::find(names, wanted);
  if (found == std::end(names)) return std::nullopt;
  return static_cast<unsigned>(found - std::begin(names)) + first;
}

std::vector<std::string_view> split_at_blanks(std::string_view text) {
  std::vector<std::string_view> words;
  constexpr std::string_view blanks = " \t";
  for (std::size_t at = text.find_first_not_of(blanks); at != std::string_view::npos;
       at = text.find_first_not_of(blanks, at)) {
    const std::size_t end = std::min(text.find_first_of(blanks, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

nanoseconds nearest_second(time_point at) {
  return std::chrono::floor<seconds>(at.time_since_epoch() + std::chrono::milliseconds(500));
}

std::int64_t floor_divide(std::int64_t value, std::int64_t by) { return value / by - (value % by < 0 ? 1 : 0); }

// The next value that is allowed, from `from` on.
std::optional<unsigned> next_bit(std::uint64_t bits, unsigned from) {
  if (from >= 64) return std::nullopt;
  const std::uint64_t rest = bits >> from << from;
  if (rest == 0) return std::nullopt;
  return static_cast<unsigned>(std::countr_zero(rest));
}

}  // namespace

struct schedule_pattern::bounds {
  unsigned low, high;
};

std::optional<schedule_pattern> schedule_pattern::parse(std::string_view text, std::shared_ptr<const time_zone> zone) {
  constexpr std::string_view once = "@at ", every = "@every ";
  schedule_pattern made;
  made.zone_ = std::move(zone);
  if (text.starts_with(once)) {
    const auto at = parse_rfc3339(text.substr(once.size()));
    if (!at || made.zone_ != nullptr) return std::nullopt;
    made.at_ = *at;
    return made;
  }
  if (text.starts_with(every)) {
    const auto interval = parse_go_duration(text.substr(every.size()));
    if (!interval || *interval < seconds(1) || made.zone_ != nullptr) return std::nullopt;
    made.what_ = kind::interval;
    made.interval_ = *interval;
    return made;
  }
  made.what_ = kind::cron;
  if (text.starts_with('@')) {
    const auto found = std::ranges::find(named_patterns, text, [](const auto& one) { return one.first; });
    if (found == std::end(named_patterns)) return std::nullopt;
    text = found->second;
  }
  if (!made.parse_cron(text)) return std::nullopt;
  return made;
}

bool schedule_pattern::parse_cron(std::string_view text) {
  const auto words = split_at_blanks(text);
  if (words.size() != fields_.size()) return false;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const auto parsed = parse_field(words[i], static_cast<field>(i));
    if (!parsed) return false;
    fields_[i] = *parsed;
  }
  return next_of_cron(time_point{}).has_value();
}

// A list of ranges.
std::optional<schedule_pattern::range> schedule_pattern::parse_field(std::string_view text, field which) {
  range sum;
  for (;;) {
    const std::size_t comma = text.find(',');
    const auto one = parse_range(text.substr(0, comma), which);
    if (!one) return std::nullopt;
    sum.bits |= one->bits;
    sum.any = sum.any || one->any;
    if (comma == std::string_view::npos) return sum;
    text.remove_prefix(comma + 1);
  }
}

// `*`, `?`, `a`, `a-b`, each with `/step`; `a/step` goes on to the end.
std::optional<schedule_pattern::range> schedule_pattern::parse_range(std::string_view text, field which) {
  static constexpr bounds limits[] = {{0, 59}, {0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}};
  const auto [low, high] = limits[which];
  const auto number = [which](std::string_view word) -> std::optional<unsigned> {
    if (which == month) {
      if (const auto named = find_name(months, word, 1)) return named;
    }
    if (which == weekday) {
      if (const auto named = find_name(weekdays, word, 0)) return named;
    }
    const auto value = parse_decimal(word);
    if (!value || *value > 59) return std::nullopt;
    return static_cast<unsigned>(*value);
  };
  const std::size_t slash = text.find('/');
  const std::string_view values = text.substr(0, slash);
  range made;
  unsigned from = low, to = high;
  if (values == "*" || values == "?") {
    made.any = true;
  } else {
    const std::size_t dash = values.find('-');
    const auto first = number(values.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(values.substr(dash + 1));
    if (!first || !last || *first < low || *last > high || *first > *last) return std::nullopt;
    from = *first;
    const bool open = dash == std::string_view::npos && slash != std::string_view::npos;
    to = open ? high : *last;
  }
  unsigned step = 1;
  if (slash != std::string_view::npos) {
    const auto given = parse_decimal(text.substr(slash + 1));
    if (!given || *given == 0 || *given > 1000) return std::nullopt;
    step = static_cast<unsigned>(*given);
    if (step > 1) made.any = false;
  }
  for (unsigned value = from; value <= to; value += step) made.bits |= std::uint64_t{1} << value;
  return made;
}

time_point schedule_pattern::first(time_point stored) const {
  if (what_ == kind::once) return at_;
  return next(stored, stored).value_or(time_point::max());
}

std::optional<time_point> schedule_pattern::next(time_point stored, time_point after) const {
  switch (what_) {
    case kind::once:
      return std::nullopt;
    case kind::interval: {
      const nanoseconds begin = nearest_second(stored);
      const nanoseconds passed = after.time_since_epoch() - begin;
      const std::int64_t runs = passed.count() < 0 ? 0 : passed.count() / interval_.count();
      return time_point(begin + interval_ * (runs + 1));
    }
    case kind::cron:
      return next_of_cron(after);
  }
  return std::nullopt;
}

// Where both kinds of days are restricted, either may match.
bool schedule_pattern::day_matches(unsigned day_of_month, unsigned day_of_week) const {
  const bool by_month = has(day, day_of_month), by_week = has(weekday, day_of_week);
  return fields_[day].any || fields_[weekday].any ? by_month && by_week : by_month || by_week;
}

// Goes from day to day, and within a day from field to field.
std::optional<time_point> schedule_pattern::next_of_cron(time_point after) const {
  const nanoseconds offset = zone_ == nullptr ? nanoseconds(0) : zone_->offset_at(after);
  const auto local = std::chrono::floor<seconds>(after.time_since_epoch() + offset).count() + 1;
  std::int64_t day_number = floor_divide(local, seconds_per_day);
  auto from = static_cast<unsigned>(local - day_number * seconds_per_day);
  for (int days = 0; days < days_ahead; ++days, ++day_number, from = 0) {
    const std::chrono::sys_days date{std::chrono::days(day_number)};
    const std::chrono::year_month_day civil(date);
    if (!has(month, static_cast<unsigned>(civil.month()))) continue;
    if (!day_matches(static_cast<unsigned>(civil.day()), std::chrono::weekday(date).c_encoding())) continue;
    for (auto at_hour = next_bit(fields_[hour].bits, from / 3600); at_hour;
         at_hour = next_bit(fields_[hour].bits, *at_hour + 1)) {
      const unsigned of_hour = from > *at_hour * 3600 ? from - *at_hour * 3600 : 0;
      for (auto at_minute = next_bit(fields_[minute].bits, of_hour / 60); at_minute;
           at_minute = next_bit(fields_[minute].bits, *at_minute + 1)) {
        const unsigned of_minute = of_hour > *at_minute * 60 ? of_hour - *at_minute * 60 : 0;
        for (auto at_second = next_bit(fields_[second].bits, of_minute); at_second;
             at_second = next_bit(fields_[second].bits, *at_second + 1)) {
          const std::int64_t found = day_number * seconds_per_day + *at_hour * 3600 + *at_minute * 60 + *at_second;
          if (const auto run = to_utc(found, after)) return run;
        }
      }
    }
  }
  return std::nullopt;
}

// Empty for a time that the zone leaves out when its clocks go forward. Of one that comes twice the first counts.
std::optional<time_point> schedule_pattern::to_utc(std::int64_t local_seconds, time_point after) const {
  const time_point as_if{seconds(local_seconds)};
  if (zone_ == nullptr) return as_if;
  std::optional<time_point> found;
  for (const auto shift : {seconds(-seconds_per_day), seconds(seconds_per_day)}) {
    const time_point candidate = as_if - zone_->offset_at(as_if + shift);
    const bool exists = candidate + zone_->offset_at(candidate) == as_if;
    if (exists && candidate > after && (!found || candidate < *found)) found = candidate;
  }
  return found;
}

}  // namespace tern::jetstream
