// A nats-server's JetStream directory, read without changing it, into a store of ours: streams with their sequences,
// times and gaps, consumers with what is pending. Stream by stream; one that fails leaves nothing.
//
// Offline: nobody serves either side. Its user runs the loop in `settle`, which commits and waits. One thread.
// (storage part 1, jetstream 22)
#pragma once

#include "jetstream/environment.hpp"
#include "jetstream/stream/stream_loader.hpp"
#include "storage/archive/peer_directory.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tern::jetstream {

struct peer_stream {
  std::string account, name, path;
};

struct import_report {
  struct damage {
    std::uint32_t block = 0;
    std::uint64_t offset = 0, size = 0;  // in the block, unpacked
    std::uint64_t after = 0;             // the last sequence before it
  };
  std::string account, name;
  std::uint64_t messages = 0, bytes = 0, first = 0, last = 0;
  std::vector<std::string> consumers;
  std::vector<std::string> problems;  // what could be read anyway
  std::vector<damage> damaged;
  std::optional<error> failure;  // nothing of it was imported
};

class peer_import {
 public:
  struct target {
    storage::store* store;  // null: everything is read and checked, nothing is written
    std::function<result<void>()> settle;
    nuid_source* ids;
    std::function<time_point()> now;
  };
  peer_import(runtime::disk& from, target to, std::string server_key)
      : disk_(from), to_(std::move(to)), server_key_(std::move(server_key)) {}

  // The streams below `directory`, which is the server's store_dir or the folder `jetstream` in it.
  result<std::vector<peer_stream>> find(const std::string& directory);
  import_report take(const peer_stream& what);

 private:
  class run;
  runtime::disk& disk_;
  target to_;
  std::string server_key_;
};

}  // namespace tern::jetstream
