// Subject patterns with values, asked with literal subjects: who wants this message? Consumers by their filters, so
// that a publish wakes only those that match; and whether a new filter overlaps one that is there.
//
// A trie over tokens. One thread. Visitors must not change it.
#pragma once

#include "storage/index/subject_pattern.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tern::storage {

// Invariant: every node but the root leads to a value. Values are small and comparable: pointers, numbers. The same
// value may stand under several patterns, and then is visited once for each that matches.
template <class Value>
class filter_trie {
 public:
  void insert(std::string_view pattern, Value value) {
    ++size_;
    if (is_deep(pattern)) {
      deep_.emplace_back(pattern, std::move(value));
      return;
    }
    node* at = &root_;
    token_reader tokens{pattern};
    while (!tokens.done) {
      const auto token = tokens.next();
      if (token == ">" && tokens.done) {
        at->tail.push_back(std::move(value));
        return;
      }
      at = &at->child(token);
    }
    at->here.push_back(std::move(value));
  }

  // One entry of that pattern and value. False when there is none.
  bool remove(std::string_view pattern, const Value& value) {
    const bool removed =
        is_deep(pattern) ? remove_deep(pattern, value) : remove_below(root_, token_reader{pattern}, value);
    size_ -= removed;
    return removed;
  }

  template <class Visit>
  void for_each_match(std::string_view subject, Visit&& visit) const {
    auto always = [&](const Value& value) {
      visit(value);
      return true;
    };
    match(subject, always);
  }

  bool any_match(std::string_view subject) const {
    auto stop = [](const Value&) { return false; };
    return !match(subject, stop);
  }

  // Some subject matches `pattern` and a pattern that is stored.
  bool collides(std::string_view pattern) const {
    auto stop = [](const Value&) { return false; };
    return !overlap(pattern, stop);
  }

  // The values of all stored patterns that some subject of `pattern` matches.
  template <class Visit>
  void for_each_overlap(std::string_view pattern, Visit&& visit) const {
    auto always = [&](const Value& value) {
      visit(value);
      return true;
    };
    overlap(pattern, always);
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  struct node {
    std::unordered_map<std::string, std::unique_ptr<node>, text_hash, std::equal_to<>> children;
    std::unique_ptr<node> star;
    std::vector<Value> here;  // patterns that end here
    std::vector<Value> tail;  // patterns that end here with `>`

    node& child(std::string_view token) {
      auto& place = token == "*" ? star : children.try_emplace(std::string(token)).first->second;
      if (place == nullptr) place = std::make_unique<node>();
      return *place;
    }
    bool bare() const { return children.empty() && star == nullptr && here.empty() && tail.empty(); }
  };

  // The trie is walked by recursion, so what is deeper than any honest subject stands in a list.
  static bool is_deep(std::string_view pattern) {
    return std::count(pattern.begin(), pattern.end(), '.') >= static_cast<std::ptrdiff_t>(max_depth);
  }
  bool remove_deep(std::string_view pattern, const Value& value) {
    const auto found = std::find_if(deep_.begin(), deep_.end(),
                                    [&](const auto& each) { return each.first == pattern && each.second == value; });
    if (found == deep_.end()) return false;
    deep_.erase(found);
    return true;
  }

  template <class Visit>
  bool match(std::string_view subject, Visit& visit) const {
    if (!match_below(root_, token_reader{subject}, visit)) return false;
    for (const auto& [pattern, value] : deep_) {
      if (pattern_matches(pattern, subject) && !visit(value)) return false;
    }
    return true;
  }
  template <class Visit>
  bool overlap(std::string_view wanted, Visit& visit) const {
    if (!overlap_below(root_, token_reader{wanted}, visit)) return false;
    for (const auto& [pattern, value] : deep_) {
      if (patterns_overlap(pattern, wanted) && !visit(value)) return false;
    }
    return true;
  }

  static bool take(std::vector<Value>& from, const Value& value) {
    const auto found = std::find(from.begin(), from.end(), value);
    if (found == from.end()) return false;
    from.erase(found);
    return true;
  }

  static bool remove_below(node& at, token_reader tokens, const Value& value) {
    if (tokens.done) return take(at.here, value);
    const auto token = tokens.next();
    if (token == ">" && tokens.done) return take(at.tail, value);
    if (token == "*") {
      if (at.star == nullptr || !remove_below(*at.star, tokens, value)) return false;
      if (at.star->bare()) at.star.reset();
      return true;
    }
    const auto found = at.children.find(token);
    if (found == at.children.end() || !remove_below(*found->second, tokens, value)) return false;
    if (found->second->bare()) at.children.erase(found);
    return true;
  }

  template <class Visit>
  static bool visit_all(const std::vector<Value>& values, Visit& visit) {
    for (const auto& value : values) {
      if (!visit(value)) return false;
    }
    return true;
  }

  // These return false when the visitor did.
  template <class Visit>
  static bool match_below(const node& at, token_reader tokens, Visit& visit) {
    if (tokens.done) return visit_all(at.here, visit);
    if (!visit_all(at.tail, visit)) return false;
    const auto token = tokens.next();
    if (at.star != nullptr && !match_below(*at.star, tokens, visit)) return false;
    if (at.children.empty()) return true;
    const auto found = at.children.find(token);
    return found == at.children.end() || match_below(*found->second, tokens, visit);
  }

  template <class Visit>
  static bool visit_below(const node& at, Visit& visit) {
    if (!visit_all(at.here, visit) || !visit_all(at.tail, visit)) return false;
    if (at.star != nullptr && !visit_below(*at.star, visit)) return false;
    for (const auto& [token, child] : at.children) {
      if (!visit_below(*child, visit)) return false;
    }
    return true;
  }

  template <class Visit>
  static bool overlap_below(const node& at, token_reader tokens, Visit& visit) {
    if (tokens.done) return visit_all(at.here, visit);
    if (!visit_all(at.tail, visit)) return false;
    const auto token = tokens.next();
    const bool everything = token == ">" && tokens.done;
    auto descend = [&](const node& child) {
      return everything ? visit_below(child, visit) : overlap_below(child, tokens, visit);
    };
    if (at.star != nullptr && !descend(*at.star)) return false;
    if (everything || token == "*") {
      for (const auto& [name, child] : at.children) {
        if (!descend(*child)) return false;
      }
      return true;
    }
    const auto found = at.children.find(token);
    return found == at.children.end() || descend(*found->second);
  }

  static constexpr std::size_t max_depth = 128;

  node root_;
  std::vector<std::pair<std::string, Value>> deep_;
  std::size_t size_ = 0;
};

}  // namespace tern::storage
