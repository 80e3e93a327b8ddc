#include "jetstream/consumer/consumer_set_state.hpp"

#include <algorithm>
#include <utility>

namespace tern::jetstream {
namespace {

constexpr std::size_t purge_told_singly = 256;

}  // namespace

std::string encode_consumer(const consumer& what) {
  return codec::to_json(stored_consumer{what.name(), what.created(), what.config()});
}

std::vector<std::string> patterns_of(const consumer_config& config) {
  auto filters = config.filters();
  if (filters.empty()) filters.emplace_back(">");
  return filters;
}

consumer_set::implementation::implementation(stream_context& of)
    : context(of), burial(of.surroundings().timers, [this] { bury(); }) {}

consumer_set::implementation::~implementation() { *alive = false; }

void consumer_set::implementation::collect(std::string_view subject, std::vector<consumer*>& into) {
  into.clear();
  const std::uint64_t now_marked = ++mark;
  filters.for_each_match(subject, [&](consumer* who) {
    if (who->visit_mark == now_marked) return;
    who->visit_mark = now_marked;
    into.push_back(who);
  });
}

void consumer_set::implementation::list_filters(consumer& who) {
  for (const std::string& pattern : patterns_of(who.config())) filters.insert(pattern, &who);
}

void consumer_set::implementation::unlist_filters(consumer& who) {
  for (const std::string& pattern : patterns_of(who.config())) filters.remove(pattern, &who);
}

consumer& consumer_set::implementation::adopt(std::unique_ptr<consumer> made) {
  consumer& who = *made;
  list_filters(who);
  if (!who.config().direct) ++listed;
  consumers.emplace(who.name(), std::move(made));
  return who;
}

// Takes the consumer out at once; its object lives until the end of the turn, for what still runs in it.
void consumer_set::implementation::remove(consumer& who) {
  const auto found = consumers.find(who.name());
  if (found == consumers.end()) return;
  unlist_filters(who);
  if (!who.config().direct) --listed;
  who.retire();
  tell(who, "DELETED", "delete");
  graveyard.push_back(std::move(found->second));
  consumers.erase(found);
  graveyard.back()->forget_record();
  context.record().remove_consumer(graveyard.back()->name());
  context.on_interest_changed();
}

void consumer_set::implementation::bury() {
  std::vector<std::unique_ptr<consumer>> gone;
  gone.swap(graveyard);
  for (const auto& who : gone) who->end_pulls("Consumer Deleted", false);
}

void consumer_set::implementation::on_inactive(consumer& who) {
  remove(who);
  bury_soon();
}

void consumer_set::implementation::bury_soon() { burial.arm(context.surroundings().now()); }

void consumer_set::implementation::tell(const consumer& who, std::string_view what, std::string_view action) {
  if (who.config().direct) return;
  std::string subject("CONSUMER.");
  subject.append(what).append(".").append(context.config().name).append(".").append(who.name());
  if (!wants_advisory(context.account(), subject)) return;
  advisory event(context.surroundings(), "io.nats.jetstream.advisory.v1.consumer_action");
  event.add("stream", context.config().name).add("consumer", who.name()).add("action", action);
  context.advise(subject, std::move(event).finish());
}

consumer_set::consumer_set(stream_context& stream) : implementation_(std::make_unique<implementation>(stream)) {}
consumer_set::~consumer_set() = default;

// --- what the stream tells ---

void consumer_set::on_committed(storage::sequence number, std::string_view subject) {
  auto& self = *implementation_;
  self.told = std::max(self.told, number);
  if (self.filters.empty()) return;
  std::vector<consumer*> matching;
  matching.swap(self.scratch);  // a delivery may settle a message, which asks the trie again
  self.collect(subject, matching);
  for (consumer* who : matching) who->on_match(number);
  self.scratch.swap(matching);
}

void consumer_set::on_removed(storage::sequence number, std::string_view subject, removal_reason why) {
  auto& self = *implementation_;
  const bool purged = why == removal_reason::purged;
  // A purge can remove millions: beyond some, each consumer looks at the outcome once, in on_purged().
  if (purged && ++self.purging > purge_told_singly) return;
  if (self.filters.empty()) return;
  std::vector<consumer*> matching;
  matching.swap(self.scratch);
  self.collect(subject, matching);
  for (consumer* who : matching) who->on_removed(number, !purged);
  self.scratch.swap(matching);
}

void consumer_set::on_purged(std::string_view subject_pattern) {
  auto& self = *implementation_;
  const bool count_anew = std::exchange(self.purging, 0) > purge_told_singly;
  std::vector<consumer*> concerned;
  const std::uint64_t marked = ++self.mark;
  self.filters.for_each_overlap(subject_pattern.empty() ? ">" : subject_pattern, [&](consumer* who) {
    if (who->visit_mark == marked) return;
    who->visit_mark = marked;
    concerned.push_back(who);
  });
  for (consumer* who : concerned) who->on_purged(subject_pattern, count_anew);
}

void consumer_set::on_stream_updated() {
  for (const auto& [name, who] : implementation_->consumers) who->wake();
}

void consumer_set::on_stream_deleted() {
  auto& self = *implementation_;
  self.filters = {};
  for (const auto& [name, who] : self.consumers) {
    who->retire();
    who->forget_record();
    who->end_pulls("Consumer Deleted", false);
    self.tell(*who, "DELETED", "delete");
  }
  for (const auto& who : self.graveyard) who->end_pulls("Consumer Deleted", false);
  self.graveyard.clear();
  self.consumers.clear();
  self.listed = 0;
}

void consumer_set::on_server_shutdown() {
  for (const auto& [name, who] : implementation_->consumers) {
    who->retire();
    who->end_pulls("Server Shutdown", true);
  }
}

// --- what the stream asks ---

bool consumer_set::wanted(std::string_view subject) const { return implementation_->filters.any_match(subject); }

bool consumer_set::needs(storage::sequence number, std::string_view subject) const {
  bool needed = false;
  implementation_->filters.for_each_match(subject, [&](const consumer* who) { needed = needed || who->needs(number); });
  return needed;
}

std::size_t consumer_set::size() const { return implementation_->listed; }

consumer* consumer_set::find(std::string_view name) { return implementation_->find(name); }

consumer* consumer_set::implementation::find(std::string_view name) {
  const auto found = consumers.find(name);
  return found == consumers.end() ? nullptr : found->second.get();
}

void consumer_set::for_each(const std::function<void(consumer&)>& visit) const {
  for (const auto& [name, who] : implementation_->consumers) visit(*who);
}

void consumer_set::append_infos(std::string& json) const {
  bool first = true;
  for (const auto& [name, who] : implementation_->consumers) {
    if (who->config().direct) continue;
    json += first ? "{" : ",{";
    first = false;
    append_members(json, who->info(), nullptr);
    json += '}';
  }
}

// --- start-up ---

void consumer_set::recover() {
  auto& self = *implementation_;
  self.told = self.context.log().state().last;
  for (const std::string& name : self.context.record().consumer_names()) {
    storage::consumer_record* record = self.context.record().find_consumer(name);
    if (record == nullptr || self.consumers.contains(name)) continue;
    auto stored = codec::read_json<stored_consumer>(record->metadata());
    if (!stored) {
      self.offline[name] = stored.error().context();
      self.context.surroundings().warn("consumer " + self.context.config().name + " > " + name +
                                       " is offline, its configuration cannot be read: " + stored.error().context());
      continue;
    }
    auto made = std::make_unique<consumer>(self, std::move(stored->config), name, stored->created, *record);
    made->resume();
    self.adopt(std::move(made)).open();
  }
}

}  // namespace tern::jetstream
