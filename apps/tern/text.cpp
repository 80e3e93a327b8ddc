#include "text.hpp"

#include "base/go_duration.hpp"

#include <algorithm>
#include <cstdio>

namespace tern::command {
namespace {

struct calendar {
  int year;
  unsigned month, day;
  int hour, minute, second;
};

calendar calendar_of(time_point at) {
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::seconds>(at - day));
  return {static_cast<int>(date.year()),
          static_cast<unsigned>(date.month()),
          static_cast<unsigned>(date.day()),
          static_cast<int>(time.hours().count()),
          static_cast<int>(time.minutes().count()),
          static_cast<int>(time.seconds().count())};
}

// Without zeros at the end: "30.7", "30".
std::string trimmed(double value, int decimals) {
  std::string text = fixed(value, decimals);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

void pad(std::string& out, std::size_t width, std::size_t used) {
  if (used < width) out.append(width - used, ' ');
}

}  // namespace

std::string fixed(double value, int decimals) {
  char digits[64];
  const int size = std::snprintf(digits, sizeof digits, "%.*f", decimals, value);
  return std::string(digits, static_cast<std::size_t>(std::clamp(size, 0, 63)));
}

std::string with_thousands(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string human_bytes(std::uint64_t bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return fixed(value, value < 10 ? 1 : 0) + " " + units[unit];
}

std::string short_duration(nanoseconds value) {
  const std::int64_t count = value.count();
  if (count < 0) return "0s";
  if (count < 1'000) return std::to_string(count) + "ns";
  if (count < 1'000'000) return trimmed(static_cast<double>(count) / 1e3, count < 10'000 ? 1 : 0) + "µs";
  if (count < 1'000'000'000) return trimmed(static_cast<double>(count) / 1e6, count < 10'000'000 ? 1 : 0) + "ms";
  if (value < std::chrono::minutes(1)) return trimmed(static_cast<double>(count) / 1e9, 2) + "s";
  const auto days = std::chrono::floor<std::chrono::days>(value);
  const auto rest = std::chrono::floor<std::chrono::seconds>(value - days);
  return days.count() == 0 ? to_go_duration(rest) : std::to_string(days.count()) + "d" + to_go_duration(rest);
}

std::string day_and_time(time_point at) {
  const calendar when = calendar_of(at);
  char text[80];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u %02d:%02d:%02d", when.year, when.month, when.day, when.hour,
                when.minute, when.second);
  return text;
}

std::string time_of_day(time_point at) {
  const calendar when = calendar_of(at);
  char text[48];
  std::snprintf(text, sizeof text, "%02d:%02d:%02d", when.hour, when.minute, when.second);
  return text;
}

std::string kitchen_time(time_point at) {
  const calendar when = calendar_of(at);
  const int hour = when.hour % 12 == 0 ? 12 : when.hour % 12;
  char text[48];
  std::snprintf(text, sizeof text, "%d:%02d%s", hour, when.minute, when.hour < 12 ? "AM" : "PM");
  return text;
}

std::string limit_text(std::int64_t limit) {
  return limit <= 0 ? "unlimited" : with_thousands(static_cast<std::uint64_t>(limit));
}

std::string byte_limit_text(std::int64_t limit) {
  return limit <= 0 ? "unlimited" : human_bytes(static_cast<std::uint64_t>(limit));
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

std::string field_list::text() const {
  std::size_t width = 0;
  for (const auto& one : rows_)
    if (one.what == row::kind::field) width = std::max(width, display_width(one.label));
  std::string out;
  for (const auto& one : rows_) {
    if (one.what == row::kind::title) {
      if (!out.empty()) out += '\n';
      out.append(one.label).append(":\n\n");
      continue;
    }
    out.append(2, ' ');
    pad(out, width, display_width(one.label));
    out.append(one.label).append(": ").append(one.value).append("\n");
  }
  return out;
}

void table::column(std::string title, alignment side) {
  titles_.push_back(std::move(title));
  sides_.push_back(side);
}

std::string table::text() const {
  std::vector<std::size_t> widths;
  for (const auto& title : titles_) widths.push_back(display_width(title));
  for (const auto& cells : rows_)
    for (std::size_t at = 0; at < cells.size(); ++at) widths[at] = std::max(widths[at], display_width(cells[at]));
  std::string out;
  const auto add = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t at = 0; at < cells.size(); ++at) {
      if (at > 0) line.append(2, ' ');
      const std::size_t used = display_width(cells[at]);
      if (sides_[at] == alignment::right) pad(line, line.size() + widths[at], line.size() + used);
      line += cells[at];
      if (sides_[at] == alignment::left) pad(line, line.size() + widths[at], line.size() + used);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out.append(line).append("\n");
  };
  add(titles_);
  for (const auto& cells : rows_) add(cells);
  return out;
}

}  // namespace tern::command
