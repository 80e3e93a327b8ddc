// Each kind of file, each kind of damage, after a clean stop and after a kill: nothing undamaged is lost, no wrong
// bytes are served, nothing stays unsaid (storage I1-I4).
#include "storage/store_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

namespace tern::storage {
namespace {

using testing::payload_of;
using testing::simulated_machine;

constexpr time_point some_time = time_point(nanoseconds(1'700'000'000'000'000'000));

enum class damage { flip, zero_page, cut, remove, swap_pages };
const char* const damage_names[] = {"flip", "zero", "cut", "remove", "swap"};
constexpr std::uint64_t page = 512;  // small, as the files here are

struct known_content {
  std::map<std::string, std::map<sequence, std::string>> live;
  std::map<std::string, std::set<sequence>> gone;
  int deltas = 0;
};

enum class ending { clean_stop, kill, kill_unsettled };  // the last: the journal still has everything

store_options rot_options(ending how) {
  store_options options;
  options.directory = "/data/js";
  options.segment_bytes = 3000;
  options.journal_bytes = how == ending::kill_unsettled ? 1 << 20 : 12000;
  options.cache_bytes = 0;
  return options;
}

known_content fill(simulated_machine& machine, ending how) {
  known_content out;
  EXPECT_TRUE(machine.start(rot_options(how)));
  auto& store = *machine.messages;
  for (const char* name : {"KEEP", "DELS"}) {
    auto& stream = **store.create_stream("$G", name, "config", durability::synced, 0);
    machine.one_turn();
    for (sequence number = 1; number <= 120; ++number) {
      const auto payload = payload_of(name, number, 30 + number * 7 % 150);
      stream.log().append({number, some_time, std::string(name) + "." + std::to_string(number % 4), {}, payload});
      out.live[name][number] = payload;
      if (number % 4 == 0) machine.one_turn();
    }
    machine.settle();
  }
  auto& dels = *store.find_stream("$G", "DELS");
  const auto drop = [&](sequence number) {
    out.live["DELS"].erase(number);
    out.gone["DELS"].insert(number);
  };
  for (sequence number = 20; number < 100; number += 3) {
    if (dels.log().remove(number, number % 2 == 0)) drop(number);
    if (number % 4 == 0) machine.one_turn();
  }
  dels.log().purge({"", 12, 0}, [&](sequence number, std::string_view) { drop(number); });
  machine.settle();
  auto& consumer = store.find_stream("$G", "KEEP")->create_consumer("C", "consumer config", false);
  machine.settle();
  for (int number = 1; number <= 40; ++number) {
    consumer.append_delta(std::to_string(number));
    machine.one_turn();
  }
  out.deltas = 40;
  machine.settle();
  if (how == ending::clean_stop) {
    EXPECT_TRUE(store.close());
  }
  machine.crash(runtime::crash_loss::nothing);
  return out;
}

// Puts other bytes into a file, below what any sync knows.
void overwrite(simulated_machine& machine, const std::string& path, std::uint64_t offset, const std::string& bytes) {
  const std::string have = *machine.disk_state.contents(path);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      if (((have[offset + at] ^ bytes[at]) >> bit & 1) != 0) machine.disk_state.flip_bit(path, offset + at, bit);
    }
  }
}

using byte_ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

// Damages the file at a place between 0 and 1; the ranges that were hit, or none when nothing would change.
byte_ranges hurt(simulated_machine& machine, const std::string& path, damage how, double place) {
  const std::string bytes = *machine.disk_state.contents(path);
  const std::uint64_t size = bytes.size();
  if (how == damage::remove) {
    machine.disk_state.delete_file(path);
    return {{0, size}};
  }
  if (size == 0) return {};
  const auto at = static_cast<std::uint64_t>(place * static_cast<double>(size - 1));
  if (how == damage::flip) {
    machine.disk_state.flip_bit(path, at, static_cast<int>(at % 8));
    return {{at, at + 1}};
  }
  if (how == damage::cut) {
    machine.disk_state.truncate_file(path, at);
    return {{at, size}};
  }
  const std::uint64_t first = at / page * page;
  if (how == damage::zero_page) {
    const std::string zeros(std::min(page, size - first), '\0');
    if (bytes.compare(first, zeros.size(), zeros) == 0) return {};
    overwrite(machine, path, first, zeros);
    return {{first, first + zeros.size()}};
  }
  const std::uint64_t pages = size / page;
  if (pages < 2 || first / page >= pages) return {};
  const std::uint64_t second = (first / page + 1 + at % (pages - 1)) % pages * page;
  if (first == second || bytes.substr(first, page) == bytes.substr(second, page)) return {};
  overwrite(machine, path, first, bytes.substr(second, page));
  overwrite(machine, path, second, bytes.substr(first, page));
  return {{first, first + page}, {second, second + page}};
}

// Messages whose payload, or the framing up to the neighbours' payloads, lies in the ranges.
std::map<std::string, std::set<sequence>> hit_by(const std::string& bytes, const byte_ranges& ranges,
                                                 const known_content& known) {
  struct span {
    std::uint64_t first, last;
    std::string stream;
    sequence number;
  };
  std::vector<span> spans;
  for (const auto& [name, messages] : known.live) {
    for (const auto& [number, payload] : messages) {
      for (auto at = bytes.find(payload); at != std::string::npos; at = bytes.find(payload, at + 1)) {
        spans.push_back({at, at + payload.size(), name, number});
      }
    }
  }
  std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::map<std::string, std::set<sequence>> out;
  for (std::size_t at = 0; at < spans.size(); ++at) {
    const std::uint64_t low = at > 0 ? spans[at - 1].last : 0;
    const std::uint64_t high = at + 1 < spans.size() ? spans[at + 1].first : bytes.size();
    for (const auto& [first, last] : ranges) {
      if (low < last && high > first) out[spans[at].stream].insert(spans[at].number);
    }
  }
  return out;
}

struct trial_result {
  std::uint64_t lost_beyond = 0, wrong = 0, back = 0;
  bool fell = false, reported = false;
};

trial_result read_back(simulated_machine& machine, const known_content& known,
                       const std::map<std::string, std::set<sequence>>& hit) {
  trial_result out;
  store& messages = *machine.messages;
  std::uint64_t lost = 0;
  for (const auto& [name, live] : known.live) {
    auto* stream = messages.find_stream("$G", name);
    for (const auto& [number, payload] : live) {
      if (stream == nullptr) {
        ++out.lost_beyond;
        continue;
      }
      const auto loaded = stream->log().load(number);
      if (loaded) {
        out.wrong += loaded->payload != payload || loaded->subject != name + "." + std::to_string(number % 4);
        continue;
      }
      ++lost;
      out.reported |= loaded.error().code() != errc::not_found;
      const auto mine = hit.find(name);
      out.lost_beyond += mine == hit.end() || !mine->second.contains(number);
    }
    if (stream == nullptr) continue;
    EXPECT_EQ(stream->log().state().last, 120u);
    const auto gone = known.gone.find(name);
    if (gone == known.gone.end()) continue;
    for (const sequence number : gone->second) {
      const auto loaded = stream->log().load(number);
      out.back += loaded.has_value();
    }
  }
  int reached = 0;
  if (auto* stream = messages.find_stream("$G", "KEEP"); stream != nullptr && stream->find_consumer("C") != nullptr) {
    const auto found = stream->find_consumer("C")->take_recovered();
    if (!found.deltas.empty()) reached = std::stoi(found.deltas.back());
  }
  out.fell = reached < known.deltas;
  for (const auto& each : messages.findings()) out.reported |= each.level != finding::severity::note;
  EXPECT_TRUE(out.reported || (lost == 0 && out.back == 0 && !out.fell)) << "nothing was said";
  return out;
}

class store_rot : public ::testing::TestWithParam<int> {};

TEST_P(store_rot, costs_no_more_than_it_hits_and_never_in_silence) {
  const auto finish = static_cast<ending>(GetParam());
  std::vector<std::string> paths;
  {
    simulated_machine machine;
    fill(machine, finish);
    paths = machine.disk_state.files();
  }
  // A quarter of the trials by default, all of them with TERN_EXHAUSTIVE set.
  const bool exhaustive = std::getenv("TERN_EXHAUSTIVE") != nullptr;
  std::uint64_t trials = 0, lost = 0, planned = 0;
  for (const auto& path : paths) {
    for (const damage how : {damage::flip, damage::zero_page, damage::cut, damage::remove, damage::swap_pages}) {
      for (const double place : {0.01, 0.3, 0.55, 0.9, 0.999}) {
        if (how == damage::remove && place > 0.1) continue;
        if (!exhaustive && how != damage::remove && ++planned % 4 != 0) continue;
        simulated_machine machine;
        const auto known = fill(machine, finish);
        const std::string bytes = *machine.disk_state.contents(path);
        const auto ranges = hurt(machine, path, how, place);
        if (ranges.empty()) continue;
        const std::string what = path + ", " + damage_names[static_cast<int>(how)] + " at " + std::to_string(place);
        SCOPED_TRACE(what);
        const auto started = machine.start(rot_options(finish));
        ASSERT_TRUE(started) << started.error().message();
        const auto hit = hit_by(bytes, ranges, known);
        auto outcome = read_back(machine, known, hit);
        EXPECT_EQ(outcome.lost_beyond, 0u);
        EXPECT_EQ(outcome.wrong, 0u);
        // It goes on, and another start finds things as this one left them, and says no more of what was repaired.
        auto* keep = machine.messages->find_stream("$G", "KEEP");
        ASSERT_NE(keep, nullptr);
        keep->log().append({121, some_time, "KEEP.new", {}, "new"});
        machine.settle();
        EXPECT_FALSE(machine.messages->failure());
        ASSERT_TRUE(machine.messages->close());
        machine.stop();
        ASSERT_TRUE(machine.start(rot_options(finish)));
        EXPECT_EQ(machine.messages->find_stream("$G", "KEEP")->log().load(121)->payload, "new");
        for (const auto& [name, live] : known.live) {
          for (const auto& [number, payload] : live) {
            const auto loaded = machine.messages->find_stream("$G", name)->log().load(number);
            if (loaded) {
              EXPECT_EQ(loaded->payload, payload);
            }
            const auto mine = hit.find(name);
            EXPECT_TRUE(loaded || (mine != hit.end() && mine->second.contains(number))) << name << " " << number;
            lost += !loaded;
          }
        }
        ++trials;
        if (HasFailure()) return;
      }
    }
  }
  RecordProperty("trials", static_cast<int>(trials));
  RecordProperty("hit_messages_lost", static_cast<int>(lost));
  std::printf("%zu files, %llu trials, %llu of the hit messages lost\n", paths.size(),
              static_cast<unsigned long long>(trials), static_cast<unsigned long long>(lost));
}

INSTANTIATE_TEST_SUITE_P(after, store_rot, ::testing::Range(0, 3), [](const auto& info) {
  return info.param == 0 ? "a_clean_stop" : info.param == 1 ? "a_kill" : "a_kill_with_all_in_the_journal";
});

}  // namespace
}  // namespace tern::storage
