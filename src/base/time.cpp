#include <tern/base/time.hpp>

#include <cstdio>
#include <optional>

namespace tern {
namespace {

// Takes exactly `count` digits off the front.
std::optional<int> take_digits(std::string_view& rest, std::size_t count) {
  if (rest.size() < count) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (rest[i] < '0' || rest[i] > '9') return std::nullopt;
    value = value * 10 + (rest[i] - '0');
  }
  rest.remove_prefix(count);
  return value;
}

bool take(std::string_view& rest, char expected) {
  if (rest.empty() || rest.front() != expected) return false;
  rest.remove_prefix(1);
  return true;
}

// "." digits, of which the first nine count; nothing is a fraction of zero.
std::optional<std::int64_t> take_fraction(std::string_view& rest) {
  if (!take(rest, '.')) return 0;
  std::int64_t value = 0, weight = 100'000'000;
  std::size_t digits = 0;
  for (; !rest.empty() && rest.front() >= '0' && rest.front() <= '9'; rest.remove_prefix(1), ++digits) {
    value += weight * (rest.front() - '0');
    weight /= 10;
  }
  if (digits == 0) return std::nullopt;
  return value;
}

// "Z" or "+hh:mm", as the distance to UTC.
std::optional<std::chrono::minutes> take_zone(std::string_view& rest) {
  if (take(rest, 'Z')) return std::chrono::minutes(0);
  const bool west = !rest.empty() && rest.front() == '-';
  if (!west && (rest.empty() || rest.front() != '+')) return std::nullopt;
  rest.remove_prefix(1);
  const auto hours = take_digits(rest, 2);
  if (!hours || !take(rest, ':')) return std::nullopt;
  const auto minutes = take_digits(rest, 2);
  if (!minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const auto distance = std::chrono::minutes(*hours * 60 + *minutes);
  return west ? -distance : distance;
}

std::optional<time_point> read_rfc3339(std::string_view rest) {
  using namespace std::chrono;
  const auto year_number = take_digits(rest, 4);
  if (!year_number || !take(rest, '-')) return std::nullopt;
  const auto month_number = take_digits(rest, 2);
  if (!month_number || !take(rest, '-')) return std::nullopt;
  const auto day_number = take_digits(rest, 2);
  if (!day_number || !take(rest, 'T')) return std::nullopt;
  const auto hour = take_digits(rest, 2);
  if (!hour || !take(rest, ':')) return std::nullopt;
  const auto minute = take_digits(rest, 2);
  if (!minute || !take(rest, ':')) return std::nullopt;
  const auto second = take_digits(rest, 2);
  if (!second) return std::nullopt;
  const auto fraction = take_fraction(rest);
  if (!fraction) return std::nullopt;
  const auto zone = take_zone(rest);
  if (!zone || !rest.empty()) return std::nullopt;
  const year_month_day date(year(*year_number), month(static_cast<unsigned>(*month_number)),
                            day(static_cast<unsigned>(*day_number)));
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  if (*year_number == 1) return time_point::min();
  if (*year_number < 1678 || *year_number > 2261) return std::nullopt;
  const nanoseconds of_day = hours(*hour) + minutes(*minute) + seconds(*second) + nanoseconds(*fraction);
  return time_point(sys_days(date)) + of_day - *zone;
}

}  // namespace

void append_rfc3339(std::string& out, time_point at) {
  using namespace std::chrono;
  if (at < time_point::min() + days(1)) {  // stands for Go's zero time; the day's start is not representable
    out += "0001-01-01T00:00:00Z";
    return;
  }
  const auto day = floor<days>(at);
  const year_month_day date(day);
  const hh_mm_ss<nanoseconds> clock(at - day);
  char text[64];
  int length = std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
                             static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                             static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                             static_cast<int>(clock.seconds().count()));
  if (const auto fraction = clock.subseconds().count(); fraction != 0) {
    length += std::snprintf(text + length, sizeof text - length, ".%09lld", static_cast<long long>(fraction));
    while (text[length - 1] == '0') --length;
  }
  text[length++] = 'Z';
  out.append(text, length);
}

std::string to_rfc3339(time_point at) {
  std::string out;
  append_rfc3339(out, at);
  return out;
}

result<time_point> parse_rfc3339(std::string_view text) {
  const auto at = read_rfc3339(text);
  if (!at) return fail(errc::invalid_argument, "\"" + std::string(text) + "\" is not an RFC 3339 time");
  return *at;
}

}  // namespace tern
