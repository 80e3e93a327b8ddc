// A latency histogram of fixed size: log-linear buckets with a relative error of at most 1/32, for every 64-bit value.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace tern {

// Values below 32 are exact; each further power of two is split into 32 buckets. 15 KiB, no allocation. One writer.
class histogram {
 public:
  void record(std::uint64_t value, std::uint64_t times = 1) {
    buckets_[bucket_of(value)] += times;
    count_ += times;
    sum_ += value * times;
    if (value > max_) max_ = value;
    if (value < min_) min_ = value;
  }
  void merge(const histogram& other);
  void reset() { *this = histogram(); }

  std::uint64_t count() const { return count_; }
  std::uint64_t sum() const { return sum_; }
  std::uint64_t max() const { return max_; }                    // exact
  std::uint64_t min() const { return count_ == 0 ? 0 : min_; }  // exact
  double mean() const { return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_); }
  // The smallest recorded bucket bound that `quantile` (0..1) of the values do not exceed; 0 when empty.
  std::uint64_t quantile(double quantile) const;

  static constexpr int linear_bits = 5;
  static constexpr std::size_t bucket_count = (64 - linear_bits + 1) << linear_bits;
  static constexpr std::size_t bucket_of(std::uint64_t value) {
    if (value < (1u << linear_bits)) return static_cast<std::size_t>(value);
    const int shift = std::bit_width(value) - 1 - linear_bits;
    return (static_cast<std::size_t>(shift + 1) << linear_bits) + ((value >> shift) & ((1u << linear_bits) - 1));
  }
  // The largest value that falls into the bucket.
  static constexpr std::uint64_t upper_bound(std::size_t bucket) {
    const std::size_t row = bucket >> linear_bits, column = bucket & ((1u << linear_bits) - 1);
    if (row == 0) return column;
    const int shift = static_cast<int>(row) - 1;
    const std::uint64_t low = (static_cast<std::uint64_t>(column) + (1u << linear_bits)) << shift;
    return low + ((std::uint64_t{1} << shift) - 1);
  }

 private:
  std::array<std::uint64_t, bucket_count> buckets_{};
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t max_ = 0;
  std::uint64_t min_ = ~std::uint64_t{0};
};

}  // namespace tern
