// The subscriptions of one account, by subject: a trie of tokens in which `*` and `>` have places of their own.
// Owned by the account; one shard. Knows nothing of caching or delivery.
//
// Invariants: a node without subscriptions and without children does not exist (the root excepted); each subscription
// hangs in the list of exactly one node, or in the list of one queue group of that node.
#pragma once

#include "routing/subscription.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tern::routing {

struct trie_node;

// Members of one queue group on one subject.
struct trie_group {
  std::string name;
  struct trie_entry* first = nullptr;
  trie_group* next = nullptr;
  std::size_t size = 0;
};

// A subscription with its place in the trie.
struct trie_entry : subscription {
  trie_node* at = nullptr;
  trie_group* group = nullptr;  // null for a plain one
  trie_entry* next = nullptr;
  trie_entry* previous = nullptr;
};

// The literal children of a node: none, one, or an open-addressed table of a power of two.
class trie_children {
 public:
  trie_children() = default;
  ~trie_children() { clear(); }
  trie_children(const trie_children&) = delete;
  trie_children& operator=(const trie_children&) = delete;

  trie_node* find(std::string_view token, std::uint64_t hash) const;
  void insert(trie_node* child);
  void erase(const trie_node* child);
  bool empty() const { return size_ == 0; }
  template <class Visit>
  void each(Visit&& visit) const {
    if (capacity_ == 0) {
      if (size_ == 1) visit(one_);
      return;
    }
    for (std::size_t at = 0; at < capacity_; ++at)
      if (table_[at] != nullptr) visit(table_[at]);
  }

 private:
  void clear();
  void grow();

  union {
    trie_node* one_ = nullptr;  // while capacity_ is 0
    trie_node** table_;
  };
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = 0;
};

struct trie_node {
  std::string token;
  std::uint64_t hash = 0;
  trie_node* parent = nullptr;
  trie_children children;
  trie_node* star = nullptr;  // the child `*`
  trie_node* rest = nullptr;  // the child `>`
  trie_entry* plain = nullptr;
  trie_group* groups = nullptr;
  std::size_t plain_size = 0;
};

class interest_trie {
 public:
  interest_trie();
  ~interest_trie();
  interest_trie(const interest_trie&) = delete;
  interest_trie& operator=(const interest_trie&) = delete;

  // entry.subject and entry.queue are set; the caller owns the entry and keeps it alive until after remove().
  void insert(trie_entry& entry);
  void remove(trie_entry& entry);
  std::size_t size() const { return size_; }

  // The node of exactly this pattern (wildcards compared as text), or null.
  const trie_node* find(std::string_view pattern) const;

  // Calls visit(const trie_node&) for each node whose pattern matches the subject, in no particular order. A subject
  // with an empty token matches nothing; `*` and `>` in it are text (core 2.4).
  template <class Visit>
  void match(std::string_view subject, Visit&& visit) const {
    split(subject);
    if (!tokens_.empty()) match_from(*root_, 0, visit);
  }

  // Every subscription, in no particular order.
  template <class Visit>
  void each(Visit&& visit) const {
    each_below(*root_, visit);
  }

 private:
  struct token_view {
    std::string_view text;
    std::uint64_t hash;
  };

  void split(std::string_view subject) const;  // fills tokens_; empty when a token is empty
  void prune(trie_node* node);

  template <class Visit>
  void match_from(const trie_node& node, std::size_t depth, Visit& visit) const {
    if (node.rest != nullptr) visit(*node.rest);
    const bool last = depth + 1 == tokens_.size();
    const token_view& token = tokens_[depth];
    if (const trie_node* child = node.children.find(token.text, token.hash)) {
      if (last)
        visit(*child);
      else
        match_from(*child, depth + 1, visit);
    }
    if (node.star != nullptr) {
      if (last)
        visit(*node.star);
      else
        match_from(*node.star, depth + 1, visit);
    }
  }

  template <class Visit>
  static void each_below(const trie_node& node, Visit& visit) {
    for (const trie_entry* entry = node.plain; entry != nullptr; entry = entry->next) visit(*entry);
    for (const trie_group* group = node.groups; group != nullptr; group = group->next)
      for (const trie_entry* entry = group->first; entry != nullptr; entry = entry->next) visit(*entry);
    node.children.each([&visit](const trie_node* child) { each_below(*child, visit); });
    if (node.star != nullptr) each_below(*node.star, visit);
    if (node.rest != nullptr) each_below(*node.rest, visit);
  }

  std::unique_ptr<trie_node> root_;
  std::size_t size_ = 0;
  mutable std::vector<token_view> tokens_;  // of the subject being matched; kept to save its memory
};

// Some token of the pattern is `*`, or its last one is `>`.
bool has_wildcard(std::string_view pattern);

}  // namespace tern::routing
