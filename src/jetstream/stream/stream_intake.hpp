// What a stream copies from other streams: its mirror or its sources, and how far each has been read (jetstream 7).
//
// A mirror's position is its own last sequence. A source's position stands in the header of the newest message that
// was copied from it; beside that a checkpoint of all positions stands in the stream's metadata, so that a restart
// reads few headers, and is renewed in the batch that removes such a newest message. Both ride with what they speak of:
// no crash can separate a copy from its position.
//
// Owned by its stream; one shard. Invariant: every source has its position in checkpoint_, or a live message behind
// checkpoint_end_ that carries it.
#pragma once

#include "jetstream/stream/stream_config.hpp"
#include "jetstream/stream/stream_origin.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tern::jetstream {

class stream;

// How far one source was read.
struct source_progress {
  std::string source;  // source_identity::key()
  std::uint64_t seq = 0;
  std::string identity;
};

// The checkpoint as the stream's metadata keeps it.
struct intake_checkpoint {
  std::vector<source_progress> sources;
  std::uint64_t end = 0;  // messages up to here are accounted for
};

class stream_intake {
 public:
  explicit stream_intake(stream& of);
  ~stream_intake();
  stream_intake(const stream_intake&) = delete;
  stream_intake& operator=(const stream_intake&) = delete;

  // --- life ---
  void recover(const intake_checkpoint& kept);  // finds the positions
  void open();                                  // reads from now on
  void adopt_config();                          // after an update
  // `forget`: the stream goes for good.
  void close(bool forget);

  // --- what the stream tells ---
  void on_committed(storage::sequence number);
  void on_removed(storage::sequence number);  // before it goes
  void on_commit_failed();                    // the log shows what is left

  // `,"mirror":{...}` or `,"sources":[...]` of an info.
  void append_info(std::string& json) const;
  bool empty() const { return readers_.empty(); }

 private:
  class reader;
  struct place {
    storage::sequence last = 0;  // in the origin
    std::string identity;
    storage::sequence copy = 0;  // the newest message here that says so
  };

  void make_readers();
  void scan();
  void save();
  bool has_sources() const;

  stream& stream_;
  std::map<std::string, place, std::less<>> places_;  // by source_identity::key(); sources that were taken out too
  storage::sequence checkpoint_end_ = 0;
  intake_checkpoint durable_;  // the last one that the disk has
  std::vector<std::unique_ptr<reader>> readers_;
  bool open_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tern::jetstream
