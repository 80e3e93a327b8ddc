#include "routing/match_cache.hpp"

#include "base/hash.hpp"

namespace tern::routing {

namespace {

std::size_t room_of(const cached_match& entry) {
  std::size_t room = entry.plain.capacity();
  for (const cached_match::group& group : entry.groups) room += group.members.capacity();
  return room;
}

}  // namespace

match_cache::match_cache(const interest_trie& interest) : interest_(interest), slots_(initial_entries) {}

match_cache::~match_cache() {
  for (const slot& one : slots_) delete one.entry;
}

cached_match& match_cache::look_up(std::string_view subject) {
  const std::uint64_t hash = hash64(subject);
  const std::size_t set = set_of(hash);
  for (std::size_t way = 0; way < ways; ++way) {
    slot& one = slots_[set + way];
    if (one.hash != hash || one.entry == nullptr || one.entry->subject != subject) continue;
    if (one.entry->generation == generation_) {
      ++hits_;
      return *(last_ = one.entry);
    }
    ++misses_;
    if (one.entry->pins != 0) {
      receivers_held_ -= room_of(*one.entry);
      one.entry->orphaned = true;
      one.entry = new cached_match;
    }
    fill(*one.entry, subject, hash);
    return *(last_ = one.entry);
  }
  ++misses_;
  slot& place = place_for(hash);
  if (place.entry == nullptr) {
    place.entry = new cached_match;
    ++size_;
  } else if (place.entry->pins != 0) {
    receivers_held_ -= room_of(*place.entry);
    place.entry->orphaned = true;
    place.entry = new cached_match;
  }
  place.hash = hash;
  fill(*place.entry, subject, hash);
  return *(last_ = place.entry);
}

match_cache::slot& match_cache::place_for(std::uint64_t hash) {
  while (true) {
    const std::size_t set = set_of(hash);
    for (std::size_t way = 0; way < ways; ++way)
      if (slots_[set + way].entry == nullptr) return slots_[set + way];
    if (slots_.size() >= maximum_entries) {
      for (std::size_t way = 0; way < ways; ++way)
        if (slots_[set + way].entry->generation != generation_) return slots_[set + way];
      return slots_[set + (victim_++ % ways)];
    }
    grow();
  }
}

// Each set splits into two, so that everything finds a place again.
void match_cache::grow() {
  std::vector<slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const slot& one : old) {
    if (one.entry == nullptr) continue;
    slot* place = &slots_[set_of(one.hash)];
    while (place->entry != nullptr) ++place;
    *place = one;
  }
}

// Rare: many subjects that each reach very many. What a publish at hand uses goes when it is done.
void match_cache::drop_all_but(const cached_match& kept) {
  for (slot& one : slots_) {
    if (one.entry == nullptr || one.entry == &kept) continue;
    receivers_held_ -= room_of(*one.entry);
    if (one.entry->pins != 0)
      one.entry->orphaned = true;
    else
      delete one.entry;
    one = {};
    --size_;
  }
}

void match_cache::fill(cached_match& entry, std::string_view subject, std::uint64_t hash) {
  receivers_held_ -= room_of(entry);
  entry.subject.assign(subject);
  entry.hash = hash;
  entry.generation = disabled_ ? 0 : generation_;
  entry.plain.clear();
  entry.group_count = 0;
  interest_.match(subject, [&entry](const trie_node& node) {
    for (trie_entry* one = node.plain; one != nullptr; one = one->next) entry.plain.push_back(one);
    for (trie_group* group = node.groups; group != nullptr; group = group->next) {
      // Members of all matching subjects are one group when the queue has one name (core 2.5).
      std::size_t at = 0;
      while (at < entry.group_count && entry.groups[at].name != group->name) ++at;
      if (at == entry.group_count) {
        if (entry.groups.size() == at) entry.groups.emplace_back();
        entry.groups[at].members.clear();
        entry.groups[at].name = group->name;
        ++entry.group_count;
      }
      for (trie_entry* one = group->first; one != nullptr; one = one->next) entry.groups[at].members.push_back(one);
    }
  });
  receivers_held_ += room_of(entry);
  if (receivers_held_ > maximum_receivers) drop_all_but(entry);
}

void match_cache::interest_changed(std::string_view pattern, bool wildcard) {
  if (wildcard) {
    ++generation_;
    return;
  }
  const std::uint64_t hash = hash64(pattern);
  const std::size_t set = set_of(hash);
  for (std::size_t way = 0; way < ways; ++way) {
    slot& one = slots_[set + way];
    if (one.entry != nullptr && one.hash == hash && one.entry->subject == pattern) one.entry->generation = 0;
  }
}

void match_cache::disable() {
  disabled_ = true;
  ++generation_;
}

}  // namespace tern::routing
