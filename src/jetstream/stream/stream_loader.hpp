// Puts a stream that comes from elsewhere into the store: a restore over the wire, or an import of files. Until
// finish() the store's record says that it is being loaded; a start that finds such a record removes it, so what was
// cut off leaves nothing (jetstream 10, storage R6).
//
// Nobody serves the stream meanwhile. Its user commits the store and looks at failure(). One shard.
#pragma once

#include "jetstream/stream/archived_records.hpp"
#include "jetstream/stream/stream.hpp"
#include "storage/store.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tern::jetstream {

class stream_loader final : private storage::log_owner {
 public:
  struct target {
    storage::store* store;
    std::string account;
    storage::durability level;
  };
  // `first`: the smallest sequence that it may hold. The name must be free in the store.
  static result<std::unique_ptr<stream_loader>> begin(const target& into, stored_stream what, storage::sequence first);
  // Without finish(), everything goes again.
  ~stream_loader() override;

  // Sequences ascend; those left out are gaps.
  result<void> append(const storage::new_message& what);
  // Messages that were appended and are none after all; call it when they are committed.
  void remove(const std::vector<std::uint64_t>& numbers);
  void add_consumer(const archived_consumer& what, time_point created);
  // Sequences up to `last` exist. The stream is whole once the store has confirmed what was written so far.
  void finish(storage::sequence last, time_point last_time);

  const std::string& name() const { return what_.config.name; }
  const stream_config& config() const { return what_.config; }
  storage::stream_record& record() { return *record_; }
  std::uint64_t bytes() const { return bytes_; }
  const std::optional<error>& failure() const { return failure_; }

 private:
  stream_loader(const target& into, stored_stream what, storage::stream_record& record);
  void on_committed(storage::sequence, std::string_view, std::uint64_t) override {}
  void on_commit_failed(const error& why) override { failure_ = why; }

  target into_;
  stored_stream what_;
  storage::stream_record* record_;
  storage::sequence last_ = 0;
  std::uint64_t bytes_ = 0;
  bool finished_ = false;
  std::optional<error> failure_;
};

}  // namespace tern::jetstream
