#include "routing/account.hpp"

#include "base/hash.hpp"
#include "routing/interest_trie.hpp"
#include "routing/match_cache.hpp"

#include <algorithm>
#include <cassert>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tern::routing {
namespace {

struct text_hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return hash64(text); }
};

struct watch_state {
  std::function<void()> changed;
  bool alive = true;
  bool queued = false;  // waits for the end of the turn
};

using watch_table =
    std::unordered_map<std::string, std::vector<std::shared_ptr<watch_state>>, text_hash, std::equal_to<>>;

class watch_handle final : public account::interest_watch {
 public:
  watch_handle(std::shared_ptr<watch_table> table, std::string subject, std::shared_ptr<watch_state> state)
      : table_(std::move(table)), subject_(std::move(subject)), state_(std::move(state)) {}
  ~watch_handle() override {
    state_->alive = false;
    const auto found = table_->find(subject_);
    if (found == table_->end()) return;
    std::erase(found->second, state_);
    if (found->second.empty()) table_->erase(found);
  }

 private:
  std::shared_ptr<watch_table> table_;
  std::string subject_;
  std::shared_ptr<watch_state> state_;
};

// A change of interest by a callback is told in the same end_turn(), but callbacks that chase each other go on next
// turn.
constexpr int watch_rounds = 8;

}  // namespace

struct account::implementation {
  explicit implementation(std::uint64_t seed) : cache(interest), random_state(seed) {}

  interest_trie interest;
  match_cache cache;
  std::uint64_t random_state;
  std::uint64_t inserts = 0, removes = 0;
  int publishing = 0;  // depth of nested publishes
  const publisher* current = nullptr;
  account::subscription_observer* observer = nullptr;
  std::vector<trie_entry*> removed;
  std::vector<subscription*> undecided;  // members of a group not tried yet; kept to save its memory
  std::shared_ptr<watch_table> watches = std::make_shared<watch_table>();
  std::vector<std::shared_ptr<watch_state>> told;

  std::uint64_t draw() {  // splitmix64
    std::uint64_t z = (random_state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // Scaled without division: uniform to within 2^-32 for any group size.
  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>(((draw() >> 32) * static_cast<std::uint64_t>(bound)) >> 32);
  }

  static bool offer(subscription& to, const message& what, const publisher& from) {
    if (to.removed || (!from.echo && to.to == from.self)) return false;
    return to.to->deliver(to, what);
  }

  bool offer_to_group(const std::vector<subscription*>& members, const message& what, const publisher& from) {
    const std::size_t first = below(members.size());
    if (offer(*members[first], what, from)) return true;
    if (members.size() == 1) return false;
    // The others, in random order without repetition: each that would take it is as likely as any other (core 2.6).
    std::vector<subscription*> rest = std::exchange(undecided, {});
    rest.assign(members.begin(), members.end());
    rest[first] = rest.back();
    rest.pop_back();
    bool taken = false;
    while (!taken && !rest.empty()) {
      const std::size_t at = below(rest.size());
      subscription* member = rest[at];
      rest[at] = rest.back();
      rest.pop_back();
      taken = offer(*member, what, from);
    }
    rest.clear();
    undecided = std::move(rest);
    return taken;
  }

  void changed(const trie_entry& entry) {
    const bool wildcard = has_wildcard(entry.subject);
    cache.interest_changed(entry.subject, wildcard);
    if (wildcard || watches->empty()) return;
    const auto found = watches->find(std::string_view(entry.subject));
    if (found == watches->end()) return;
    for (const auto& watch : found->second) {
      if (std::exchange(watch->queued, true)) continue;
      told.push_back(watch);
    }
  }
};

account::account(std::string name, std::uint64_t seed)
    : name_(std::move(name)), implementation_(std::make_unique<implementation>(seed)) {}

account::~account() {
  std::vector<const trie_entry*> entries;
  implementation_->interest.each([&entries](const trie_entry& entry) { entries.push_back(&entry); });
  for (const trie_entry* entry : entries) delete entry;
  for (const trie_entry* entry : implementation_->removed) delete entry;
}

subscription* account::subscribe(receiver& to, std::string_view subject, std::string_view queue, std::string_view sid) {
  auto* entry = new trie_entry;
  entry->to = &to;
  entry->subject = subject;
  entry->queue = queue;
  entry->sid = sid;
  implementation_->interest.insert(*entry);
  ++implementation_->inserts;
  implementation_->changed(*entry);
  if (implementation_->observer != nullptr) implementation_->observer->on_subscribed(*entry);
  return entry;
}

void account::unsubscribe(subscription* what) {
  auto* entry = static_cast<trie_entry*>(what);
  if (std::exchange(entry->removed, true)) return;
  if (implementation_->observer != nullptr) implementation_->observer->on_unsubscribed(*entry);
  implementation_->interest.remove(*entry);
  ++implementation_->removes;
  implementation_->changed(*entry);
  implementation_->removed.push_back(entry);
}

bool account::has_interest(std::string_view subject) { return !implementation_->cache.find(subject).empty(); }

subscription* account::find_plain(const receiver& of, std::string_view subject) {
  for (subscription* to : implementation_->cache.find(subject).plain)
    if (to->to == &of && !to->removed) return to;
  return nullptr;
}

std::size_t account::literal_interest(std::string_view subject, std::string_view queue) {
  const trie_node* node = has_wildcard(subject) ? nullptr : implementation_->interest.find(subject);
  if (node == nullptr) return 0;
  if (queue.empty()) return node->plain_size;
  for (const trie_group* group = node->groups; group != nullptr; group = group->next)
    if (group->name == queue) return group->size;
  return 0;
}

void account::for_each_subscription(const std::function<void(const subscription&)>& visit) const {
  implementation_->interest.each([&visit](const trie_entry& entry) { visit(entry); });
}

std::unique_ptr<account::interest_watch> account::watch_literal(std::string_view subject,
                                                                std::function<void()> changed) {
  auto state = std::make_shared<watch_state>();
  state->changed = std::move(changed);
  (*implementation_->watches)[std::string(subject)].push_back(state);
  return std::make_unique<watch_handle>(implementation_->watches, std::string(subject), std::move(state));
}

std::size_t account::publish(const message& what, const publisher& from) {
  return publish_to(what.subject, what, from);
}

std::size_t account::publish_to(std::string_view route, const message& what, const publisher& from) {
  implementation& own = *implementation_;
  cached_match& match = own.cache.find(route);
  if (match.empty()) return 0;
  match_cache::pin(match);
  ++own.publishing;
  const publisher* const outer = std::exchange(own.current, &from);
  std::size_t taken = 0;
  for (subscription* to : match.plain) taken += implementation::offer(*to, what, from) ? 1 : 0;
  for (std::size_t at = 0; at < match.group_count; ++at)
    taken += own.offer_to_group(match.groups[at].members, what, from) ? 1 : 0;
  own.current = outer;
  --own.publishing;
  match_cache::unpin(match);
  return taken;
}

std::size_t account::publish_mapped(const message& what, const publisher& from) {
  if (mappings_.empty()) return publish(what, from);
  std::string mapped;
  switch (mappings_.map(what.subject, draw(), mapped)) {
    case subject_map::outcome::unchanged:
      return publish(what, from);
    case subject_map::outcome::mapped:
      return publish({mapped, what.reply, what.headers, what.payload}, from);
    case subject_map::outcome::lost:
      return 0;
  }
  return 0;
}

void account::adopt_mappings(subject_map mappings) { mappings_ = std::move(mappings); }

std::uint64_t account::draw() { return implementation_->draw(); }

const publisher* account::publishing() const { return implementation_->current; }

void account::observe(subscription_observer* observer) { implementation_->observer = observer; }

void account::disable_cache() { implementation_->cache.disable(); }

interest_statistics account::statistics() const {
  const implementation& own = *implementation_;
  interest_statistics out;
  out.subscriptions = own.interest.size();
  out.inserts = own.inserts;
  out.removes = own.removes;
  out.cache_hits = own.cache.hits();
  out.matches = out.cache_hits + own.cache.misses();
  std::size_t total = 0;
  own.cache.each_fresh([&](const cached_match& match) {
    std::size_t fanout = match.plain.size();
    for (std::size_t at = 0; at < match.group_count; ++at) fanout += match.groups[at].members.size();
    out.maximum_fanout = std::max(out.maximum_fanout, fanout);
    total += fanout;
    ++out.cache_entries;
  });
  if (out.cache_entries != 0) out.average_fanout = static_cast<double>(total) / static_cast<double>(out.cache_entries);
  return out;
}

void account::end_turn() {
  implementation& own = *implementation_;
  assert(own.publishing == 0);
  for (int round = 0; round < watch_rounds && !own.told.empty(); ++round) {
    const auto told = std::exchange(own.told, {});
    for (const auto& watch : told) {
      watch->queued = false;
      if (watch->alive) watch->changed();
    }
  }
  if (own.removed.empty()) return;
  for (const trie_entry* entry : own.removed) delete entry;
  own.removed.clear();
}

}  // namespace tern::routing
