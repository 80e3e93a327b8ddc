// The stream log over segments: in memory, or in files that the store's journal makes durable.
// Owned by the stream's record; one thread.
#pragma once

#include "storage/index/live_map.hpp"
#include "storage/index/match_cursor.hpp"
#include "storage/index/subject_index.hpp"
#include "storage/segment/segment.hpp"
#include "storage/store_core.hpp"
#include "storage/stream_log.hpp"

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace tern::storage {

// Invariants: segments are ordered and their [base, last] do not overlap; only the last one grows; subject_ids, live_
// and the segments' subject numbers agree at every call. A sequence in lost_ lives nowhere.
class segmented_log final : public stream_log, private subject_numbers {
 public:
  segmented_log(store_core& core, std::uint32_t stream, std::string title, bool in_memory, sequence first_sequence);
  ~segmented_log() override;

  // --- stream_log ---
  void append(const new_message& what) override;
  void skip_to(sequence last, time_point timestamp) override;
  bool remove(sequence number, bool erase) override;
  std::uint64_t purge(const purge_request& what, const removal_visitor& removed) override;
  const log_state& state() const override { return state_; }
  result<stored_message> load(sequence number) override;
  std::optional<sequence> next_live(sequence from) override { return live_.next(from); }
  std::optional<sequence> next_with_headers(sequence from) const override;
  std::optional<sequence> previous_live(sequence from) override { return live_.previous(from); }
  std::optional<sequence> first_at_or_after(time_point at) override;
  std::vector<sequence_range> deleted_ranges() const override;
  std::string_view subject_of(sequence number) const override;
  subject_totals totals(std::string_view subject) const override;
  std::optional<sequence> last_match(std::string_view pattern, sequence up_to) const override;
  std::optional<sequence> first_match(std::string_view pattern, sequence from) const override;
  std::uint64_t for_each_subject(
      std::string_view pattern, std::uint64_t offset,
      const std::function<bool(std::string_view, const subject_totals&)>& visit) const override;
  std::unique_ptr<match_cursor> open_cursor(subject_filters filters) override;

  // --- the store ---
  void set_owner(log_owner* owner) { owner_ = owner; }
  void set_sync(bool wanted) { wants_sync_ = wanted; }
  // A staged record is durable: it becomes committed, its owner is told.
  void commit(std::string_view record, subject_id subject);
  // What is staged will not come. The store drops the records; `subject` is the one that append() held.
  void drop_staged(subject_id subject);
  void on_commit_failed(const error& why);
  bool dirty() const { return dirty_; }
  bool in_memory() const { return in_memory_; }
  std::uint32_t stream() const { return stream_; }

  // Puts into the batch what the files have not got yet. Files are opened in `directory`, which must exist.
  result<void> flush(runtime::disk_batch& batch, const std::string& directory);
  void erase_bytes(runtime::disk_batch& batch, const erase_request& what);
  // The writes that were handed out before have arrived, or not.
  void flushed(bool arrived);
  bool needs_flush() const;

  // Settling: syncs into the batch, and the state that they make true. settled() tells how it went.
  void settle(runtime::disk_batch& batch, const std::string& directory);
  std::string encode_state() const;
  static std::string encode_new_state(sequence first_sequence);
  void settled(bool arrived);
  // Takes one segment that is mostly removed messages and writes what lives to a new file in its place. False: none is.
  bool compact(runtime::disk_batch& batch, const std::string& directory);
  // After a failed sync: what the records of the journals say about bytes that are not known to be durable.
  void rewrite_header(runtime::disk_batch& batch);
  void rewrite(runtime::disk_batch& batch, const record_header& header, std::string_view record);
  // Paths of segment files that nobody needs once the state on disk does not name them.
  std::vector<std::string> take_emptied(const std::string& directory);
  void give_memory_back();
  std::uint64_t file_bytes() const;

  // --- recovery (recovered_log.cpp) ---
  friend class log_recovery;

 private:
  // subject_numbers
  subject_id id_at(sequence number) const override;
  stretch stretch_from(sequence from) const override;

  log_view view() const { return {subjects_, live_, *this}; }
  const segment* find(sequence number) const;
  segment* find(sequence number) { return const_cast<segment*>(std::as_const(*this).find(number)); }
  segment& segment_for(sequence number, std::size_t size);
  segment& begin_segment(sequence base);
  void seal(segment& what);
  void place(std::string_view record, const record_header& header, subject_id subject, segment& into);
  void move_last(sequence last, time_point timestamp);
  std::size_t flush_start() const;
  void take_out(segment& from, sequence number);
  void take_out_everything(const removal_visitor& removed);
  void free_if_empty(segment& what);
  bool mostly_dead(const segment& what) const;
  void compact_memory(segment& what);
  void finish_compaction(segment& what, bool arrived);
  void repair_first();
  void mark_lost(sequence number);
  void add_lost(sequence_range range);
  result<std::string_view> read_record(segment& from, std::size_t index);
  result<std::string_view> read_bytes(segment& from, std::uint64_t offset, std::uint64_t size);
  void log_ranges(const std::vector<sequence_range>& ranges, sequence moved_last);
  commit_batch& touch();

  store_core& core_;
  const std::uint32_t stream_;
  const std::string title_;  // "stream ORDERS", for findings
  const bool in_memory_;
  bool wants_sync_ = true;
  bool dirty_ = false;  // something since the state was written
  log_owner* owner_ = nullptr;

  mutable subject_index subjects_;  // cursors of const queries watch it
  live_map live_;
  std::deque<std::unique_ptr<segment>> segments_;
  mutable const segment* recent_ = nullptr;  // where the last look-up ended
  std::vector<std::uint64_t> emptied_;       // numbers of files to unlink
  std::uint64_t next_segment_ = 1;
  std::uint64_t flushed_below_ = 0;
  log_state state_;
  sequence staged_last_ = 0;
  std::string scratch_;
  block_cache::block pinned_;
};

std::string segment_path(const std::string& directory, std::uint64_t number);

}  // namespace tern::storage
