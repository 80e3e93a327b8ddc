// How numbers, times and records look to people: thousands, binary sizes, rounded durations, aligned fields and
// columns.
#pragma once

#include <tern/base/time.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tern::command {

std::string with_thousands(std::uint64_t value);  // "1,234,567"
std::string human_bytes(std::uint64_t bytes);     // "336 B", "1.0 MiB"
std::string short_duration(nanoseconds value);    // "93µs", "108ms", "30.77s", "1h2m3s": for people, rounded
std::string day_and_time(time_point at);          // "2026-11-30 21:19:07", UTC
std::string time_of_day(time_point at);           // "21:19:07", UTC
std::string kitchen_time(time_point at);          // "9:19PM", UTC
std::string limit_text(std::int64_t limit);       // "unlimited" below 1, else with thousands
std::string byte_limit_text(std::int64_t limit);
std::string fixed(double value, int decimals);

// Labels right-aligned over the whole list, values behind them; sections are set apart by empty lines.
class field_list {
 public:
  void section(std::string title) { rows_.push_back({row::kind::title, std::move(title), {}}); }
  void field(std::string label, std::string value) {
    rows_.push_back({row::kind::field, std::move(label), std::move(value)});
  }
  void field(std::string label, bool value) { field(std::move(label), std::string(value ? "true" : "false")); }
  void field(std::string label, const char* value) { field(std::move(label), std::string(value)); }

  std::string text() const;

 private:
  struct row {
    enum class kind { title, field } what;
    std::string label;
    std::string value;
  };
  std::vector<row> rows_;
};

// Columns wide enough for their longest cell, two blanks apart. Every row has as many cells as the header.
class table {
 public:
  enum class alignment { left, right };
  void column(std::string title, alignment side = alignment::left);
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  std::string text() const;

 private:
  std::vector<std::string> titles_;
  std::vector<alignment> sides_;
  std::vector<std::vector<std::string>> rows_;
};

// How many columns a terminal needs for UTF-8 text, taking each code point as one.
std::size_t display_width(std::string_view text);

}  // namespace tern::command
