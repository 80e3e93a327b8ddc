// The store: catalog, group commit, settling. Recovery is in recovery.cpp, the parts of a batch in store_core.hpp.
// One thread, that of the shard which owns the disk.
#pragma once

#include "storage/segment/segmented_log.hpp"
#include "storage/store.hpp"
#include "storage/store_core.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tern::storage {

class store_impl;
class stream_entry;

class consumer_entry final : public consumer_record {
 public:
  consumer_entry(store_impl& owner, stream_entry& stream, std::uint32_t number, std::string name, bool in_memory)
      : store(owner), of(stream), id(number), title(std::move(name)), memory(in_memory) {}

  const std::string& metadata() const override { return configuration; }
  void set_metadata(std::string bytes) override;
  void append_delta(std::string_view bytes) override;
  void set_snapshot_source(std::function<std::string()> source) override;
  recovered take_recovered() override { return known; }

  // The content of its state file. Asks for the snapshot; a new one's leaves everything but its existence to the
  // journal.
  std::string encode(bool fresh = false) const;
  // Writes what was appended but not committed again, as a snapshot (after a failed commit).
  void append_snapshot();

  store_impl& store;
  stream_entry& of;
  const std::uint32_t id;
  const std::string title;
  const bool memory;
  std::string configuration;
  std::uint64_t revision = 1;
  std::uint64_t deltas = 0;  // number of the last delta
  std::uint64_t generation = 0;
  bool dirty = true;
  bool needs_snapshot = false;
  std::function<std::string()> snapshot_source;
  recovered known;  // what the disk had and what came since, until there is a source
};

class stream_entry final : public stream_record {
 public:
  stream_entry(store_impl& owner, std::uint32_t number, std::string account, std::string name, durability level,
               sequence first_sequence);

  const std::string& account() const override { return account_name; }
  const std::string& name() const override { return stream_name; }
  const std::string& metadata() const override { return configuration; }
  void set_metadata(std::string bytes) override;
  stream_log& log() override { return *messages; }
  void set_owner(log_owner* owner) override { messages->set_owner(owner); }
  durability level() const override { return how_durable; }
  void set_level(durability level) override;
  consumer_record& create_consumer(const std::string& name, std::string metadata, bool in_memory) override;
  consumer_record* find_consumer(const std::string& name) override;
  std::vector<std::string> consumer_names() const override;
  void remove_consumer(const std::string& name) override;

  bool in_memory() const { return how_durable == durability::memory; }
  std::string segments_directory() const { return directory + "/segments"; }
  std::string consumers_directory() const { return directory + "/consumers"; }
  std::string consumer_base(std::uint32_t consumer) const {
    return consumers_directory() + "/" + std::to_string(consumer);
  }
  std::string encode(bool fresh = false) const;  // the content of its state file; likewise

  store_impl& store;
  const std::uint32_t id;
  const std::string account_name, stream_name;
  durability how_durable;
  const sequence first_sequence;
  std::string directory;
  std::string configuration;
  std::uint64_t revision = 1;
  std::uint64_t generation = 0;
  enum class folders { missing, being_made, made } state = folders::missing;
  bool folders_synced = false;
  bool consumer_names_unsynced = false;
  bool dirty = true;
  bool waits_for_flush = false;
  bool compacted_one = false;   // in the last step of settling: there may be more
  bool rewrite_wanted = false;  // a sync of its segments failed
  std::unique_ptr<segmented_log> messages;
  std::map<std::string, std::unique_ptr<consumer_entry>> consumers;
};

// A journal file that recovery would read. Records of batches above last_batch were never confirmed: they do not count.
struct journal_file {
  static constexpr std::uint32_t every_batch = 0xffffffff;
  std::uint32_t epoch = 0;
  std::uint32_t last_batch = every_batch;
  bool damaged = false;  // set aside instead of removed
};

// Invariants: at most one batch is in flight; batches gather in order; a batch's epoch is that of the journal file it
// is written to. `alive_` lets completions find out that the store is gone.
class store_impl final : public store {
 public:
  store_impl(runtime::disk* disk, store_options options);
  ~store_impl() override;

  const std::vector<finding>& findings() const override { return core_.findings; }
  const std::vector<offline_stream>& offline() const override { return offline_; }
  result<stream_record*> create_stream(const std::string& account, const std::string& name, std::string metadata,
                                       durability level, sequence first_sequence) override;
  stream_record* find_stream(const std::string& account, const std::string& name) override;
  std::vector<stream_record*> streams() override;
  void remove_stream(stream_record& what) override;
  void when_durable(std::move_only_function<void(const result<void>&)> action) override;
  void commit() override;
  void sync() override;
  bool busy() const override;
  result<void> close() override;
  const std::optional<error>& failure() const override { return failure_; }
  std::uint64_t disk_bytes() const override;

  // --- for the entries ---
  store_core& core() { return core_; }
  commit_batch& control_batch(bool wants_sync);
  void append_control(record_kind kind, std::uint32_t stream, std::uint64_t number, std::string_view body,
                      bool wants_sync);
  void created(std::uint32_t stream);
  std::uint32_t new_consumer_id() { return next_consumer_++; }
  void consumer_removed(stream_entry& of, std::uint32_t consumer);
  std::string stream_directory(const std::string& account, const std::string& name, std::uint32_t id) const;

 private:
  friend class store_recovery;
  using completion = std::move_only_function<void(result<void>)>;

  std::string path(const std::string& name) const { return core_.options.directory + "/" + name; }
  std::string journal_path(std::uint32_t epoch) const;
  stream_entry* find_entry(std::uint32_t id);
  // Runs a batch now and its completion, while the store opens or closes; else submits it.
  void run(runtime::disk_batch batch, completion done);

  // store_commit.cpp
  void commit_memory();
  void submit_next();
  void on_written(result<void> outcome);
  void apply(commit_batch& batch);
  void fail_commits(const error& why);
  void carry_over(const commit_batch& from, std::string& records);
  void begin_journal();
  void switch_epoch();
  void note_failure(const error& why);
  std::uint64_t gathered() const;
  void flush();
  void make_folders(stream_entry& what);
  std::string encode_catalog(std::uint32_t last_epoch) const;
  result<void> write_catalog(runtime::disk_batch& batch, std::uint32_t last_epoch);
  result<void> drain();
  void note_flush(segmented_log& log);
  void write_new_consumers(stream_entry& what);
  void remove_folders(std::uint32_t id, const std::string& directory);

  // store_settle.cpp
  void start_settling(std::uint32_t through);
  void settle_step();
  void finish_settling();
  void on_stream_settled(std::uint32_t id, result<void> outcome);
  result<void> add_stream_state(stream_entry& what, runtime::disk_batch& batch);
  void rewrite_unsynced(stream_entry& what, runtime::disk_batch& batch);
  result<void> checkpoint();

  store_core core_;
  std::vector<std::unique_ptr<stream_entry>> entries_;
  std::map<std::pair<std::string, std::string>, stream_entry*> by_name_;
  std::map<std::uint32_t, stream_entry*> by_id_;
  std::vector<offline_stream> offline_;
  std::uint32_t next_stream_ = 1;
  std::uint32_t next_consumer_ = 1;

  std::vector<journal_file> journals_;  // ascending; the last one is written to
  runtime::file_ref journal_;
  std::uint64_t journal_end_ = 0;
  std::uint32_t confirmed_batch_ = 0;  // of the last journal
  std::uint64_t catalog_generation_ = 0;
  bool begins_journal_ = false;  // its first batch is on the way
  bool epoch_switched_ = true;   // new records belong to a journal that has not begun
  bool unsynced_ = false;        // the journal holds written records that no sync has covered
  bool sync_wanted_ = false;

  std::vector<std::uint32_t> without_state_;  // streams with new consumers, or new themselves
  bool flush_in_flight_ = false;
  std::vector<std::uint32_t> to_flush_;  // streams with bytes for their segments
  std::vector<erase_request> to_erase_;
  std::vector<std::pair<std::uint32_t, std::string>>
      gone_consumers_;  // whose files go with the next state: stream id, base

  std::vector<std::pair<std::uint32_t, std::string>> settling_gone_;  // of the settling that is in flight
  commit_batch* applying_ = nullptr;                                  // the batch whose messages are being committed

  bool settles_ = false;
  bool settle_wanted_ = false;
  bool settle_in_flight_ = false;
  std::uint32_t settles_through_ = 0;
  std::vector<std::uint32_t> settle_queue_;

  bool blocking_ = false;  // opening or closing: batches are waited for
  bool closed_ = false;
  std::optional<error> failure_;
  bool retry_wanted_ = false;
  std::uint64_t refused_ = 0;  // gathered() when the disk refused
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tern::storage
