// For tests: a machine whose power can be cut at any disk operation, a store on it, and the model that says what the
// store may show afterwards.
//
// The store promises more than "confirmed changes survive": everything that it is told forms one history, and after a
// crash it shows the state after some prefix of it, at least as long as what was confirmed (storage D1, D2, D5, R2,
// R3).
#pragma once

#include "runtime/clock.hpp"
#include "runtime/shard.hpp"
#include "runtime/simulated_disk.hpp"
#include "storage/store.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tern::storage {

struct model_message {
  time_point timestamp;
  std::string subject, headers, payload;
  friend bool operator==(const model_message&, const model_message&) = default;
};

// A consumer's deltas are the numbers 1, 2, 3...; its snapshot is the last of them.
struct model_consumer {
  std::string metadata;
  std::uint64_t deltas = 0;
  std::size_t incarnation = 0;  // tells one from a later one of the same name; not compared
  friend bool operator==(const model_consumer& left, const model_consumer& right) {
    return left.metadata == right.metadata && left.deltas == right.deltas;
  }
};

struct model_stream {
  std::string metadata;
  std::map<sequence, model_message> messages;
  sequence last = 0;
  std::map<std::string, model_consumer> consumers;
  friend bool operator==(const model_stream&, const model_stream&) = default;
};

using model_state = std::map<std::string, model_stream>;
std::string describe(const model_state& what);

// Changes go to the store and to the history alike. Names stand for streams of account "A".
class store_machine {
 public:
  explicit store_machine(std::uint64_t seed, runtime::naming_rules rules = runtime::naming_rules::strict_posix);
  ~store_machine();

  // --- lives ---
  // False when the machine stopped meanwhile, as a crash point asked for.
  bool start();
  void crash(runtime::crash_loss loss);
  bool close();
  // Compares what a fresh start shows with the history; the state found becomes the beginning of a new one. The text
  // says what is wrong.
  std::optional<std::string> check();

  // --- changes: not confirmed before turns are taken ---
  void create_stream(const std::string& name, sequence first = 1);
  void remove_stream(const std::string& name);
  void set_metadata(const std::string& name, const std::string& metadata);
  sequence append(const std::string& name, const std::string& subject, const std::string& payload, sequence jump = 0);
  void skip(const std::string& name, sequence count);
  bool remove(const std::string& name, sequence number, bool erase = false);
  void purge(const std::string& name, const stream_log::purge_request& what);
  void create_consumer(const std::string& name, const std::string& consumer);
  void remove_consumer(const std::string& name, const std::string& consumer);
  void append_delta(const std::string& name, const std::string& consumer);

  // Ends the turn: what has gathered goes to the disk. Then at most `limit` turns of the loop.
  void turns(std::size_t limit = 1'000);
  bool settled() const { return confirmed_ == history_.size(); }

  runtime::simulated_disk& drive() { return drive_; }
  store& open_store() { return *store_; }
  stream_log& log(const std::string& name) { return store_->find_stream("A", name)->log(); }
  stream_record* find(const std::string& name) { return store_->find_stream("A", name); }
  sequence staged_last(const std::string& name) const;
  std::vector<std::string> stream_names() const;
  // Prints changes, confirmations and disk operations from now on.
  void tell_everything();

 private:
  struct owner;
  struct change {
    std::function<void(model_state&)> apply;
    // A message or a skip, which a failed commit takes back unless it was committed before.
    std::string stream;
    sequence number = 0;
  };

  void record(const std::string& text, std::function<void(model_state&)> apply, const std::string& stream = {},
              sequence number = 0);
  void on_failed_commit();
  void adopt(const std::string& name, stream_record& stream);
  void adopt_consumer(const std::string& name, const std::string& consumer, std::uint64_t deltas);
  model_state observe();
  void observe_log(const std::string& name, stream_log& log, model_stream& into);
  void check_queries(const std::string& name, stream_log& log, const model_stream& shown);
  void complain(std::string text) { complaints_.push_back(std::move(text)); }
  bool is_possible(const model_state& shown) const;
  bool is_prefix(const model_state& shown, const std::vector<change>& history) const;
  model_state after(const std::vector<change>& history, std::size_t count) const;
  void power_off();

  runtime::simulated_disk drive_;
  runtime::paused_clock clock_;
  runtime::seeded_random randomness_;
  std::unique_ptr<runtime::shard> loop_;
  std::unique_ptr<runtime::disk> disk_;
  std::unique_ptr<store> store_;
  std::unique_ptr<runtime::shard::hook_handle> hook_;

  std::map<std::string, std::unique_ptr<owner>> streams_;
  model_state base_;  // before the history
  std::vector<change> history_;
  std::size_t confirmed_ = 0;  // so many changes must survive
  std::size_t incarnations_ = 0;
  // After failed commits: the histories as they were, whose unconfirmed ends may be on the disk all the same, until
  // something later is confirmed.
  std::vector<std::vector<change>> doubtful_;
  bool deltas_apart_ = false;  // after a failed commit deltas come back as a snapshot, later than their neighbours
  std::vector<std::string> complaints_;
  bool telling_ = false;
};

}  // namespace tern::storage
