// All streams of one shard on one disk: the journal that makes them durable together, their segments, their catalog.
//
// Life of a write: append(), remove(), deltas and catalog changes gather in the current batch. commit() at the end of a
// turn hands the batch to the disk if the one before it has been synced; else it goes on gathering, so batch size
// follows the disk. When the sync is done, staged messages become committed in order (each told to its log's owner),
// then the actions of when_durable() run. A failed sync runs them with the error, after the staged state was thrown
// away and what is on disk was read again.
//
// One shard. (storage part 4: D1-D5, I1-I6, R1-R5)
#pragma once

#include "runtime/disk.hpp"
#include "storage/stream_log.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tern::storage {

enum class durability {
  synced,   // a commit is confirmed after the sync: the default
  written,  // after the write to the operating system; a timer syncs (`sync_interval: <duration>`)
  memory,   // nothing is written: memory streams
};
std::string_view to_word(durability level);

// What JetStream attaches to a log. Called on the shard, in order, only during commit completion.
class log_owner {
 public:
  virtual ~log_owner() = default;
  // The message is committed: readable, countable. Limits may remove messages here.
  virtual void on_committed(sequence number, std::string_view subject, std::uint64_t record_bytes) = 0;
  // The sync failed or the disk is full: what was staged is gone, state() shows what the disk has.
  virtual void on_commit_failed(const error& why) = 0;
};

// The durable state of one consumer: a snapshot and the deltas since, both opaque here.
class consumer_record {
 public:
  virtual ~consumer_record() = default;
  virtual const std::string& metadata() const = 0;        // its configuration, opaque
  virtual void set_metadata(std::string bytes) = 0;       // rides in the gathering batch
  virtual void append_delta(std::string_view bytes) = 0;  // rides in the gathering batch
  // Asked for when the journal is shortened: the state with every delta that was appended so far.
  virtual void set_snapshot_source(std::function<std::string()> source) = 0;
  // What recovery found. Cleared by the first call.
  struct recovered {
    std::string snapshot;
    std::vector<std::string> deltas;
  };
  virtual recovered take_recovered() = 0;
};

class stream_record {
 public:
  virtual ~stream_record() = default;
  virtual const std::string& account() const = 0;
  virtual const std::string& name() const = 0;
  virtual const std::string& metadata() const = 0;   // its configuration, opaque
  virtual void set_metadata(std::string bytes) = 0;  // rides in the gathering batch
  virtual stream_log& log() = 0;
  virtual void set_owner(log_owner* owner) = 0;
  virtual durability level() const = 0;
  virtual void set_level(durability level) = 0;  // synced <-> written

  virtual consumer_record& create_consumer(const std::string& name, std::string metadata, bool in_memory) = 0;
  virtual consumer_record* find_consumer(const std::string& name) = 0;
  virtual std::vector<std::string> consumer_names() const = 0;
  virtual void remove_consumer(const std::string& name) = 0;  // the record is gone when this returns
};

struct store_options {
  std::string directory;  // "<store_dir>/jetstream"; unused by memory streams
  std::uint64_t segment_bytes = 16 << 20;
  std::uint64_t journal_bytes = 64 << 20;  // then a new journal file is begun and the old one's content settled
  std::uint64_t batch_bytes = 8 << 20;     // a batch beyond this closes; further writes gather in the next
  std::uint64_t cache_bytes = 64 << 20;    // blocks of sealed segments kept in memory
};

// One line of what recovery or a scrubber found; the server logs it.
struct finding {
  enum class severity { note, warning, damage } level = severity::note;
  std::string text;
};

// A stream whose metadata cannot be read in either copy: offline, data left alone, name reserved (I4).
struct offline_stream {
  std::string account, name, reason;
};

class store {
 public:
  // Reads the directory, replays the journal. Never fails because of damaged content, only when the disk cannot be
  // used. `disk` may be null: then only memory streams can be made.
  static result<std::unique_ptr<store>> open(runtime::disk* disk, store_options options);
  virtual ~store() = default;

  virtual const std::vector<finding>& findings() const = 0;
  virtual const std::vector<offline_stream>& offline() const = 0;

  // --- catalog ---
  virtual result<stream_record*> create_stream(const std::string& account, const std::string& name,
                                               std::string metadata, durability level, sequence first_sequence) = 0;
  virtual stream_record* find_stream(const std::string& account, const std::string& name) = 0;
  virtual std::vector<stream_record*> streams() = 0;
  // An explicit, logged, durable delete; the record is gone when this returns, files go after the commit (I6).
  virtual void remove_stream(stream_record& what) = 0;

  // --- commit ---
  // Runs when everything written so far is durable by its stream's level (at the end of the turn for memory and when
  // nothing is outstanding). Never inside the call. In order.
  virtual void when_durable(std::move_only_function<void(const result<void>&)> action) = 0;
  // End of turn: hands over what has gathered. Cheap when there is nothing.
  virtual void commit() = 0;
  // For streams of durability::written: what was written becomes durable with the next commit. A timer calls it. While
  // failure() stands it also lets the next commit try the disk again, which else waits for something new to write.
  virtual void sync() = 0;
  // Something is gathered or in flight.
  virtual bool busy() const = 0;
  // Commits, waits, writes the checkpoint: a clean stop forgets nothing. The store refuses writes afterwards.
  virtual result<void> close() = 0;

  // Set while the disk refuses writes (full, failing sync); the reason stands in API errors and /healthz.
  virtual const std::optional<error>& failure() const = 0;
  virtual std::uint64_t disk_bytes() const = 0;
};

}  // namespace tern::storage
