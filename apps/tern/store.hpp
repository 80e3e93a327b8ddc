// `tern store`: what works on the files of a store while no server runs.
#pragma once

#include "runtime/disk.hpp"
#include "runtime/shard.hpp"
#include "session.hpp"
#include "storage/store.hpp"

#include <memory>
#include <string>
#include <vector>

namespace tern::command {

struct store_import_arguments {
  std::string from, to;
  std::string account, stream;  // only these
  std::string key, key_file;
  bool check = false;
};
result<void> store_import(session& in, const store_import_arguments& what);

struct store_check_arguments {
  std::string directory;
};
result<void> store_verify(session& in, const store_check_arguments& what);

struct store_repair_arguments {
  std::string directory;
};
result<void> store_repair(session& in, const store_repair_arguments& what);

// A loop with the disk of this machine, for commands that work on files.
class offline_loop {
 public:
  offline_loop();
  ~offline_loop();
  runtime::disk& disk() { return *disk_; }
  runtime::shard& loop() { return loop_; }
  // Commits until nothing waits for the disk.
  result<void> settle(storage::store& store);

 private:
  runtime::real_clock clock_;
  runtime::real_random randomness_;
  runtime::shard loop_;
  std::unique_ptr<runtime::disk> disk_;
};

}  // namespace tern::command
