#include "storage/store_machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

namespace tern::storage {

namespace {

// Small enough that a few messages fill a segment and a few batches a journal.
store_options small_options() {
  store_options options;
  options.directory = "/store/jetstream";
  options.segment_bytes = 2'000;
  options.journal_bytes = 5'000;
  options.batch_bytes = 1'000;
  options.cache_bytes = 64'000;
  return options;
}

std::string text_of(const sequence_range& range) {
  return std::to_string(range.first) + "-" + std::to_string(range.last);
}

void take_deltas_out(model_state& from) {
  for (auto& [name, stream] : from) {
    for (auto& [consumer, state] : stream.consumers) state.deltas = 0;
  }
}

// Nobody who is the same in `shape` has more deltas in `left`.
bool deltas_at_most(const model_state& left, const model_state& right, const model_state& shape) {
  for (const auto& [name, stream] : shape) {
    for (const auto& [consumer, state] : stream.consumers) {
      std::uint64_t of_left = 0, of_right = ~std::uint64_t{0};
      for (const auto* side : {&left, &right}) {
        const auto other = side->find(name);
        if (other == side->end()) continue;
        const auto same = other->second.consumers.find(consumer);
        if (same == other->second.consumers.end()) continue;
        if (same->second.incarnation != 0 && same->second.incarnation != state.incarnation) continue;
        (side == &left ? of_left : of_right) = same->second.deltas;
      }
      if (of_left > of_right) return false;
    }
  }
  return true;
}

}  // namespace

std::string describe(const model_state& what) {
  std::string out;
  for (const auto& [name, stream] : what) {
    out += name + " (" + stream.metadata + ") last " + std::to_string(stream.last) + ":";
    for (const auto& [number, message] : stream.messages) out += " " + std::to_string(number);
    for (const auto& [consumer, state] : stream.consumers) {
      out += " [" + consumer + " " + state.metadata + " " + std::to_string(state.deltas) + "]";
    }
    out += "\n";
  }
  return out.empty() ? "nothing\n" : out;
}

struct store_machine::owner final : log_owner {
  store_machine& machine;
  std::string name;
  stream_log& log;
  sequence staged_last;
  sequence committed_last;
  std::map<std::string, std::shared_ptr<std::uint64_t>> deltas;

  owner(store_machine& of, std::string title, stream_log& what)
      : machine(of), name(std::move(title)), log(what), staged_last(what.state().last), committed_last(staged_last) {}

  void on_committed(sequence number, std::string_view subject, std::uint64_t) override {
    if (number <= committed_last) machine.complain(name + ": committed " + std::to_string(number) + " out of order");
    committed_last = number;
    if (log.subject_of(number) != subject) machine.complain(name + ": a committed message cannot be seen");
  }
  void on_commit_failed(const error&) override {
    machine.on_failed_commit();
    staged_last = committed_last = log.state().last;
  }
};

store_machine::store_machine(std::uint64_t seed, runtime::naming_rules rules)
    : drive_(seed, rules), clock_(from_unix_nanoseconds(1'780'000'000'000'000'000)), randomness_(seed) {}

store_machine::~store_machine() { power_off(); }

void store_machine::power_off() {
  hook_.reset();
  store_.reset();
  streams_.clear();
  disk_.reset();
  loop_.reset();
}

bool store_machine::start() {
  loop_ = std::make_unique<runtime::shard>(clock_, randomness_);
  disk_ = drive_.attach(*loop_);
  runtime::disk_batch folders;
  for (const auto* path : {"/store", "/store/jetstream"})
    folders.operations.push_back(runtime::disk_op::make_directory{path});
  for (const auto* path : {"/", "/store"}) folders.operations.push_back(runtime::disk_op::sync_directory{path});
  if (!disk_->exists("/store/jetstream") && !disk_->execute(std::move(folders))) return false;
  auto opened = store::open(disk_.get(), small_options());
  if (!opened) {
    if (!drive_.stopped()) complain("open: " + opened.error().message());
    return false;
  }
  store_ = std::move(*opened);
  hook_ = loop_->at_turn_end([this] { store_->commit(); });
  return true;
}

void store_machine::crash(runtime::crash_loss loss) {
  drive_.crash(loss);
  power_off();
}

bool store_machine::close() {
  const auto closed = store_->close();
  if (closed) confirmed_ = history_.size();
  power_off();
  return closed.has_value();
}

std::optional<std::string> store_machine::check() {
  const auto shown = observe();
  for (const auto& each : store_->findings()) {
    if (each.level == finding::severity::damage) complain("finding: " + each.text);
  }
  if (!store_->offline().empty()) complain("offline: " + store_->offline().front().reason);
  if (!is_possible(shown)) {
    complain("shown is no prefix of the history\nconfirmed:\n" + describe(after(history_, confirmed_)) + "all:\n" +
             describe(after(history_, history_.size())) + "shown:\n" + describe(shown));
  }
  base_ = shown;
  for (auto& [name, stream] : base_) {
    for (auto& [consumer, state] : stream.consumers) state.incarnation = ++incarnations_;
  }
  history_.clear();
  confirmed_ = 0;
  doubtful_.clear();
  deltas_apart_ = false;
  for (auto* stream : store_->streams()) {
    adopt(stream->name(), *stream);
    for (const auto& [consumer, state] : base_.at(stream->name()).consumers) {
      adopt_consumer(stream->name(), consumer, state.deltas);
    }
  }
  if (complaints_.empty()) return std::nullopt;
  std::string all;
  for (const auto& each : complaints_) all += each + "\n";
  return all;
}

// --- what is shown ---

model_state store_machine::observe() {
  model_state shown;
  for (auto* stream : store_->streams()) {
    auto& into = shown[stream->name()];
    into.metadata = stream->metadata();
    observe_log(stream->name(), stream->log(), into);
    for (const auto& consumer : stream->consumer_names()) {
      auto* record = stream->find_consumer(consumer);
      auto& state = into.consumers[consumer];
      state.metadata = record->metadata();
      const auto known = record->take_recovered();
      if (!known.snapshot.empty()) state.deltas = std::stoull(known.snapshot);
      for (const auto& delta : known.deltas) {
        if (std::stoull(delta) != ++state.deltas)
          complain(consumer + ": delta " + delta + " after " + std::to_string(state.deltas - 1));
      }
    }
  }
  return shown;
}

void store_machine::observe_log(const std::string& name, stream_log& log, model_stream& into) {
  into.last = log.state().last;
  for (auto at = log.next_live(0); at; at = log.next_live(*at + 1)) {
    const auto message = log.load(*at);
    if (!message) {
      complain(name + ": load " + std::to_string(*at) + ": " + message.error().message());
      continue;
    }
    into.messages[*at] = {message->timestamp, std::string(message->subject), std::string(message->headers),
                          std::string(message->payload)};
  }
  check_queries(name, log, into);
}

// State and queries agree with the messages themselves.
void store_machine::check_queries(const std::string& name, stream_log& log, const model_stream& shown) {
  const auto& state = log.state();
  const auto expect = [&](bool holds, const std::string& what) {
    if (!holds) complain(name + ": " + what);
  };
  std::map<std::string, subject_totals> subjects;
  std::uint64_t bytes = 0, filtered = 0;
  std::vector<sequence_range> gaps;
  const auto cursor = log.open_cursor({"a.*", "c"});
  const sequence first = shown.messages.empty() ? shown.last + 1 : shown.messages.begin()->first;
  sequence expected = first, from = 0;
  for (const auto& [number, message] : shown.messages) {
    bytes += file_record_bytes(message.subject.size(), message.headers.size(), message.payload.size());
    auto& totals = subjects[message.subject];
    if (totals.messages++ == 0) totals.first = number;
    totals.last = number;
    if (number != expected) gaps.push_back({expected, number - 1});
    expected = number + 1;
    expect(log.subject_of(number) == message.subject, "subject_of " + std::to_string(number));
    expect(log.first_at_or_after(message.timestamp) == number, "first_at_or_after of " + std::to_string(number));
    if (!message.subject.starts_with("a.")) continue;
    ++filtered;
    expect(cursor->next(from) == number, "cursor at " + std::to_string(number));
    from = number + 1;
  }
  if (!shown.messages.empty() && expected <= state.last) gaps.push_back({expected, state.last});
  expect(cursor->next(from) == std::nullopt, "cursor at the end");
  expect(cursor->count_from(0) == filtered, "cursor count");
  expect(state.messages == shown.messages.size(), "messages");
  expect(state.bytes == bytes, "bytes " + std::to_string(state.bytes) + " instead of " + std::to_string(bytes));
  expect(state.first == first, "first " + std::to_string(state.first) + " instead of " + std::to_string(first));
  expect(state.subjects == subjects.size(), "subjects");
  expect(log.deleted_ranges() == gaps, "deleted ranges, the first of " + std::to_string(gaps.size()) + " is " +
                                           (gaps.empty() ? "none" : text_of(gaps.front())));
  expect(state.deleted == (shown.messages.empty() ? 0 : state.last - first + 1 - state.messages), "deleted");
  for (const auto& range : state.lost) complain(name + ": lost " + text_of(range));
  for (const auto& [subject, totals] : subjects) {
    const auto told = log.totals(subject);
    expect(told.messages == totals.messages && told.first == totals.first && told.last == totals.last,
           "totals of " + subject);
    expect(log.last_match(subject, state.last) == totals.last, "last_match of " + subject);
  }
}

model_state store_machine::after(const std::vector<change>& history, std::size_t count) const {
  model_state state = base_;
  for (std::size_t at = 0; at < count; ++at) history[at].apply(state);
  return state;
}

bool store_machine::is_prefix(const model_state& shown, const std::vector<change>& history) const {
  model_state state = after(history, confirmed_);
  const auto least = state;
  for (std::size_t at = confirmed_;; ++at) {
    if (state == shown) return true;
    if (deltas_apart_) {
      auto left = state, right = shown;
      take_deltas_out(left);
      take_deltas_out(right);
      if (left == right && deltas_at_most(least, shown, state) &&
          deltas_at_most(shown, after(history, history.size()), state)) {
        return true;
      }
    }
    if (at == history.size()) return false;
    history[at].apply(state);
  }
}

bool store_machine::is_possible(const model_state& shown) const {
  return is_prefix(shown, history_) ||
         std::ranges::any_of(doubtful_, [&](const auto& history) { return is_prefix(shown, history); });
}

// --- changes ---

void store_machine::record(const std::string& text, std::function<void(model_state&)> apply, const std::string& stream,
                           sequence number) {
  if (telling_) std::printf("     %zu. %s\n", history_.size() + 1, text.c_str());
  history_.push_back({std::move(apply), stream, number});
}

void store_machine::on_failed_commit() {
  if (telling_) std::printf("     a commit has failed\n");
  doubtful_.push_back(history_);
  deltas_apart_ = true;
  const auto unconfirmed = history_.begin() + static_cast<std::ptrdiff_t>(confirmed_);
  const auto refused = [this](const change& each) {
    if (each.number == 0) return false;
    auto* stream = find(each.stream);
    return stream == nullptr || each.number > stream->log().state().last;
  };
  history_.erase(std::remove_if(unconfirmed, history_.end(), refused), history_.end());
}

void store_machine::adopt(const std::string& name, stream_record& stream) {
  streams_[name] = std::make_unique<owner>(*this, name, stream.log());
  stream.set_owner(streams_[name].get());
}

void store_machine::adopt_consumer(const std::string& name, const std::string& consumer, std::uint64_t deltas) {
  auto count = std::make_shared<std::uint64_t>(deltas);
  streams_.at(name)->deltas[consumer] = count;
  find(name)->find_consumer(consumer)->set_snapshot_source([count] { return std::to_string(*count); });
}

void store_machine::create_stream(const std::string& name, sequence first) {
  auto made = store_->create_stream("A", name, "made", durability::synced, first);
  if (!made) return complain("create " + name + ": " + made.error().message());
  adopt(name, **made);
  record("create " + name + " from " + std::to_string(first), [name, first](model_state& state) {
    state[name] = {};
    state[name].metadata = "made";
    state[name].last = first - 1;
  });
}

void store_machine::remove_stream(const std::string& name) {
  store_->remove_stream(*find(name));
  streams_.erase(name);
  record("remove " + name, [name](model_state& state) { state.erase(name); });
}

void store_machine::set_metadata(const std::string& name, const std::string& metadata) {
  find(name)->set_metadata(metadata);
  record("change " + name, [name, metadata](model_state& state) { state.at(name).metadata = metadata; });
}

sequence store_machine::append(const std::string& name, const std::string& subject, const std::string& payload,
                               sequence jump) {
  auto& stream = *streams_.at(name);
  const sequence number = stream.staged_last += 1 + jump;
  clock_.advance_to(clock_.now() + std::chrono::milliseconds(1));
  model_message message{clock_.now(), subject, number % 3 == 0 ? "NATS/1.0\r\nA: b\r\n\r\n" : "", payload};
  log(name).append({number, message.timestamp, message.subject, message.headers, message.payload});
  const auto apply = [name, number, message](model_state& state) {
    // What is refused later may leave a message of a stream that went.
    state.at(name).messages[number] = message;
    state.at(name).last = number;
  };
  record("append " + name + " " + std::to_string(number), apply, name, number);
  return number;
}

void store_machine::skip(const std::string& name, sequence count) {
  const sequence last = streams_.at(name)->staged_last += count;
  log(name).skip_to(last, clock_.now());
  record(
      "skip " + name + " to " + std::to_string(last), [name, last](model_state& state) { state.at(name).last = last; },
      name, last);
}

bool store_machine::remove(const std::string& name, sequence number, bool erase) {
  if (!log(name).remove(number, erase)) return false;
  record((erase ? "erase " : "remove ") + name + " " + std::to_string(number),
         [name, number](model_state& state) { state.at(name).messages.erase(number); });
  return true;
}

void store_machine::purge(const std::string& name, const stream_log::purge_request& what) {
  std::vector<sequence> gone;
  const auto count = log(name).purge(what, [&](sequence number, std::string_view) { gone.push_back(number); });
  if (count != gone.size())
    complain(name + ": purge counts " + std::to_string(count) + ", tells " + std::to_string(gone.size()));
  const sequence last = log(name).state().last;
  record("purge " + name + " of " + std::to_string(gone.size()) + ", last " + std::to_string(last),
         [name, gone, last](model_state& state) {
           auto& stream = state.at(name);
           for (const auto number : gone) stream.messages.erase(number);
           stream.last = std::max(stream.last, last);
         });
  auto& staged_last = streams_.at(name)->staged_last;
  if (!what.subject.empty() || what.below <= staged_last + 1) return;
  staged_last = what.below - 1;
  // Behind messages that are on their way the end moves with them.
  if (last < staged_last) {
    record(
        "and move the end to " + std::to_string(staged_last),
        [name, to = staged_last](model_state& state) { state.at(name).last = to; }, name, staged_last);
  }
}

void store_machine::create_consumer(const std::string& name, const std::string& consumer) {
  find(name)->create_consumer(consumer, "made", false);
  adopt_consumer(name, consumer, 0);
  record("create consumer " + name + " " + consumer,
         [name, consumer, incarnation = ++incarnations_](model_state& state) {
           state.at(name).consumers[consumer] = {"made", 0, incarnation};
         });
}

void store_machine::remove_consumer(const std::string& name, const std::string& consumer) {
  find(name)->remove_consumer(consumer);
  streams_.at(name)->deltas.erase(consumer);
  record("remove consumer " + name + " " + consumer,
         [name, consumer](model_state& state) { state.at(name).consumers.erase(consumer); });
}

void store_machine::append_delta(const std::string& name, const std::string& consumer) {
  const auto& count = streams_.at(name)->deltas.at(consumer);
  find(name)->find_consumer(consumer)->append_delta(std::to_string(++*count));
  record("delta " + name + " " + consumer + " " + std::to_string(*count),
         [name, consumer, to = *count](model_state& state) { state.at(name).consumers.at(consumer).deltas = to; });
}

void store_machine::turns(std::size_t limit) {
  store_->when_durable([this, count = history_.size()](const result<void>& outcome) {
    if (!outcome) {
      doubtful_.push_back(history_);
      deltas_apart_ = true;
      return;
    }
    if (count <= confirmed_) return;
    confirmed_ = count;
    if (telling_) std::printf("     confirmed: %zu\n", confirmed_);
    doubtful_.clear();
  });
  loop_->run_ready(limit);
}

void store_machine::tell_everything() {
  telling_ = true;
  drive_.observe([](const runtime::disk_step& step) {
    std::printf("%4llu %s %s %llu\n", static_cast<unsigned long long>(step.number), std::string(step.kind).c_str(),
                std::string(step.path).c_str(), static_cast<unsigned long long>(step.bytes));
  });
}

sequence store_machine::staged_last(const std::string& name) const { return streams_.at(name)->staged_last; }

std::vector<std::string> store_machine::stream_names() const {
  std::vector<std::string> names;
  for (const auto& [name, stream] : streams_) names.push_back(name);
  return names;
}

namespace {

TEST(store_machine, a_clean_life_shows_everything_again) {
  store_machine machine(1);
  ASSERT_TRUE(machine.start());
  machine.create_stream("S");
  machine.create_consumer("S", "c");
  for (int n = 0; n < 50; ++n) {
    machine.append("S", "a.b", std::string(100, 'x'));
    machine.append_delta("S", "c");
  }
  machine.turns();
  EXPECT_TRUE(machine.settled());
  ASSERT_TRUE(machine.remove("S", 7));
  ASSERT_TRUE(machine.close());
  ASSERT_TRUE(machine.start());
  EXPECT_EQ(machine.check(), std::nullopt);
  EXPECT_EQ(machine.log("S").state().messages, 49u);
}

// The tests that use the model would be worth nothing if it let everything pass.
TEST(store_machine, the_model_notices_what_is_missing) {
  store_machine machine(1);
  ASSERT_TRUE(machine.start());
  machine.create_stream("S");
  for (int n = 0; n < 5; ++n) machine.append("S", "a.b", "x");
  machine.turns();
  ASSERT_TRUE(machine.log("S").remove(3));  // past the model
  ASSERT_TRUE(machine.close());
  ASSERT_TRUE(machine.start());
  EXPECT_NE(machine.check(), std::nullopt);
}

}  // namespace
}  // namespace tern::storage
