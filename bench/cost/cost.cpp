#include "cost.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace tern::cost {
namespace {

std::vector<curve>& all() {
  static std::vector<curve> curves;
  return curves;
}

std::string readable(double nanoseconds) {
  constexpr const char* units[] = {"ns", "us", "ms", "s"};
  int unit = 0;
  for (; nanoseconds >= 1000 && unit < 3; ++unit) nanoseconds /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %s", nanoseconds, units[unit]);
  return text;
}

// True when the curve is as flat as it may be.
bool run(const curve& what, std::uint64_t largest) {
  std::printf("\n%.*s, per %.*s\n", static_cast<int>(what.name.size()), what.name.data(),
              static_cast<int>(what.per.size()), what.per.data());
  double first = 0, last = 0;
  std::uint64_t first_size = 0, last_size = 0;
  for (const std::uint64_t size : what.sizes) {
    if (size > largest) break;
    const sample taken = what.measure(size);
    std::printf("  %12llu %-16.*s %12s  %s\n", static_cast<unsigned long long>(size), static_cast<int>(what.of.size()),
                what.of.data(), readable(taken.nanoseconds).c_str(), taken.note.c_str());
    std::fflush(stdout);
    if (first_size == 0) {
      first = taken.nanoseconds;
      first_size = size;
    }
    last = taken.nanoseconds;
    last_size = size;
  }
  if (last_size == first_size || first <= 0) return true;
  const double growth =
      std::log(last / first) / std::log(static_cast<double>(last_size) / static_cast<double>(first_size));
  const bool flat = growth <= what.growth_max;
  std::printf("  growth %.2f%s\n", growth, flat ? "" : "  <-- grows");
  return flat;
}

}  // namespace

void add(curve what) { all().push_back(std::move(what)); }

}  // namespace tern::cost

int main(int count, char** words) {
  using namespace tern::cost;
  std::uint64_t largest = 10'000'000;
  std::vector<std::string> wanted;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--up-to" && i + 1 < count) {
      largest = std::strtoull(words[++i], nullptr, 10);
    } else {
      wanted.push_back(word);
    }
  }
  auto curves = all();
  std::stable_sort(curves.begin(), curves.end(), [](const curve& a, const curve& b) { return a.name < b.name; });
  int growing = 0;
  for (const curve& one : curves) {
    const bool asked = std::any_of(wanted.begin(), wanted.end(), [&](const std::string& word) {
      return one.name.find(word) != std::string_view::npos;
    });
    if (!wanted.empty() && !asked) continue;
    if (!run(one, largest)) ++growing;
  }
  std::printf("\n%d of them grow\n", growing);
  return growing == 0 ? 0 : 1;
}
