// Walks the records of a file's bytes and finds its way again after damage. Never reads outside, never throws: any
// bytes.
#pragma once

#include "storage/segment/record.hpp"

namespace tern::storage {

// One thread; the bytes outlive it.
class record_reader {
 public:
  enum class item {
    record,         // whole: header() and body()
    damaged_body,   // header() is whole, the body's checksum is wrong
    damaged_range,  // offset() .. offset() + size() holds no record
    end,
  };

  explicit record_reader(std::string_view bytes, std::uint64_t start = 0) : bytes_(bytes), next_(start) {}

  item next();

  std::uint64_t offset() const { return offset_; }
  std::uint64_t size() const { return next_ - offset_; }
  const record_header& header() const { return header_; }
  std::string_view body() const { return bytes_.substr(offset_ + record_header_size, header_.body_length); }
  std::string_view whole() const { return bytes_.substr(offset_, record_size(header_)); }

 private:
  bool fits(std::uint64_t at) const;
  std::uint64_t resynchronise(std::uint64_t from) const;

  std::string_view bytes_;
  std::uint64_t next_;
  std::uint64_t offset_ = 0;
  record_header header_;
};

}  // namespace tern::storage
