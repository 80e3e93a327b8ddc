// A fixed workload, stopped before every operation of the disk in turn, with every kind of loss: what was confirmed
// must be there, what was confirmed as removed must stay away, sequences never go back (storage D1-D5, I2, I6, R2, R3).
#include "storage/store_fixture.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

namespace tern::storage {
namespace {

using runtime::crash_loss;
using runtime::naming_rules;
using testing::payload_of;
using testing::simulated_machine;

constexpr time_point some_time = time_point(nanoseconds(1'700'000'000'000'000'000));

// What the workload has been told by when_durable, and what it has asked for.
struct stream_ledger {
  std::map<sequence, std::string> asked;  // payloads, by sequence
  std::set<sequence> confirmed;           // appends
  std::set<sequence> removal_asked;
  std::set<sequence> removal_confirmed;
  sequence highest_confirmed = 0;
  bool creation_confirmed = false;
  bool removal_of_stream_asked = false, removal_of_stream_confirmed = false;
  int deltas_asked = 0, deltas_confirmed = 0;
  int snapshot_at = 0;
};

class workload {
 public:
  explicit workload(simulated_machine& machine) : machine_(machine) {}

  store& messages() { return *machine_.messages; }

  stream_record* create(const std::string& name, sequence first = 0) {
    auto made = messages().create_stream("$G", name, "config of " + name, durability::synced, first);
    if (!made) return nullptr;
    ledgers[name];
    next[name] = std::max<sequence>(1, first);
    messages().when_durable(
        [this, name](const result<void>& outcome) { ledgers[name].creation_confirmed |= outcome.has_value(); });
    return *made;
  }
  void append(stream_record& stream, std::size_t size = 60) {
    const sequence number = next[stream.name()]++;
    const std::string payload = payload_of(stream.name(), number, size);
    stream.log().append({number,
                         some_time + std::chrono::milliseconds(number),
                         stream.name() + ".x" + std::to_string(number % 5),
                         {},
                         payload});
    auto& ledger = ledgers[stream.name()];
    ledger.asked[number] = payload;
    messages().when_durable([this, name = stream.name(), number](const result<void>& outcome) {
      if (!outcome) return;
      ledgers[name].confirmed.insert(number);
      ledgers[name].highest_confirmed = std::max(ledgers[name].highest_confirmed, number);
    });
  }
  void remove(stream_record& stream, sequence number, bool erase) {
    auto& ledger = ledgers[stream.name()];
    if (!stream.log().remove(number, erase)) return;
    ledger.removal_asked.insert(number);
    messages().when_durable([this, name = stream.name(), number](const result<void>& outcome) {
      if (outcome) ledgers[name].removal_confirmed.insert(number);
    });
  }
  void purge(stream_record& stream, const stream_log::purge_request& what) {
    std::vector<sequence> gone;
    stream.log().purge(what, [&](sequence number, std::string_view) { gone.push_back(number); });
    auto& ledger = ledgers[stream.name()];
    ledger.removal_asked.insert(gone.begin(), gone.end());
    messages().when_durable([this, name = stream.name(), gone](const result<void>& outcome) {
      if (outcome) ledgers[name].removal_confirmed.insert(gone.begin(), gone.end());
    });
  }
  void delta(stream_record& stream, consumer_record& consumer) {
    auto& ledger = ledgers[stream.name()];
    consumer.append_delta(std::to_string(++ledger.deltas_asked));
    messages().when_durable([this, name = stream.name(), number = ledger.deltas_asked](const result<void>& outcome) {
      if (outcome) ledgers[name].deltas_confirmed = std::max(ledgers[name].deltas_confirmed, number);
    });
  }
  void remove_stream(stream_record& stream) {
    const std::string name = stream.name();
    ledgers[name].removal_of_stream_asked = true;
    messages().remove_stream(stream);
    messages().when_durable([this, name](const result<void>& outcome) {
      ledgers[name].removal_of_stream_confirmed |= outcome.has_value();
    });
  }
  void turn() { machine_.one_turn(); }
  bool stopped() { return machine_.disk_state.stopped(); }

  void run() {
    auto* keep = create("KEEP");
    auto* gaps = create("GAPS", 1000);
    auto* consumer = &keep->create_consumer("C", "consumer config", false);
    auto& ledger = ledgers["KEEP"];
    consumer->set_snapshot_source([&ledger] { return std::to_string(ledger.deltas_asked); });
    turn();
    for (int step = 0; step < 60 && !stopped(); ++step) {
      append(*keep);
      append(*gaps, step % 9 == 0 ? 700 : 80);
      if (step % 2 == 0) append(*keep, 10);
      delta(*keep, *consumer);
      if (step % 4 == 1) remove(*gaps, 1000 + static_cast<sequence>(step) / 2, step % 8 == 1);
      if (step == 20) purge(*gaps, {"GAPS.x1", 0, 0});
      if (step == 33) purge(*gaps, {"", 1020, 0});
      if (step == 45) purge(*gaps, {"", 0, 3});
      if (step == 12) create("BRIEF");
      if (step >= 12 && step < 30 && messages().find_stream("$G", "BRIEF") != nullptr)
        append(*messages().find_stream("$G", "BRIEF"));
      if (step == 30) remove_stream(*messages().find_stream("$G", "BRIEF"));
      if (step == 35) gaps->create_consumer("D", "d", false);
      if (step == 48) gaps->remove_consumer("D");
      if (step == 50) keep->set_metadata("config 2 of KEEP");
      if (step % 3 != 2) turn();
    }
    machine_.settle(100);
  }

  std::map<std::string, stream_ledger> ledgers;
  std::map<std::string, sequence> next;

 private:
  simulated_machine& machine_;
};

store_options tiny_options() {
  store_options options;
  options.directory = "/data/js";
  options.segment_bytes = 1500;
  options.journal_bytes = 3000;
  return options;
}

void check(store& messages, const std::map<std::string, stream_ledger>& ledgers, const std::string& when) {
  for (const auto& each : messages.findings()) {
    EXPECT_NE(each.level, finding::severity::damage) << when << ": " << each.text;
  }
  EXPECT_TRUE(messages.offline().empty()) << when;
  for (const auto& [name, ledger] : ledgers) {
    auto* stream = messages.find_stream("$G", name);
    if (stream == nullptr) {
      EXPECT_TRUE(!ledger.creation_confirmed || ledger.removal_of_stream_asked)
          << when << ": stream " << name << " is gone";
      continue;
    }
    EXPECT_FALSE(ledger.removal_of_stream_confirmed) << when << ": stream " << name << " is back";
    auto& log = stream->log();
    EXPECT_GE(log.state().last, ledger.highest_confirmed) << when << ": " << name;
    EXPECT_TRUE(log.state().lost.empty()) << when << ": " << name;
    std::uint64_t live = 0;
    for (const auto& [number, payload] : ledger.asked) {
      auto loaded = log.load(number);
      live += loaded.has_value();
      if (loaded) {
        EXPECT_EQ(loaded->payload, payload) << when << ": " << name << " " << number;
        EXPECT_FALSE(ledger.removal_confirmed.contains(number)) << when << ": " << name << " " << number << " is back";
      } else {
        EXPECT_TRUE(!ledger.confirmed.contains(number) || ledger.removal_asked.contains(number))
            << when << ": " << name << " " << number << " is lost: " << loaded.error().message();
      }
    }
    EXPECT_EQ(log.state().messages, live) << when << ": " << name;
    if (auto* consumer = stream->find_consumer("C")) {
      const auto known = consumer->take_recovered();
      int reached = known.snapshot.empty() ? 0 : std::stoi(known.snapshot);
      for (const auto& each : known.deltas) {
        EXPECT_LE(std::stoi(each), reached + 1) << when;
        reached = std::max(reached, std::stoi(each));
      }
      EXPECT_GE(reached, ledger.deltas_confirmed) << when << ": deltas are lost";
    } else if (name == "KEEP") {
      EXPECT_EQ(ledger.deltas_confirmed, 0) << when << ": the consumer is lost";
    }
  }
}

struct loss_mode {
  crash_loss loss;
  naming_rules names;
  const char* text;
};
const loss_mode modes[] = {{crash_loss::all_unsynced, naming_rules::strict_posix, "drop posix"},
                           {crash_loss::random_subset, naming_rules::strict_posix, "subset posix"},
                           {crash_loss::torn_write, naming_rules::strict_posix, "torn posix"},
                           {crash_loss::all_unsynced, naming_rules::ext4, "drop ext4"},
                           {crash_loss::random_subset, naming_rules::ext4, "subset ext4"},
                           {crash_loss::torn_write, naming_rules::ext4, "torn ext4"},
                           {crash_loss::nothing, naming_rules::strict_posix, "kill"}};

class store_crash : public ::testing::TestWithParam<int> {};

// With a second crash at some step of the recovery or right behind it.
TEST_P(store_crash, at_every_operation_keeps_what_was_confirmed) {
  const loss_mode mode = modes[GetParam()];
  std::uint64_t steps = 0;
  {
    simulated_machine machine(1, mode.names);
    ASSERT_TRUE(machine.start(tiny_options()));
    workload load(machine);
    load.run();
    steps = machine.disk_state.steps();
    load.ledgers["KEEP"].deltas_confirmed = 0;  // they are in the consumer, not in what recovery found
    check(*machine.messages, load.ledgers, "without a crash");
    EXPECT_EQ(load.ledgers["KEEP"].confirmed.size(), 90u);
  }
  ASSERT_GT(steps, 200u);
  // Together the modes stop at every operation; alone each does with TERN_EXHAUSTIVE set.
  const std::uint64_t stride = std::getenv("TERN_EXHAUSTIVE") != nullptr ? 1 : 7;
  for (std::uint64_t stop = 1 + static_cast<std::uint64_t>(GetParam()) % stride; stop <= steps && !HasFailure();
       stop += stride) {
    const std::string when = std::string(mode.text) + ", stopped at " + std::to_string(stop);
    simulated_machine machine(stop, mode.names);
    machine.disk_state.stop_at(stop);
    workload load(machine);
    if (machine.start(tiny_options())) load.run();
    machine.crash(mode.loss);
    // A crash while it recovers, at a place that moves with the outer one.
    machine.disk_state.stop_at(machine.disk_state.steps() + 1 + stop % 23);
    if (machine.start(tiny_options())) machine.settle(20);
    machine.crash(mode.loss);
    const auto started = machine.start(tiny_options());
    ASSERT_TRUE(started) << when << ": " << started.error().message();
    check(*machine.messages, load.ledgers, when);
    // It goes on: a new message gets a new sequence and is there after a clean stop.
    if (auto* keep = machine.messages->find_stream("$G", "KEEP")) {
      const sequence number = keep->log().state().last + 1;
      keep->log().append({number, some_time + std::chrono::seconds(100), "KEEP.new", {}, "new"});
      machine.settle();
      ASSERT_TRUE(machine.messages->close()) << when;
      machine.stop();
      ASSERT_TRUE(machine.start(tiny_options())) << when;
      for (const auto& each : machine.messages->findings()) ADD_FAILURE() << when << ": " << each.text;
      auto loaded = machine.messages->find_stream("$G", "KEEP")->log().load(number);
      ASSERT_TRUE(loaded) << when;
      EXPECT_EQ(loaded->payload, "new") << when;
      load.ledgers["KEEP"].asked[number] = "new";
      // The consumer had no source in these lives: its snapshot and deltas were kept as they were.
      check(*machine.messages, load.ledgers, when + ", after a clean stop");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(losses, store_crash, ::testing::Range(0, 7), [](const auto& info) {
  std::string name = modes[info.param].text;
  for (auto& c : name) c = c == ' ' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace tern::storage
