// A stream against a plain model: whatever is published, deleted, purged, outlived, crashed and started again, both say
// the same (jetstream 5, 6, 9, 22; storage I1-I3).
#include "jetstream/machine_harness.hpp"
#include "jetstream/stream/stream.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tern::jetstream {
namespace {

using namespace std::chrono_literals;

struct rules {
  std::int64_t max_msgs = -1, max_msgs_per_subject = -1, max_bytes = -1;
  std::chrono::seconds max_age{0};
  bool discard_new = false, discard_new_per_subject = false;

  std::string body() const {
    std::string text = R"({"name":"S","subjects":["s.>"],"allow_rollup_hdrs":true,"duplicate_window":)" +
                       std::to_string(nanoseconds(window()).count());
    text += ",\"max_msgs\":" + std::to_string(max_msgs) + ",\"max_bytes\":" + std::to_string(max_bytes);
    text += ",\"max_msgs_per_subject\":" + std::to_string(max_msgs_per_subject);
    text += ",\"max_age\":" + std::to_string(nanoseconds(max_age).count());
    if (discard_new) text += ",\"discard\":\"new\"";
    if (discard_new_per_subject) text += ",\"discard_new_per_subject\":true";
    return text + "}";
  }
  std::chrono::seconds window() const { return max_age.count() > 0 ? std::min(max_age, 30s) : 30s; }
};

struct modelled_message {
  std::string subject, payload, id;
  time_point stored;
  std::uint64_t bytes = 0;
};

// The stream as its specification tells it, without an index.
class model {
 public:
  explicit model(const rules& given) : rules_(given) {}

  std::map<std::uint64_t, modelled_message> messages;
  std::uint64_t last = 0;

  enum class outcome { stored, duplicate, refused };
  outcome publish(const std::string& subject, const std::string& payload, const std::string& id, bool rolls_up,
                  time_point now) {
    if (!id.empty()) {
      const auto known = ids_.find(id);
      if (known != ids_.end() && known->second.second + rules_.window() > now) return outcome::duplicate;
    }
    std::size_t headers = 0;
    if (!id.empty() || rolls_up) headers = headers_of(id, rolls_up).size();
    const std::uint64_t bytes = storage::file_record_bytes(subject.size(), headers, payload.size());
    if (rules_.discard_new && is_full(subject, bytes, rolls_up)) return outcome::refused;
    messages[++last] = {subject, payload, id, now, bytes};
    if (!id.empty()) ids_[id] = {last, now};
    enforce(subject);
    if (rolls_up) purge(subject, last, 0);
    return outcome::stored;
  }

  bool remove(std::uint64_t number) { return messages.erase(number) > 0; }

  std::uint64_t purge(const std::string& subject, std::uint64_t below, std::uint64_t keep) {
    std::vector<std::uint64_t> matching;
    for (const auto& [number, one] : messages) {
      if ((subject.empty() || one.subject == subject) && (below == 0 || number < below)) matching.push_back(number);
    }
    matching.resize(matching.size() - std::min<std::size_t>(matching.size(), keep));
    for (const auto number : matching) messages.erase(number);
    if (subject.empty() && below > last + 1) last = below - 1;
    return matching.size();
  }

  void expire(time_point now) {
    if (rules_.max_age.count() == 0) return;
    std::erase_if(messages, [&](const auto& one) { return one.second.stored + rules_.max_age <= now; });
  }

  // Ids come back from what is stored.
  void restart() {
    std::erase_if(ids_, [this](const auto& one) { return !messages.contains(one.second.first); });
  }

  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const auto& [number, one] : messages) sum += one.bytes;
    return sum;
  }

  static std::string headers_of(const std::string& id, bool rolls_up) {
    std::string block = "NATS/1.0\r\n";
    if (!id.empty()) block += "Nats-Msg-Id: " + id + "\r\n";
    if (rolls_up) block += "Nats-Rollup: sub\r\n";
    return block + "\r\n";
  }

 private:
  std::int64_t count(const std::string& subject) const {
    return std::ranges::count_if(messages, [&](const auto& one) { return one.second.subject == subject; });
  }
  bool is_full(const std::string& subject, std::uint64_t bytes_more, bool rolls_up) const {
    const bool subject_full = rules_.max_msgs_per_subject > 0 && count(subject) >= rules_.max_msgs_per_subject;
    if (subject_full && rules_.discard_new_per_subject && !rolls_up) return true;
    if (rules_.max_msgs > 0 && std::ssize(messages) >= rules_.max_msgs && !subject_full) return true;
    if (rules_.max_bytes > 0 && static_cast<std::int64_t>(bytes() + bytes_more) > rules_.max_bytes) {
      if (!subject_full) return true;
      const auto oldest =
          std::ranges::find_if(messages, [&](const auto& one) { return one.second.subject == subject; });
      if (oldest->second.bytes < bytes_more) return true;
    }
    return false;
  }
  void enforce(const std::string& subject) {
    while (rules_.max_msgs_per_subject > 0 && count(subject) > rules_.max_msgs_per_subject)
      messages.erase(std::ranges::find_if(messages, [&](const auto& one) { return one.second.subject == subject; }));
    if (rules_.discard_new) return;
    while (rules_.max_msgs > 0 && std::ssize(messages) > rules_.max_msgs) messages.erase(messages.begin());
    while (rules_.max_bytes > 0 && !messages.empty() && static_cast<std::int64_t>(bytes()) > rules_.max_bytes)
      messages.erase(messages.begin());
  }

  rules rules_;
  std::map<std::string, std::pair<std::uint64_t, time_point>> ids_;
};

void compare(machine_harness& server, const model& expected) {
  const stream& real = *server.jetstream().find_stream("$G", "S");
  auto& log = const_cast<storage::stream_log&>(real.log());
  const auto& state = real.state();
  RC_ASSERT(state.messages == expected.messages.size());
  RC_ASSERT(state.last == expected.last);
  RC_ASSERT(state.bytes == expected.bytes());
  if (!expected.messages.empty()) {
    RC_ASSERT(state.first == expected.messages.begin()->first);
    RC_ASSERT(state.deleted == state.last - state.first + 1 - state.messages);
  } else if (expected.last > 0) {
    RC_ASSERT(state.first == state.last + 1);
  }
  std::map<std::string, std::uint64_t> subjects;
  for (const auto& [number, one] : expected.messages) {
    const auto message = log.load(number);
    RC_ASSERT(message.has_value());
    RC_ASSERT(message->subject == one.subject);
    RC_ASSERT(message->payload == one.payload);
    RC_ASSERT(message->timestamp == one.stored);
    ++subjects[one.subject];
  }
  RC_ASSERT(state.subjects == subjects.size());
  for (const auto& [subject, count] : subjects) RC_ASSERT(log.totals(subject).messages == count);
}

void step(machine_harness& server, model& expected) {
  const std::string subject = "s." + std::to_string(*rc::gen::inRange(0, 4));
  switch (*rc::gen::weightedElement<int>({{12, 0}, {3, 1}, {3, 2}, {4, 3}, {1, 4}, {1, 5}})) {
    case 0: {
      const std::string payload = std::string(static_cast<std::size_t>(*rc::gen::inRange(0, 60)), 'x');
      const std::string id = *rc::gen::inRange(0, 3) == 0 ? "id" + std::to_string(*rc::gen::inRange(0, 5)) : "";
      const bool rolls_up = *rc::gen::inRange(0, 12) == 0;
      const std::string headers = id.empty() && !rolls_up ? "" : model::headers_of(id, rolls_up);
      const std::string answer = server.request(subject, payload, headers);
      RC_LOG() << "publish " << subject << " " << payload.size() << " " << id << (rolls_up ? " roll-up" : "") << " -> "
               << answer << "\n";
      const auto outcome = expected.publish(subject, payload, id, rolls_up, server.now());
      RC_ASSERT((answer.find("\"error\"") != std::string::npos) == (outcome == model::outcome::refused));
      RC_ASSERT((answer.find("duplicate") != std::string::npos) == (outcome == model::outcome::duplicate));
      break;
    }
    case 1: {
      const auto number = static_cast<std::uint64_t>(*rc::gen::inRange(1, 60));
      const std::string answer = server.api("STREAM.MSG.DELETE.S", R"({"seq":)" + std::to_string(number) + "}");
      RC_LOG() << "delete " << number << " -> " << answer << "\n";
      RC_ASSERT((answer.find("\"success\":true") != std::string::npos) == expected.remove(number));
      break;
    }
    case 2: {
      const bool by_subject = *rc::gen::inRange(0, 2) == 0;
      const auto below = *rc::gen::inRange(0, 2) == 0 ? static_cast<std::uint64_t>(*rc::gen::inRange(0, 60)) : 0;
      const auto keep = below == 0 ? static_cast<std::uint64_t>(*rc::gen::inRange(0, 4)) : 0;
      const std::string answer =
          server.api("STREAM.PURGE.S", R"({"filter":")" + (by_subject ? subject : "") + R"(","seq":)" +
                                           std::to_string(below) + ",\"keep\":" + std::to_string(keep) + "}");
      RC_LOG() << "purge " << (by_subject ? subject : "") << " " << below << " " << keep << " -> " << answer << "\n";
      const auto removed = expected.purge(by_subject ? subject : "", below, keep);
      RC_ASSERT(answer.find("\"purged\":" + std::to_string(removed) + "}") != std::string::npos);
      break;
    }
    case 3:
      server.advance(std::chrono::seconds(*rc::gen::inRange(1, 12)));
      RC_LOG() << "time passes\n";
      expected.expire(server.now());
      break;
    case 4:
      RC_LOG() << "crash\n";
      server.crash(*rc::gen::inRange(0, 2) == 0 ? runtime::crash_loss::all_unsynced : runtime::crash_loss::nothing);
      expected.restart();
      break;
    default:
      RC_LOG() << "restart\n";
      server.restart();
      expected.restart();
  }
}

TEST(stream_model, a_stream_and_its_model_stay_equal) {
  const bool held = rc::check("a stream and its model stay equal", [] {
    rules chosen;
    const auto sometimes = [](int low, int high) -> std::int64_t {
      return *rc::gen::inRange(0, 3) == 0 ? *rc::gen::inRange(low, high) : -1;
    };
    chosen.max_msgs = sometimes(1, 12);
    chosen.max_msgs_per_subject = sometimes(1, 4);
    chosen.max_bytes = sometimes(100, 800);
    if (*rc::gen::inRange(0, 2) == 0) chosen.max_age = std::chrono::seconds(*rc::gen::inRange(1, 20));
    chosen.discard_new = *rc::gen::inRange(0, 3) == 0;
    chosen.discard_new_per_subject =
        chosen.discard_new && chosen.max_msgs_per_subject > 0 && *rc::gen::inRange(0, 2) == 0;
    RC_LOG() << chosen.body() << "\n";
    machine_harness server;
    const std::string created = server.api("STREAM.CREATE.S", chosen.body());
    RC_ASSERT(created.find("did_create") != std::string::npos);
    model expected(chosen);
    const int steps = *rc::gen::inRange(1, 40);
    for (int i = 0; i < steps; ++i) {
      step(server, expected);
      compare(server, expected);
    }
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace tern::jetstream
