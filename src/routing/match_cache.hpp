// Remembers which subscriptions a subject reaches, so that a publish costs one look-up. Owned by the account; one
// shard.
//
// A wildcard subscription that comes or goes moves the generation, which makes every entry stale; a literal one makes
// only the entry of its subject stale. Bounded: a set of four ways per hash, the table grows up to `maximum_entries`
// and then replaces. Entries keep their vectors when they are filled anew, so a steady state allocates nothing.
//
// Entries may be in use (pinned) by a delivery that publishes again or changes the interest: a pinned entry is never
// filled anew or replaced in place; it is orphaned, and dies with its last pin.
#pragma once

#include "routing/interest_trie.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tern::routing {

struct cached_match {
  struct group {
    std::string_view name;  // valid while the entry is being filled
    std::vector<subscription*> members;
  };

  std::string subject;
  std::uint64_t hash = 0;
  std::uint64_t generation = 0;  // 0: stale
  std::uint32_t pins = 0;
  bool orphaned = false;
  std::size_t group_count = 0;  // groups beyond it are spare
  std::vector<subscription*> plain;
  std::vector<group> groups;

  bool empty() const { return plain.empty() && group_count == 0; }
};

class match_cache {
 public:
  static constexpr std::size_t ways = 4;
  static constexpr std::size_t initial_entries = 64;
  static constexpr std::size_t maximum_entries =
      8192;  // about 2 MiB of long subjects; beyond it a miss costs a trie walk

  static constexpr std::size_t maximum_receivers = 1 << 20;  // of all entries together: 8 MiB of pointers

  explicit match_cache(const interest_trie& interest);
  ~match_cache();
  match_cache(const match_cache&) = delete;
  match_cache& operator=(const match_cache&) = delete;

  // Fresh for the interest as it is now. Valid until the next call, or while pinned.
  cached_match& find(std::string_view subject) {
    if (last_ != nullptr && last_->generation == generation_ && last_->subject == subject) {
      ++hits_;
      return *last_;
    }
    return look_up(subject);
  }
  static void pin(cached_match& entry) { ++entry.pins; }
  static void unpin(cached_match& entry) {
    if (--entry.pins == 0 && entry.orphaned) delete &entry;
  }

  void interest_changed(std::string_view pattern, bool wildcard);
  void disable();  // every find() walks the trie

  std::uint64_t hits() const { return hits_; }
  std::uint64_t misses() const { return misses_; }
  std::size_t size() const { return size_; }
  std::size_t receivers_held() const { return receivers_held_; }  // room for them, in all entries
  template <class Visit>
  void each_fresh(Visit&& visit) const {
    for (const slot& one : slots_)
      if (one.entry != nullptr && one.entry->generation == generation_) visit(*one.entry);
  }

 private:
  struct slot {
    std::uint64_t hash = 0;
    cached_match* entry = nullptr;
  };

  cached_match& look_up(std::string_view subject);
  slot& place_for(std::uint64_t hash);
  void grow();
  void drop_all_but(const cached_match& kept);
  void fill(cached_match& entry, std::string_view subject, std::uint64_t hash);
  std::size_t set_of(std::uint64_t hash) const { return (hash & (slots_.size() / ways - 1)) * ways; }

  const interest_trie& interest_;
  std::vector<slot> slots_;
  cached_match* last_ = nullptr;  // the entry found last: most publishers stay on a subject
  std::uint64_t generation_ = 1;
  std::uint64_t hits_ = 0, misses_ = 0;
  std::size_t size_ = 0;
  std::size_t receivers_held_ = 0;
  std::uint32_t victim_ = 0;
  bool disabled_ = false;
};

}  // namespace tern::routing
