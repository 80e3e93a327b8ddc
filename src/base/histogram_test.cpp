#include "base/histogram.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace tern {
namespace {

TEST(histogram, every_value_lies_in_its_bucket_within_a_32nd) {
  std::size_t previous = 0;
  for (std::uint64_t value = 0; value < 100'000; ++value) {
    const std::size_t bucket = histogram::bucket_of(value);
    EXPECT_GE(bucket, previous);
    previous = bucket;
    EXPECT_GE(histogram::upper_bound(bucket), value);
    EXPECT_LE(histogram::upper_bound(bucket) - value, value / 32);
  }
  EXPECT_EQ(histogram::bucket_of(~std::uint64_t{0}), histogram::bucket_count - 1);
  EXPECT_EQ(histogram::upper_bound(histogram::bucket_count - 1), ~std::uint64_t{0});
}

TEST(histogram, quantiles_of_known_values) {
  auto values = std::make_unique<histogram>();
  EXPECT_EQ(values->quantile(0.5), 0u);
  for (std::uint64_t value = 1; value <= 1000; ++value) values->record(value);
  EXPECT_EQ(values->count(), 1000u);
  EXPECT_EQ(values->min(), 1u);
  EXPECT_EQ(values->max(), 1000u);
  EXPECT_DOUBLE_EQ(values->mean(), 500.5);
  EXPECT_NEAR(static_cast<double>(values->quantile(0.5)), 500, 500.0 / 32);
  EXPECT_NEAR(static_cast<double>(values->quantile(0.99)), 990, 990.0 / 32);
  EXPECT_EQ(values->quantile(1), 1000u);
  EXPECT_EQ(values->quantile(0), 1u);
}

TEST(histogram, merging_equals_recording_together) {
  auto left = std::make_unique<histogram>(), right = std::make_unique<histogram>();
  auto both = std::make_unique<histogram>();
  for (std::uint64_t value = 0; value < 5000; value += 7) {
    (value % 2 == 0 ? left : right)->record(value * value);
    both->record(value * value);
  }
  left->merge(*right);
  EXPECT_EQ(left->count(), both->count());
  EXPECT_EQ(left->sum(), both->sum());
  EXPECT_EQ(left->max(), both->max());
  EXPECT_EQ(left->min(), both->min());
  for (const double quantile : {0.1, 0.5, 0.9, 0.999}) EXPECT_EQ(left->quantile(quantile), both->quantile(quantile));
  left->reset();
  EXPECT_EQ(left->count(), 0u);
  EXPECT_EQ(left->min(), 0u);
}

}  // namespace
}  // namespace tern
