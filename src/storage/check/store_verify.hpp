// Reads a whole store and names what is damaged. It runs the recovery that a start would run, on an overlay, and then
// loads every message: so what it reports is what a start would lose, by the same code. (storage I1-I4)
#pragma once

#include "runtime/disk.hpp"
#include "storage/store.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tern::storage {

struct damaged_messages {
  sequence first = 0, last = 0;
  std::string subject;  // where it is known
  std::string file;     // empty: no file is left that had them
  std::uint64_t offset = 0, size = 0;
  std::string why;
};

struct verified_stream {
  std::string account, name;
  std::uint64_t messages = 0;  // whole ones
  sequence first = 0, last = 0;
  std::vector<sequence_range> known_lost;  // found and reported by an earlier start
  std::vector<damaged_messages> damaged;
};

struct verified_store {
  std::vector<verified_stream> streams;
  std::vector<finding> findings;  // what recovery says
  std::vector<offline_stream> offline;
  std::vector<std::string> changed_files;  // that recovery would write anew, cut or remove

  bool whole() const;
  std::uint64_t damaged_count() const;
};

// `scratch`: an empty directory for what recovery would write. Fails only when the store cannot be read at all.
result<verified_store> verify_store(runtime::disk& disk, const std::string& directory, const std::string& scratch);

// The same in place: recovery runs, every message is read, what is damaged is noted as lost, everything is settled.
// The report is that of what was done.
result<verified_store> settle_store(runtime::disk& disk, const std::string& directory);

}  // namespace tern::storage
