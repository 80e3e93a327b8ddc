// The record: the one unit of every file of the store. Journal, segments, footers and state files are made of it, so
// one reader, one checksum rule and one resynchronisation serve all. docs/internals/storage-format.md is its page.
//
//   offset  0  u32  magic            16  u32  stream id        40  u64  XXH3 of the body
//           4  u8   kind             20  u32  body length      48  u64  XXH3 of bytes 0..47
//           5  u8   body transform   24  u64  sequence         56       body
//           6  u16  flags            32  i64  time
//           8  u32  journal epoch
//          12  u32  batch number
//
// Header and body are checked apart, so a damaged body does not lose the boundaries (storage I1). The batch number
// tells where one disk batch ends and the next begins. Bytes never change meaning: a new layout takes a new magic.
#pragma once

#include "base/hash.hpp"
#include "storage/segment/byte_order.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace tern::storage {

constexpr std::uint32_t record_magic = 0x314e5254;  // "TRN1"
constexpr std::size_t record_header_size = 56;
constexpr std::uint32_t record_body_limit = 0x40000000;  // 1 GiB: a length above it is damage
constexpr std::uint16_t format_version = 1;

enum class record_kind : std::uint8_t {
  message = 1,        // sequence, time; body: message_prefix, subject, headers, payload
  skip = 2,           // sequences up to `sequence` exist without messages
  remove = 3,         // one message
  remove_ranges = 4,  // body: runs of sequences; `flags` bit 1: last moves to `sequence`
  erased = 5,         // segments only: stands where an erased message was
  stream_create = 10,
  stream_update = 11,  // sequence: revision
  stream_delete = 12,
  consumer_create = 13,  // sequence: revision; body begins with the consumer's id
  consumer_update = 14,
  consumer_delete = 15,
  consumer_delta = 16,     // sequence: number of the delta
  consumer_snapshot = 17,  // sequence: number of the last delta that it contains
  batch_begin = 20,        // an atomic group: all of it or nothing (storage R5)
  batch_commit = 21,
  journal_header = 30,
  segment_footer = 31,
  state = 32,
  segment_header = 33,
  footer_pointer = 34,  // the last 56 bytes of a sealed segment; sequence: the footer's offset
};

// What the body went through before it was written. Readers refuse what they do not know.
enum class body_transform : std::uint8_t { none = 0, lz4 = 1, zstd = 2, aead = 3 };

namespace record_flag {
constexpr std::uint16_t has_headers = 1;
constexpr std::uint16_t moves_last = 2;
constexpr std::uint16_t erase = 4;
constexpr std::uint16_t after_gap = 8;  // the sequences since the record before were left out on purpose
}  // namespace record_flag

struct record_header {
  record_kind kind = record_kind::message;
  body_transform transform = body_transform::none;
  std::uint16_t flags = 0;
  std::uint32_t epoch = 0;
  std::uint32_t batch = 0;
  std::uint32_t stream = 0;
  std::uint32_t body_length = 0;
  std::uint64_t sequence = 0;
  std::int64_t time = 0;
  std::uint64_t body_hash = 0;
};

// Message bodies begin with two lengths.
constexpr std::size_t message_prefix_size = 8;
struct message_parts {
  std::string_view subject, headers, payload;
};

inline std::size_t record_size(const record_header& header) { return record_header_size + header.body_length; }

// Writes the 56 bytes; hashes them when `sealed` (memory streams need no checksum).
inline void write_header(char* to, const record_header& header, bool sealed = true) {
  put(to, record_magic);
  to[4] = static_cast<char>(header.kind);
  to[5] = static_cast<char>(header.transform);
  put(to + 6, header.flags);
  put(to + 8, header.epoch);
  put(to + 12, header.batch);
  put(to + 16, header.stream);
  put(to + 20, header.body_length);
  put(to + 24, header.sequence);
  put(to + 32, header.time);
  put(to + 40, header.body_hash);
  put(to + 48, sealed ? hash64(std::string_view(to, 48)) : std::uint64_t{0});
}

// Trusts the bytes: for what was verified or never left memory.
inline record_header read_header(const char* from) {
  record_header header;
  header.kind = static_cast<record_kind>(from[4]);
  header.transform = static_cast<body_transform>(from[5]);
  header.flags = get<std::uint16_t>(from + 6);
  header.epoch = get<std::uint32_t>(from + 8);
  header.batch = get<std::uint32_t>(from + 12);
  header.stream = get<std::uint32_t>(from + 16);
  header.body_length = get<std::uint32_t>(from + 20);
  header.sequence = get<std::uint64_t>(from + 24);
  header.time = get<std::int64_t>(from + 32);
  header.body_hash = get<std::uint64_t>(from + 40);
  return header;
}

// At least 56 bytes are there, with magic, checksum and a sane length.
inline bool header_is_whole(std::string_view bytes) {
  return bytes.size() >= record_header_size && get<std::uint32_t>(bytes.data()) == record_magic &&
         get<std::uint32_t>(bytes.data() + 20) <= record_body_limit &&
         get<std::uint64_t>(bytes.data() + 48) == hash64(bytes.substr(0, 48));
}

// Fills in body_length and body_hash, and appends the whole record.
void append_record(std::string& out, record_header header, std::string_view body);
// The same for a message, whose parts are joined in place. Without checksums when `sealed` is false. Returns its size.
std::size_t append_message_record(std::string& out, record_header header, std::string_view subject,
                                  std::string_view headers, std::string_view payload, bool sealed = true);
// The parts of a message's body; false when its lengths do not fit.
bool split_message(std::string_view body, message_parts& out);

// Changes epoch and batch of a whole record in place.
void restamp(char* record, std::uint32_t epoch, std::uint32_t batch);

}  // namespace tern::storage
