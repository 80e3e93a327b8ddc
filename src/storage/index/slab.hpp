// Small blocks of memory behind 32-bit references: no header, no rounding beyond eight bytes, addresses that never
// move. For indexes with millions of tiny parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tern::storage {

// References count units of eight bytes from 1: 32 GiB can be named. Freed blocks are kept by size and given again;
// pages go back to the system only with the slab. One thread.
class slab {
 public:
  using reference = std::uint32_t;

  reference allocate(std::size_t bytes);
  void free(reference what, std::size_t bytes);  // the size that was asked for
  char* at(reference what) const { return pages_[what >> page_bits].get() + std::size_t{what & page_mask} * unit; }
  std::size_t heap_bytes() const { return bytes_; }

 private:
  static constexpr std::size_t unit = 8;
  static constexpr unsigned page_bits = 14;  // 128 KiB
  static constexpr std::uint32_t page_mask = (1u << page_bits) - 1;
  static constexpr std::size_t small_units = 160;  // sizes above are rounded to powers of two

  static std::size_t units_for(std::size_t bytes);
  static std::size_t class_of(std::size_t units);
  reference take_units(std::size_t units);

  std::vector<std::unique_ptr<char[]>> pages_;
  std::vector<reference> free_;  // by size class; the first word of a free block names the next one
  reference next_ = 0, end_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace tern::storage
