// What a store's parts share: the disk, the batches that gather and what was found. Owned by the store; one thread.
#pragma once

#include "storage/index/subject_index.hpp"
#include "storage/segment/block_cache.hpp"
#include "storage/store.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tern::storage {

class segmented_log;

// A message or skip range whose record lies in the batch's bytes.
struct staged_entry {
  segmented_log* log = nullptr;  // null once its stream was removed
  std::uint32_t offset = 0;
  subject_id subject = no_subject;
};

// An erased message, whose bytes in the segment are overwritten once the removal is durable.
struct erase_request {
  segmented_log* log = nullptr;
  std::uint64_t segment_number = 0;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  sequence number = 0;
};

// Records that are written and synced together. Kept until the disk has confirmed it: commits read the messages from
// it, and after a failure its other records go into the next batch.
struct commit_batch {
  std::string bytes;
  std::vector<staged_entry> staged;
  std::vector<erase_request> erases;
  std::vector<std::move_only_function<void(const result<void>&)>> actions;
  std::vector<std::uint32_t> created;  // streams whose own or whose consumers' files are to be made
  std::vector<std::pair<std::uint32_t, std::string>> removed;  // streams whose directories go: id, directory
  std::uint32_t epoch = 0;
  std::uint32_t number = 0;
  bool wants_sync = false;

  bool empty() const { return bytes.empty() && actions.empty(); }
  void clear() {
    bytes.clear();
    staged.clear();
    erases.clear();
    actions.clear();
    created.clear();
    removed.clear();
    wants_sync = false;
  }
};

struct store_core {
  runtime::disk* disk = nullptr;
  store_options options;
  block_cache cache;
  std::vector<finding> findings;
  std::uint32_t epoch = 1;         // of the journal that new batches go to
  std::uint32_t batch_number = 0;  // of the newest batch
  std::uint64_t next_segment_key = 1;
  std::uint64_t freeable_bytes = 0;  // of segment files that go with the next settling

  // Writes what no sync has confirmed of a stream's segments anew, from the journals, and waits for it. False: it
  // cannot.
  std::function<bool(std::uint32_t)> repair;

  std::unique_ptr<commit_batch> in_flight;
  std::deque<std::unique_ptr<commit_batch>> gathering;  // the last one grows
  std::unique_ptr<commit_batch> memory;                 // of memory streams: never written
  std::unique_ptr<commit_batch> spare;

  store_core(runtime::disk* on, store_options with)
      : disk(on), options(std::move(with)), cache(options.cache_bytes), memory(std::make_unique<commit_batch>()) {}

  commit_batch& batch(bool in_memory) {
    if (in_memory) return *memory;
    if (!gathering.empty() && gathering.back()->bytes.size() < options.batch_bytes) return *gathering.back();
    return begin_batch();
  }
  commit_batch& begin_batch() {
    auto next = spare ? std::move(spare) : std::make_unique<commit_batch>();
    next->clear();
    next->epoch = epoch;
    next->number = ++batch_number;
    gathering.push_back(std::move(next));
    return *gathering.back();
  }
  void note(finding::severity level, std::string text) { findings.push_back({level, std::move(text)}); }
};

}  // namespace tern::storage
