#include "base/histogram.hpp"

#include <algorithm>
#include <cmath>

namespace tern {

void histogram::merge(const histogram& other) {
  for (std::size_t i = 0; i < bucket_count; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
  min_ = std::min(min_, other.min_);
}

std::uint64_t histogram::quantile(double quantile) const {
  if (count_ == 0) return 0;
  const double clamped = std::clamp(quantile, 0.0, 1.0);
  const auto share = static_cast<std::uint64_t>(std::ceil(clamped * static_cast<double>(count_)));
  const auto wanted = std::max<std::uint64_t>(1, share);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < bucket_count; ++i) {
    seen += buckets_[i];
    if (seen >= wanted) return std::min(upper_bound(i), max_);
  }
  return max_;
}

}  // namespace tern
