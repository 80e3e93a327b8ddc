// Seam 2 of 4: randomness. Nothing outside src/runtime asks the operating system for it.
#pragma once

#include <cstdint>
#include <span>

namespace tern::runtime {

class random {
 public:
  virtual ~random() = default;
  virtual std::uint64_t next() = 0;
  virtual void fill(std::span<unsigned char> out) = 0;  // good enough for secrets when real
};

// getrandom(2). Any thread.
class real_random final : public random {
 public:
  std::uint64_t next() override;
  void fill(std::span<unsigned char> out) override;
};

// The same numbers for the same seed. One thread.
class seeded_random final : public random {
 public:
  explicit seeded_random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() override;
  void fill(std::span<unsigned char> out) override;

 private:
  std::uint64_t state_;
};

}  // namespace tern::runtime
