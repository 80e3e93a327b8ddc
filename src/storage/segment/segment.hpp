// A stretch of a stream's messages: their bytes, in memory or in a file, and where each one is. The last segment of a
// stream grows, the others are sealed.
//
// File: a segment_header record, message records back to back in the order of their sequences, and once sealed a footer
// (segment_footer.hpp). Owned by the log; one thread.
#pragma once

#include "runtime/disk.hpp"
#include "storage/index/subject_index.hpp"
#include "storage/segment/record.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tern::storage {

constexpr std::size_t segment_header_body_size = 48;
constexpr std::size_t segment_header_size = record_header_size + segment_header_body_size;

struct segment_identity {
  std::uint16_t version = format_version;
  std::uint32_t features = 0;  // bits that a reader must know; unknown ones: the segment is refused
  std::uint64_t key_id = 0;    // 0: not encrypted
  std::uint32_t stream = 0;
  std::uint64_t number = 0;
  sequence base = 0;  // the first sequence that it may hold
  sequence last = 0;  // the last one known when the header was written
};
std::string encode_segment_header(const segment_identity& what);
// False when the record is no segment header of a known version.
bool decode_segment_header(const record_header& header, std::string_view body, segment_identity& out);

// Invariants: subjects, places have one entry per sequence from `base` to `last`; subjects[i] is no_subject where
// nothing lives (removed, lost, never there), places[i].offset is 0 where the file has no record. Bytes from
// `tail_base` to `size` are in `tail`; those below `submitted` were handed to the disk, those below `written` have
// arrived.
struct segment {
  struct place {
    std::int64_t time = 0;  // in a gap: that of the message behind it, so that times ascend
    std::uint32_t offset = 0;
    std::uint32_t length = 0;  // of the whole record; top bit: has headers
  };
  static constexpr std::uint32_t headers_bit = 0x80000000;

  std::uint64_t number = 0;
  std::uint64_t key = 0;        // in the block cache
  sequence base = 0, last = 0;  // last = base - 1 while there is nothing
  std::vector<subject_id> subjects;
  std::vector<place> places;
  std::uint64_t live = 0;
  std::uint64_t live_bytes = 0;  // of the records of live messages
  std::uint64_t size = 0;        // of header and records
  std::uint64_t file_size = 0;   // with the footer, once it is written

  std::string tail;
  std::uint64_t tail_base = 0;
  std::uint64_t submitted = 0, written = 0;
  std::uint64_t durable = 0;      // bytes below it were synced
  std::uint64_t synced_soon = 0;  // what `durable` becomes when the sync on its way succeeds
  runtime::file_ref file;
  bool sealed = false;
  bool footer_submitted = false;
  bool unsynced = false;       // bytes were written that no sync has covered
  bool name_unsynced = false;  // the file was made and its directory not synced
  bool damaged = false;        // never written to again

  // What it was before it was compacted, until the disk has the new file.
  struct former {
    std::vector<place> places;
    std::uint64_t size = 0, file_size = 0, durable = 0;
    runtime::file_ref file;
  };
  std::unique_ptr<former> before_compaction;

  bool wants_footer() const { return sealed && !footer_submitted && !damaged; }
  bool holds(sequence number) const { return number >= base && number <= last; }
  std::size_t index_of(sequence number) const { return static_cast<std::size_t>(number - base); }
  std::uint32_t length_at(std::size_t index) const { return places[index].length & ~headers_bit; }
  // What the message counts for in the stream's state (jetstream 6.1).
  std::uint64_t reported_bytes(std::size_t index, bool in_memory) const;

  // Adds the record at the end; sequences between `last` and the record's become a gap.
  void append(std::string_view record, const record_header& header, subject_id subject);
  // Gives memory of the tail back, down to what the disk has not got yet.
  void trim_tail(std::uint64_t keep);

 private:
  void enter_at_end(const record_header& header, subject_id subject, std::uint64_t offset);
};

}  // namespace tern::storage
