#include "storage/index/subject_index.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>

namespace tern::storage {
namespace {

// What a subject says at a depth: 0 past its end, else its byte plus one. So "a" sorts before "a.b" and is no prefix of
// it.
unsigned symbol_at(std::string_view subject, std::size_t depth) {
  return depth < subject.size() ? static_cast<unsigned char>(subject[depth]) + 1u : 0u;
}

constexpr std::array<std::uint16_t, 8> capacities = {2, 4, 7, 10, 16, 27, 48, 257};
constexpr std::size_t dense = capacities.size() - 1;  // this class is indexed by symbol

}  // namespace

// A branch at byte `depth`. Sparse: sorted keys (symbol - 1), then children; the child of symbol 0, where `has_end`,
// comes first and its key means nothing. Dense: a child for each symbol, 0 where there is none. `leaves` counts the
// subjects with messages below.
struct subject_index::node {
  std::uint32_t leaves;
  std::uint32_t depth;
  std::uint16_t count;
  std::uint8_t size_class;
  std::uint8_t has_end;

  static std::size_t children_offset(std::size_t size_class) {
    return size_class == dense ? sizeof(node) : (sizeof(node) + capacities[size_class] + 3) & ~std::size_t{3};
  }
  static std::size_t bytes(std::size_t size_class) {
    return children_offset(size_class) + capacities[size_class] * sizeof(reference);
  }
  unsigned char* keys() { return reinterpret_cast<unsigned char*>(this + 1); }
  reference* children() {
    return reinterpret_cast<reference*>(reinterpret_cast<char*>(this) + children_offset(size_class));
  }
  // Places run to this; in a dense node some of them are empty.
  unsigned places() const { return size_class == dense ? capacities[dense] : count; }
  unsigned symbol_of(unsigned place) {
    if (size_class == dense) return place;
    return place == 0 && has_end ? 0 : keys()[place] + 1u;
  }

  reference* child(unsigned symbol) {
    if (size_class == dense) return children()[symbol] != 0 ? &children()[symbol] : nullptr;
    if (symbol == 0) return has_end ? &children()[0] : nullptr;
    const unsigned char* begin = keys() + has_end;
    const auto* found = static_cast<const unsigned char*>(
        std::memchr(begin, static_cast<int>(symbol - 1), static_cast<std::size_t>(count - has_end)));
    return found != nullptr ? &children()[found - keys()] : nullptr;
  }

  reference any_child() {
    unsigned place = 0;
    while (children()[place] == 0) ++place;
    return children()[place];
  }

  // There is room and no such child.
  void add(unsigned symbol, reference what) {
    if (size_class == dense) {
      children()[symbol] = what;
    } else {
      unsigned place = 0;
      if (symbol != 0) {
        place = has_end;
        while (place < count && keys()[place] < symbol - 1) ++place;
      }
      const unsigned after = count - place;
      std::memmove(keys() + place + 1, keys() + place, after);
      std::memmove(children() + place + 1, children() + place, after * sizeof(reference));
      keys()[place] = static_cast<unsigned char>(symbol - 1);
      children()[place] = what;
    }
    has_end |= symbol == 0;
    ++count;
  }

  void remove(unsigned symbol) {
    reference* what = child(symbol);
    if (size_class == dense) {
      *what = 0;
    } else {
      const auto place = static_cast<std::size_t>(what - children());
      const std::size_t after = count - place - 1;
      std::memmove(keys() + place, keys() + place + 1, after);
      std::memmove(children() + place, children() + place + 1, after * sizeof(reference));
    }
    if (symbol == 0) has_end = 0;
    --count;
  }
};

subject_index::subject_index() = default;
subject_index::~subject_index() = default;

// --- numbers and names ---

std::string_view subject_index::name(subject_id subject) const {
  if (subject == no_subject || entry_of(subject).name == 0) return {};
  const char* stored = names_.at(entry_of(subject).name);
  std::uint32_t length;
  std::memcpy(&length, stored, sizeof length);
  return {stored + sizeof length, length};
}

subject_id subject_index::new_entry(std::string_view subject) {
  subject_id id = free_ids_;
  if (id != no_subject) {
    free_ids_ = entry_of(id).holds;
  } else {
    id = id_bound_++;
    assert(id < leaf_bit);
    if (id >> page_bits >= pages_.size()) pages_.push_back(std::make_unique<page>());
  }
  auto& made = entry_of(id);
  const auto length = static_cast<std::uint32_t>(subject.size());
  made.name = names_.allocate(sizeof length + subject.size());
  made.holds = 0;
  char* stored = names_.at(made.name);
  std::memcpy(stored, &length, sizeof length);
  std::memcpy(stored + sizeof length, subject.data(), subject.size());
  return id;
}

void subject_index::free_if_unused(subject_id subject) {
  auto& what = entry_of(subject);
  if (what.holds != 0 || !what.postings.empty()) return;
  const auto text = name(subject);
  remove_leaf(text);
  names_.free(what.name, sizeof(std::uint32_t) + text.size());
  what.name = 0;
  what.holds = free_ids_;
  free_ids_ = subject;
}

subject_id subject_index::intern(std::string_view subject) {
  if (const subject_id known = find(subject); known != no_subject) return known;
  const subject_id id = new_entry(subject);
  insert_leaf(subject, id);
  return id;
}

void subject_index::hold(subject_id subject) { ++entry_of(subject).holds; }

void subject_index::release(subject_id subject) {
  assert(entry_of(subject).holds != 0);
  --entry_of(subject).holds;
  free_if_unused(subject);
}

void subject_index::add(subject_id subject, sequence number) {
  auto& what = entry_of(subject);
  if (what.postings.empty()) {
    ++subjects_;
    change_weight(name(subject), 1);
  }
  what.postings.push_back(number);
  if (!watchers_.empty()) {
    watchers_.for_each_match(name(subject), [&](subject_watcher* who) { who->on_added(subject, number); });
  }
}

bool subject_index::remove(subject_id subject, sequence number) {
  auto& what = entry_of(subject);
  if (!what.postings.remove(number)) return false;
  if (what.postings.empty()) on_emptied(subject);
  return true;
}

void subject_index::remove_everything() {
  std::vector<subject_id> all;
  for_each_match(">", 0, [&](subject_id id) {
    all.push_back(id);
    return true;
  });
  for (const subject_id id : all) {
    entry_of(id).postings.clear();
    on_emptied(id);
  }
}

void subject_index::on_emptied(subject_id subject) {
  --subjects_;
  change_weight(name(subject), -1);
  if (!watchers_.empty()) {
    watchers_.for_each_match(name(subject), [&](subject_watcher* who) { who->on_emptied(subject); });
  }
  free_if_unused(subject);
}

void subject_index::watch(std::string_view pattern, subject_watcher& who) { watchers_.insert(pattern, &who); }
void subject_index::unwatch(std::string_view pattern, subject_watcher& who) { watchers_.remove(pattern, &who); }

// --- the tree ---

subject_id subject_index::find(std::string_view subject) const {
  reference at = root_;
  while (at != 0 && (at & leaf_bit) == 0) {
    auto& here = node_at(at);
    if (here.depth > subject.size()) return no_subject;
    const reference* child = here.child(symbol_at(subject, here.depth));
    if (child == nullptr) return no_subject;
    at = *child;
  }
  const subject_id id = at & ~leaf_bit;
  return id != no_subject && name(id) == subject ? id : no_subject;
}

subject_id subject_index::any_leaf(reference below) const {
  while ((below & leaf_bit) == 0) below = node_at(below).any_child();
  return below & ~leaf_bit;
}

void subject_index::insert_leaf(std::string_view subject, subject_id id) {
  const reference leaf = id | leaf_bit;
  if (root_ == 0) {
    root_ = leaf;
    return;
  }
  // Any subject on the way agrees with the new one as far as the tree can tell; where it parts is the new branch.
  reference at = root_;
  while ((at & leaf_bit) == 0) {
    auto& here = node_at(at);
    const reference* child = here.depth <= subject.size() ? here.child(symbol_at(subject, here.depth)) : nullptr;
    at = child != nullptr ? *child : here.any_child();
  }
  const auto other = name(at & ~leaf_bit);
  const auto parting = std::mismatch(subject.begin(), subject.end(), other.begin(), other.end());
  const auto depth = static_cast<std::uint32_t>(parting.first - subject.begin());

  reference* place = &root_;
  while ((*place & leaf_bit) == 0 && node_at(*place).depth < depth) {
    auto& here = node_at(*place);
    place = here.child(symbol_at(subject, here.depth));
  }
  if ((*place & leaf_bit) == 0 && node_at(*place).depth == depth) {
    *place = with_child(*place, symbol_at(subject, depth), leaf);
    return;
  }
  const reference branch = make_node(depth, 0);
  auto& made = node_at(branch);
  made.leaves = weight_of(*place);
  made.add(symbol_at(other, depth), *place);
  made.add(symbol_at(subject, depth), leaf);
  *place = branch;
}

void subject_index::remove_leaf(std::string_view subject) {
  reference* place = &root_;
  while ((*place & leaf_bit) == 0) {
    auto& here = node_at(*place);
    const unsigned symbol = symbol_at(subject, here.depth);
    reference* child = here.child(symbol);
    if ((*child & leaf_bit) != 0) {
      *place = without_child(*place, symbol);
      return;
    }
    place = child;
  }
  root_ = 0;
}

void subject_index::change_weight(std::string_view subject, std::int32_t by) {
  reference at = root_;
  while ((at & leaf_bit) == 0) {
    auto& here = node_at(at);
    here.leaves += static_cast<std::uint32_t>(by);
    at = *here.child(symbol_at(subject, here.depth));
  }
}

std::uint32_t subject_index::weight_of(reference what) const {
  if ((what & leaf_bit) == 0) return node_at(what).leaves;
  return entry_of(what & ~leaf_bit).postings.empty() ? 0 : 1;
}

subject_index::reference subject_index::make_node(std::uint32_t depth, std::size_t size_class) {
  const reference made = nodes_.allocate(node::bytes(size_class));
  assert((made & leaf_bit) == 0);
  auto& here = *new (nodes_.at(made)) node{0, depth, 0, static_cast<std::uint8_t>(size_class), 0};
  if (size_class == dense) std::memset(here.children(), 0, capacities[dense] * sizeof(reference));
  return made;
}

void subject_index::free_node(reference what) { nodes_.free(what, node::bytes(node_at(what).size_class)); }

subject_index::reference subject_index::resized(reference what, std::size_t size_class) {
  auto& old = node_at(what);
  const reference made = make_node(old.depth, size_class);
  auto& here = node_at(made);
  here.leaves = old.leaves;
  for (unsigned place = 0; place < old.places(); ++place) {
    if (old.children()[place] != 0) here.add(old.symbol_of(place), old.children()[place]);
  }
  free_node(what);
  return made;
}

subject_index::reference subject_index::with_child(reference parent, unsigned symbol, reference child) {
  auto& here = node_at(parent);
  if (here.count == capacities[here.size_class]) parent = resized(parent, here.size_class + 1u);
  node_at(parent).add(symbol, child);
  return parent;
}

subject_index::reference subject_index::without_child(reference parent, unsigned symbol) {
  auto& here = node_at(parent);
  here.remove(symbol);
  if (here.count == 1) {
    const reference only = here.any_child();
    free_node(parent);
    return only;
  }
  // Smaller again, with some distance to where it grew.
  if (here.size_class != 0 && here.count * 4 < capacities[here.size_class - 1u] * 3) {
    return resized(parent, here.size_class - 1u);
  }
  return parent;
}

// --- patterns ---

// How far a pattern has been matched by the bytes of a subject so far.
struct subject_index::search {
  std::string_view pattern;

  enum class mode : std::uint8_t { literal, star, everything, nothing };
  struct progress {
    std::uint32_t place = 0;  // in the pattern; in a star token: behind it
    mode how = mode::literal;
  };
  // A subtree whose subjects agree up to byte `from`.
  struct frame {
    reference below;
    std::uint32_t from;
    progress reached;
  };

  progress enter_token(std::size_t place) const {
    const auto rest = pattern.substr(place);
    if (rest == ">") return {static_cast<std::uint32_t>(place), mode::everything};
    if (rest.starts_with('*') && (rest.size() == 1 || rest[1] == '.')) {
      return {static_cast<std::uint32_t>(place + 1), mode::star};
    }
    return {static_cast<std::uint32_t>(place), mode::literal};
  }

  progress consume(progress at, char byte) const {
    if (at.how == mode::star && byte != '.') return at;
    if (at.place == pattern.size() || pattern[at.place] != byte) return {0, mode::nothing};
    if (byte == '.') return enter_token(at.place + 1u);
    return {at.place + 1u, mode::literal};
  }

  progress consume(progress at, std::string_view bytes) const {
    for (const char byte : bytes) {
      if (at.how == mode::everything || at.how == mode::nothing) break;
      at = consume(at, byte);
    }
    return at;
  }

  bool complete(progress at) const {
    return at.how == mode::everything || (at.how != mode::nothing && at.place == pattern.size());
  }

  // Children that can match, the first on top of the stack.
  static void push_children(node& here, const search& by, progress reached, std::vector<frame>& stack) {
    const auto push = [&](unsigned symbol, reference child) {
      if (reached.how == mode::everything) {
        stack.push_back({child, 0, reached});
      } else if (symbol == 0) {
        if (by.complete(reached)) stack.push_back({child, 0, {0, mode::everything}});
      } else if (const auto after = by.consume(reached, static_cast<char>(symbol - 1)); after.how != mode::nothing) {
        stack.push_back({child, here.depth + 1, after});
      }
    };
    if (reached.how == mode::literal) {
      const unsigned symbol = symbol_at(by.pattern, reached.place);
      if (const reference* child = here.child(symbol); child != nullptr) push(symbol, *child);
      return;
    }
    for (unsigned place = here.places(); place-- != 0;) {
      if (const reference child = here.children()[place]; child != 0) push(here.symbol_of(place), child);
    }
  }
};

std::uint64_t subject_index::for_each_match(std::string_view pattern, std::uint64_t offset,
                                            function_ref<bool(subject_id)> visit) const {
  const search by{pattern};
  std::vector<search::frame> stack;
  if (root_ != 0) stack.push_back({root_, 0, by.enter_token(0)});
  std::uint64_t total = 0;
  bool open = true;
  while (!stack.empty()) {
    auto [below, from, reached] = stack.back();
    stack.pop_back();
    const bool leaf = (below & leaf_bit) != 0;
    if (reached.how != search::mode::everything) {
      // What the subjects below agree on, beyond what has been matched, is read from any of them.
      const std::uint32_t to = leaf ? std::numeric_limits<std::uint32_t>::max() : node_at(below).depth;
      if (to > from) reached = by.consume(reached, name(any_leaf(below)).substr(from, to - from));
      if (reached.how == search::mode::nothing || (leaf && !by.complete(reached))) continue;
    }
    if (leaf || reached.how == search::mode::everything) {
      const std::uint32_t weight = weight_of(below);
      if (!open || weight == 0 || total + weight <= offset) {
        total += weight;
        continue;
      }
      if (leaf) {
        ++total;
        open = visit(below & ~leaf_bit);
        continue;
      }
    }
    search::push_children(node_at(below), by, reached, stack);
  }
  return total;
}

std::uint64_t subject_index::match_count(std::string_view pattern) const {
  return for_each_match(pattern, std::numeric_limits<std::uint64_t>::max(), [](subject_id) { return true; });
}

std::uint64_t subject_index::count_messages(std::string_view pattern, sequence from) const {
  std::uint64_t count = 0;
  for_each_match(pattern, 0, [&](subject_id subject) {
    count += postings(subject).count_from(from);
    return true;
  });
  return count;
}

std::optional<sequence> subject_index::first_match(std::string_view pattern, sequence from) const {
  std::optional<sequence> best;
  for_each_match(pattern, 0, [&](subject_id subject) {
    if (const auto found = next(subject, from); found && (!best || *found < *best)) best = found;
    return true;
  });
  return best;
}

std::optional<sequence> subject_index::last_match(std::string_view pattern, sequence up_to) const {
  std::optional<sequence> best;
  for_each_match(pattern, 0, [&](subject_id subject) {
    if (const auto found = previous(subject, up_to); found && (!best || *found > *best)) best = found;
    return true;
  });
  return best;
}

std::size_t subject_index::heap_bytes() const {
  std::size_t bytes = nodes_.heap_bytes() + names_.heap_bytes() + pages_.size() * sizeof(page);
  for (subject_id subject = 1; subject < id_bound_; ++subject) bytes += entry_of(subject).postings.heap_bytes();
  return bytes;
}

}  // namespace tern::storage
