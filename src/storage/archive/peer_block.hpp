// A message block of the peer's file store, `msgs/<n>.blk`, once it is decrypted: records back to back, no header.
//
//   u32  length of the record; top bit: has headers     22  subject
//   u64  sequence; bit 63 erased, bit 62 tombstone           u32 length of the headers, headers (if any)
//   i64  time, nanoseconds                                   payload
//   u16  length of the subject                               u64 checksum
//
// The checksum is HighwayHash-64 over sequence, time, subject, headers and payload, and leaves the lengths out; its key
// is the SHA-256 of "<stream>-<n>". A compressed block begins with "cmp", the algorithm and the original size, and
// keeps the last record's checksum uncompressed at its end. (storage part 1)
#pragma once

#include "storage/archive/highway_hash.hpp"

#include <tern/base/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace tern::storage::archive {

constexpr std::size_t peer_record_overhead = 30;
constexpr std::size_t peer_record_max = std::size_t{32} << 20;
constexpr std::size_t peer_block_max = std::size_t{1} << 30;  // decompressed; the peer's are below 40 MiB

struct peer_record {
  enum class kind {
    message,
    tombstone,  // an earlier message with this sequence is deleted
    erased,     // the sequence exists without a message
  } what = kind::message;
  std::uint64_t number = 0;
  std::int64_t time = 0;
  std::string_view subject, headers, payload;
};

highway_hash::key block_key(std::string_view stream, std::uint32_t block);

// Walks a block's records; views live as long as the bytes. Any bytes are safe. Where a record is damaged the reader
// looks for the next one whose checksum is right, which the peer does not.
class peer_block_reader {
 public:
  enum class item { record, damaged, end };
  peer_block_reader(std::string_view bytes, const highway_hash::key& key) : bytes_(bytes), key_(key) {}

  item next();
  const peer_record& record() const { return record_; }
  std::uint64_t offset() const { return offset_; }  // of the item
  std::uint64_t size() const { return next_ - offset_; }
  std::uint64_t checksum() const { return checksum_; }  // of the last whole record

 private:
  bool read(std::uint64_t at);
  std::string_view bytes_;
  highway_hash::key key_;
  std::uint64_t offset_ = 0, next_ = 0;
  std::uint64_t record_size_ = 0;
  std::uint64_t checksum_ = 0;
  peer_record record_;
};

// Appends one record. A message that is too large for the format is refused.
result<void> append_peer_record(std::string& block, const peer_record& what, const highway_hash::key& key);

// Undoes the compression of a block, if it has one. The bytes are those of the file, decrypted.
result<std::string> decompress_peer_block(std::string bytes);
// The other way, for a block of at least one record.
std::string compress_peer_block(std::string_view block);

}  // namespace tern::storage::archive
