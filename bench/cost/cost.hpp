// The frame of the cost curves: each names an operation and measures it at some sizes.
#pragma once

#include "runtime/clock.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tern::cost {

// Nanoseconds of one operation, and anything else worth a column.
struct sample {
  double nanoseconds = 0;
  std::string note;
};

struct curve {
  std::string_view name;
  std::string_view per;  // what one operation is
  std::string_view of;   // what the sizes count
  std::vector<std::uint64_t> sizes;
  std::function<sample(std::uint64_t)> measure;
  double growth_max = 0.3;  // above it the curve counts as not flat
};

void add(curve what);

// Adds a curve before main() runs.
struct registration {
  explicit registration(curve what) { add(std::move(what)); }
};

// Nanoseconds that `count` calls took, each.
template <class Action>
double time_each(std::uint64_t count, Action&& action) {
  runtime::real_clock clock;
  const auto begin = clock.now();
  for (std::uint64_t i = 0; i < count; ++i) action(i);
  return static_cast<double>((clock.now() - begin).count()) / static_cast<double>(count);
}

inline const std::vector<std::uint64_t> up_to_ten_million = {10'000, 100'000, 1'000'000, 10'000'000};
inline const std::vector<std::uint64_t> up_to_a_million = {1'000, 10'000, 100'000, 1'000'000};
inline const std::vector<std::uint64_t> up_to_a_hundred_thousand = {1, 1'000, 10'000, 100'000};

}  // namespace tern::cost
