#include "routing/interest_trie.hpp"

#include "base/hash.hpp"

#include <cassert>
#include <utility>

namespace tern::routing {
namespace {

// Calls step(token) for each token until it returns false.
template <class Step>
bool for_each_token(std::string_view subject, Step&& step) {
  std::size_t begin = 0;
  while (true) {
    const std::size_t dot = subject.find('.', begin);
    if (dot == std::string_view::npos) return step(subject.substr(begin));
    if (!step(subject.substr(begin, dot - begin))) return false;
    begin = dot + 1;
  }
}

void destroy_below(trie_node* node) {
  node->children.each([](trie_node* child) { destroy_below(child), delete child; });
  for (trie_node* child : {node->star, node->rest})
    if (child != nullptr) destroy_below(child), delete child;
  while (node->groups != nullptr) delete std::exchange(node->groups, node->groups->next);
}

void link(trie_entry*& first, trie_entry& entry) {
  entry.previous = nullptr;
  entry.next = first;
  if (first != nullptr) first->previous = &entry;
  first = &entry;
}

void unlink(trie_entry*& first, trie_entry& entry) {
  if (entry.previous != nullptr)
    entry.previous->next = entry.next;
  else
    first = entry.next;
  if (entry.next != nullptr) entry.next->previous = entry.previous;
  entry.next = entry.previous = nullptr;
}

}  // namespace

bool has_wildcard(std::string_view pattern) {
  bool found = false;
  for_each_token(pattern, [&found](std::string_view token) {
    found = token == "*" || token == ">";
    return !found;
  });
  return found;
}

trie_node* trie_children::find(std::string_view token, std::uint64_t hash) const {
  if (capacity_ == 0) return size_ == 1 && one_->hash == hash && one_->token == token ? one_ : nullptr;
  for (std::size_t at = hash & (capacity_ - 1);; at = (at + 1) & (capacity_ - 1)) {
    trie_node* node = table_[at];
    if (node == nullptr) return nullptr;
    if (node->hash == hash && node->token == token) return node;
  }
}

void trie_children::insert(trie_node* child) {
  if (capacity_ == 0 && size_ == 0) {
    one_ = child;
    size_ = 1;
    return;
  }
  if ((size_ + 1) * 4 > capacity_ * 3) grow();
  std::size_t at = child->hash & (capacity_ - 1);
  while (table_[at] != nullptr) at = (at + 1) & (capacity_ - 1);
  table_[at] = child;
  ++size_;
}

void trie_children::grow() {
  trie_node* single = one_;
  const std::uint32_t old_capacity = capacity_;
  trie_node** old = old_capacity == 0 ? &single : table_;
  const std::uint32_t count = old_capacity == 0 ? size_ : old_capacity;
  const std::uint32_t capacity = old_capacity == 0 ? 4 : old_capacity * 2;
  auto** table = new trie_node*[capacity]();
  for (std::uint32_t from = 0; from < count; ++from) {
    if (old[from] == nullptr) continue;
    std::size_t at = old[from]->hash & (capacity - 1);
    while (table[at] != nullptr) at = (at + 1) & (capacity - 1);
    table[at] = old[from];
  }
  if (old_capacity != 0) delete[] old;
  table_ = table;
  capacity_ = capacity;
}

void trie_children::erase(const trie_node* child) {
  if (--size_ == 0) {
    clear();
    return;
  }
  const std::size_t mask = capacity_ - 1;
  std::size_t hole = child->hash & mask;
  while (table_[hole] != child) hole = (hole + 1) & mask;
  // Moves later members of the probe chain back, so that no look-up stops early.
  for (std::size_t at = (hole + 1) & mask; table_[at] != nullptr; at = (at + 1) & mask) {
    const std::size_t home = table_[at]->hash & mask;
    if (((at - home) & mask) < ((at - hole) & mask)) continue;
    table_[hole] = table_[at];
    hole = at;
  }
  table_[hole] = nullptr;
}

void trie_children::clear() {
  if (capacity_ != 0) delete[] table_;
  one_ = nullptr;
  capacity_ = size_ = 0;
}

interest_trie::interest_trie() : root_(std::make_unique<trie_node>()) {}

interest_trie::~interest_trie() { destroy_below(root_.get()); }

void interest_trie::insert(trie_entry& entry) {
  trie_node* node = root_.get();
  for_each_token(entry.subject, [&node](std::string_view token) {
    trie_node** special = token == "*" ? &node->star : token == ">" ? &node->rest : nullptr;
    const std::uint64_t hash = special != nullptr ? 0 : hash64(token);
    trie_node* child = special != nullptr ? *special : node->children.find(token, hash);
    if (child == nullptr) {
      child = new trie_node;
      child->token = token;
      child->hash = hash;
      child->parent = node;
      if (special != nullptr)
        *special = child;
      else
        node->children.insert(child);
    }
    node = child;
    return true;
  });
  entry.at = node;
  ++size_;
  if (entry.queue.empty()) {
    link(node->plain, entry);
    ++node->plain_size;
    return;
  }
  trie_group* group = node->groups;
  while (group != nullptr && group->name != entry.queue) group = group->next;
  if (group == nullptr) {
    group = new trie_group{entry.queue, nullptr, node->groups, 0};
    node->groups = group;
  }
  link(group->first, entry);
  ++group->size;
  entry.group = group;
}

void interest_trie::remove(trie_entry& entry) {
  trie_node* node = entry.at;
  assert(node != nullptr);
  --size_;
  entry.at = nullptr;
  if (trie_group* group = std::exchange(entry.group, nullptr); group != nullptr) {
    unlink(group->first, entry);
    if (--group->size == 0) {
      trie_group** place = &node->groups;
      while (*place != group) place = &(*place)->next;
      *place = group->next;
      delete group;
    }
  } else {
    unlink(node->plain, entry);
    --node->plain_size;
  }
  prune(node);
}

void interest_trie::prune(trie_node* node) {
  while (node->parent != nullptr && node->plain == nullptr && node->groups == nullptr && node->children.empty() &&
         node->star == nullptr && node->rest == nullptr) {
    trie_node* parent = node->parent;
    if (parent->star == node)
      parent->star = nullptr;
    else if (parent->rest == node)
      parent->rest = nullptr;
    else
      parent->children.erase(node);
    delete node;
    node = parent;
  }
}

const trie_node* interest_trie::find(std::string_view pattern) const {
  const trie_node* node = root_.get();
  for_each_token(pattern, [&node](std::string_view token) {
    node = token == "*" ? node->star : token == ">" ? node->rest : node->children.find(token, hash64(token));
    return node != nullptr;
  });
  return node;
}

void interest_trie::split(std::string_view subject) const {
  tokens_.clear();
  const bool well_formed = for_each_token(subject, [this](std::string_view token) {
    if (token.empty()) return false;
    tokens_.push_back({token, hash64(token)});
    return true;
  });
  if (!well_formed) tokens_.clear();
}

}  // namespace tern::routing
