// A stream's directory as the peer's file store leaves it, read without changing it: `meta.inf`, `msgs/`, `obs/`,
// plain, compressed or encrypted. One block is in memory at a time. What is wrong is told, and what can be read is
// read.
//
// Owned by whoever imports; one thread. (storage part 1)
#pragma once

#include "runtime/disk.hpp"
#include "storage/archive/peer_block.hpp"
#include "storage/archive/peer_consumer_state.hpp"
#include "storage/archive/peer_index.hpp"
#include "storage/archive/peer_keys.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tern::storage::archive {

// Puts messages in order and leaves out what is deleted, for a directory and for an archive of one alike.
//
// Blocks are given in ascending order. A tombstone may stand in a later block than what it removes: those are told at
// the end, as removals.
class peer_block_merger {
 public:
  struct sink {
    virtual ~sink() = default;
    virtual result<void> message(const peer_record& what) = 0;
    virtual void damaged(std::uint32_t block, std::uint64_t offset, std::uint64_t size, std::uint64_t after) = 0;
  };
  explicit peer_block_merger(std::string stream) : stream_(std::move(stream)) {}

  void set_index(peer_index index) { index_ = std::move(index); }
  const std::optional<peer_index>& index() const { return index_; }
  // The block's bytes, decrypted and decompressed.
  result<void> add(std::uint32_t block, std::string_view bytes, sink& to);
  // Sequences of messages that were given and are deleted, ascending, once all blocks are added.
  std::vector<std::uint64_t> take_removals();
  // The stream's last sequence and its time, as far as the blocks and the index tell.
  std::uint64_t last() const;
  std::int64_t last_time() const { return last_time_; }
  std::uint64_t first() const;  // the smallest that the next message could have had

 private:
  void note(std::uint64_t number, std::int64_t time);
  std::string stream_;
  std::optional<peer_index> index_;
  std::vector<std::uint64_t> tombstones_;
  std::uint64_t given_ = 0;  // the last message
  std::uint64_t first_given_ = 0;
  std::uint64_t last_ = 0;
  std::int64_t last_time_ = 0;
};

struct peer_consumer {
  std::string name;      // of the folder
  std::string metadata;  // JSON, with "Created"
  peer_consumer_state state;
  std::vector<std::string> problems;
};

class peer_directory {
 public:
  // `name`: the folder's, which is the stream's.
  peer_directory(runtime::disk& disk, std::string path, std::string name, const peer_keys& keys);

  // `meta.inf`: the configuration with "Created". A checksum that does not fit is a problem, not an end.
  result<std::string> read_metadata();
  result<void> read_messages(peer_block_merger& merger, peer_block_merger::sink& to);
  std::vector<std::string> consumer_names();
  result<peer_consumer> read_consumer(const std::string& name);

  const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  result<std::string> read(const std::string& name) const;
  result<std::string> read_sealed(const std::string& folder, const std::string& name, std::string_view context);
  result<void> read_block(std::uint32_t number, peer_block_merger& merger, peer_block_merger::sink& to);
  void read_index(peer_block_merger& merger);
  std::string messages_folder() const;

  runtime::disk& disk_;
  std::string path_, name_;
  const peer_keys& keys_;
  std::string messages_;  // the folder of the blocks
  std::vector<std::string> problems_;
};

// "<n>" of "<n>.blk"; empty when the file is something else.
std::optional<std::uint32_t> block_number(std::string_view file_name);

}  // namespace tern::storage::archive
