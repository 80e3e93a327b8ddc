// Opens a store: reads catalog, states and journals, rebuilds the streams. See docs/internals/storage-format.md.
#pragma once

#include "storage/segment/log_recovery.hpp"
#include "storage/store_impl.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace tern::storage {

// Used once by store::open(). Damaged content never fails it; only a disk that cannot be used does.
class store_recovery {
 public:
  explicit store_recovery(store_impl& store) : store_(store), disk_(*store.core_.disk) {}
  result<void> run();

 private:
  struct known_consumer {
    std::string name, metadata, snapshot;
    std::vector<std::string> deltas;
    std::uint64_t revision = 0;
    std::uint64_t last_delta = 0;
    std::uint64_t generation = 0;
    bool created = false;  // the journal has its creation
    bool has_state = false;
    bool copy_damaged = false;
    bool deleted = false;
    bool changed = false;  // by the journal, or not as its files say
    bool reported = false;
  };
  struct known_stream {
    std::string account, name, metadata, log_state, directory;
    durability level = durability::synced;
    sequence first_sequence = 0;
    std::uint64_t revision = 0;
    std::uint64_t generation = 0;
    bool created = false;
    bool updated = false;  // its metadata, by the journal
    bool has_state = false;
    bool copy_damaged = false;
    bool deleted = false;
    std::vector<std::string> bad_files;
    std::map<std::uint32_t, known_consumer> consumers;
    std::vector<std::string_view> records;  // of its log, in order
  };
  struct journal_content {
    journal_file file;
    std::string bytes;
    bool listed = false;
  };

  result<void> check_version();
  result<void> make_folders();
  void read_catalog();
  void read_streams();
  void read_stream(const std::string& directory, std::uint32_t id, const std::string& account_folder,
                   const std::string& name_folder);
  void read_consumers(known_stream& of);
  bool decode_stream(std::string_view bytes, std::uint32_t id, known_stream& out);
  void read_journals();
  static bool is_begun(const journal_content& journal);
  void apply_cuts(const journal_content& from);
  void replay(journal_content& journal, bool newest);
  void replay_record(const record_header& header, std::string_view body, std::string_view whole);
  void replay_consumer(known_stream& of, const record_header& header, std::string_view body);
  result<void> build();
  result<void> build_stream(std::uint32_t id, known_stream& known);
  void take_offline(std::uint32_t id, const known_stream& known, std::string reason);
  void keep_copy(const std::string& path);
  void note(finding::severity level, std::string text) { store_.core_.note(level, std::move(text)); }
  bool has_files(const std::string& directory);
  result<void> finish();

  store_impl& store_;
  runtime::disk& disk_;
  std::map<std::uint32_t, known_stream> streams_;
  std::vector<journal_content> journals_;
  std::map<std::uint32_t, journal_file> listed_;  // by the catalog
  bool catalog_known_ = false;
  bool catalog_expected_ = false;
  bool repair_ = false;  // something is to be written anew
  std::uint32_t catalog_epoch_ = 0;
  std::uint32_t torn_epoch_ = 0, torn_batch_ = 0;
  std::set<std::uint32_t> unknown_streams_, deleted_streams_;
  runtime::disk_batch repairs_;
};

}  // namespace tern::storage
