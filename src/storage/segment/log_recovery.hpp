// Rebuilds one stream's log at start-up: from the state that was settled last, the segment files, and what the journals
// say since. Deterministic: the same journals and state give the same files, so a crash while recovering does no harm.
#pragma once

#include "storage/segment/record_reader.hpp"
#include "storage/segment/segment_footer.hpp"
#include "storage/segment/segmented_log.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace tern::storage {

// Order of use: read_state(), note() for each journal record in order, run(). The bytes given to note() live until
// then. Which sequences are lost is decided by what the settled state covers and by records that say whether a gap
// before them was meant.
class log_recovery {
 public:
  explicit log_recovery(segmented_log& log) : log_(log) {}

  // Of segmented_log::encode_state(); false when it makes no sense.
  bool read_state(std::string_view bytes);
  void note(const record_header& header, std::string_view record);
  // Records of this batch may be missing without anything having been lost: it was never confirmed.
  void set_torn_batch(std::uint32_t epoch, std::uint32_t batch) { torn_epoch_ = epoch, torn_batch_ = batch; }
  // Loads and writes what must be written. Reasons why the stream cannot be used are errors.
  result<void> run(const std::string& directory);
  bool found_damage() const { return damage_; }
  bool found_records() const { return !journal_.empty() || !removed_.empty() || !skips_.empty(); }

 private:
  struct known_segment {
    std::uint64_t number = 0;
    sequence base = 0, last = 0;
    std::uint64_t length = 0;
    bool sealed = false;
    std::vector<sequence_range> gone;
    // No message of it lives, by the settled state.
    bool is_empty() const {
      std::uint64_t count = 0;
      for (const auto& each : gone) count += each.last - each.first + 1;
      return count >= last - base + 1;
    }
  };
  struct found_entry {
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
    std::uint16_t flags = 0;
    std::int64_t time = 0;
    bool live = false;
    std::string subject;
  };
  struct hole {
    std::uint64_t offset = 0, size = 0;
    sequence after = 0;  // the record before it
  };
  struct scan {
    std::map<sequence, found_entry> entries;
    std::map<sequence, hole> damaged;  // bodies: the place is known
    std::vector<hole> holes;
    bool header_whole = false;
    segment_identity identity;
  };

  result<void> load_segment(known_segment known, const std::string& directory);
  bool load_footer(segment& into, const known_segment& known, std::uint64_t file_size);
  scan scan_file(std::string_view bytes, const known_segment* known);
  std::optional<std::uint64_t> whole_length(const known_segment& known, const scan& found) const;
  void enter(segment& into, const known_segment& known, scan& found);
  void restore(segment& into, const known_segment& known, scan& found, const std::vector<sequence>& missing,
               const std::string& path);
  void scan_unknown_files(const std::string& directory);
  void place_unsettled();
  void place_one(sequence number, std::string_view record);
  void add_live(segment& into, sequence number, subject_id subject);
  void apply_removals();
  result<void> write_differences(const std::string& directory);
  bool is_removed(sequence number) const;
  void lose(sequence_range range, const std::string& where);
  void note_finding(finding::severity level, const std::string& text);

  segmented_log& log_;
  std::vector<known_segment> segments_;
  sequence settled_last_ = 0;
  std::map<sequence, std::string_view> journal_;  // message records
  std::vector<sequence_range> removed_;
  std::vector<sequence> erased_;
  std::set<sequence> skips_;  // last sequences of ranges that are meant to be empty
  std::map<sequence, std::int64_t> skip_times_;
  std::map<sequence, std::string_view> only_in_files_;
  std::vector<std::unique_ptr<std::string>> buffers_;
  runtime::disk_batch repairs_;
  std::uint32_t torn_epoch_ = 0, torn_batch_ = 0;
  bool damage_ = false;
};

}  // namespace tern::storage
