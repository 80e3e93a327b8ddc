// A stream: takes what is published on its subjects, keeps it within its limits, answers reads, and owns its consumers.
//
// A publish is checked against the committed and the staged state together, appended to the log, and acknowledged when
// its batch is committed (on_committed). Everything that removes messages goes through remove() or purge(), which tell
// the consumers first.
//
// Owned by account_streams; one shard. Invariants: last_sequence_ is the last staged or committed sequence; staged_
// holds one entry per staged message or skip, in order. (jetstream 3-6, 8, 9, 22)
#pragma once

#include "jetstream/account_streams.hpp"
#include "jetstream/consumer/consumer_set.hpp"
#include "jetstream/stream/atomic_batches.hpp"
#include "jetstream/stream/fast_batch.hpp"
#include "jetstream/stream/message_expiry.hpp"
#include "jetstream/stream/message_schedules.hpp"
#include "jetstream/stream/publish_headers.hpp"
#include "jetstream/stream/staged_queue.hpp"
#include "jetstream/stream/stream_intake.hpp"
#include "jetstream/stream_context.hpp"
#include "protocol/jetstream_error.hpp"
#include "routing/subject_transform.hpp"
#include "storage/index/dedup_window.hpp"

#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tern::jetstream {

class direct_reader;

// How durable an acknowledgement of such a stream is (design section 1).
storage::durability durability_of(const stream_config& config, const options& settings);

// What the store keeps about a stream.
struct stored_stream {
  stream_config config;
  time_point created{};
  std::string identity;              // 8 characters, fixed from creation on
  std::uint64_t first_sequence = 0;  // first_seq of the creation; an update of it has no effect
  bool loading = false;              // a restore or an import was cut off: a start removes the stream
  intake_checkpoint intake;          // how far its sources were read
};

class stream final : public stream_context, private routing::receiver, private storage::log_owner {
 public:
  stream(account_streams& owner, storage::stream_record& record, stored_stream what);
  ~stream() override;
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  // --- life ---
  // Rebuilds what is not stored as such: the ids of the duplicate window, consumers, limits that had no time to act
  // (22).
  void recover();
  // Takes publishes and direct gets from now on.
  void open();
  // A checked configuration; enforced on what is stored before this returns.
  void update(stream_config next);
  // Consumers are told and go; the record is left to the caller.
  void close_for_deletion();
  void shutdown();

  // --- stream_context ---
  const stream_config& config() const override { return stored_.config; }
  storage::stream_log& log() override { return log_; }
  storage::stream_record& record() override { return record_; }
  routing::account& account() override { return owner_.account(); }
  environment& surroundings() override { return surroundings_; }
  const account_limits& limits() const override { return owner_.limits; }
  void on_settled(storage::sequence number) override;
  void on_interest_changed() override;
  void advise(std::string_view subject, std::string_view body) override;

  // --- reads ---
  const std::string& name() const { return stored_.config.name; }
  time_point created() const { return stored_.created; }
  const std::string& identity() const override { return stored_.identity; }
  const stream_intake& intake() const { return intake_; }
  std::uint64_t first_sequence() const { return stored_.first_sequence; }
  const storage::log_state& state() const { return log_.state(); }
  const storage::stream_log& log() const { return log_; }
  storage::durability level() const { return record_.level(); }
  consumer_set& consumers() { return consumers_; }
  const consumer_set& consumers() const { return consumers_; }

  // --- removal ---
  // One message by an API call. False when there is none.
  bool delete_message(storage::sequence number, bool erase);
  std::uint64_t purge(const storage::stream_log::purge_request& what);

 private:
  struct incoming;  // one publish under way
  struct deferred_publish {
    std::uint64_t tag = 0;  // of the subscription it came by
    std::string subject, reply, headers, payload;
  };
  using problem = std::optional<protocol::api_error>;

  // --- publishing (stream_publish.cpp) ---
  bool deliver(routing::subscription& to, const routing::message& what) override;
  void take(std::uint64_t tag, const routing::message& what);
  void defer(std::uint64_t tag, const routing::message& what);
  void take_deferred();
  void accept(const routing::message& what);
  void transform_subject(incoming& what);
  void write_lifetime(incoming& what);
  bool has_room(const incoming& what);
  problem check_size(const incoming& what) const;
  problem check_headers(incoming& what) const;
  problem check_expectations(incoming& what);
  problem check_after_dedup(incoming& what);
  problem check_counter(const incoming& what) const;
  problem check_lifetime(incoming& what) const;
  problem count(incoming& what);
  problem check_discard_new(const incoming& what, staged_publish& entry);
  problem admit(incoming& what);
  bool find_duplicate(incoming& what);
  void answer_duplicate(const incoming& what);
  staged_publish entry_for(const incoming& what) const;
  // `stored`: when, if not now.
  storage::sequence reserve(const incoming& what, staged_publish entry, std::optional<time_point> stored = {});
  void append(const incoming& what, storage::sequence number);
  void stage_marker(std::string_view subject, std::string_view headers, nanoseconds lifetime);
  storage::sequence last_of_subject(std::string_view subject);
  // --- atomic batches (stream_batch.cpp) ---
  void accept_batched(incoming& what);
  void abandon_batch(std::string_view id, std::string_view reason);
  void expire_batches();
  problem check_in_batch(const incoming& what, std::size_t index, const std::vector<std::string>& written);
  problem check_rollup_in_batch(const incoming& what, std::size_t index, const std::vector<std::string>& written) const;
  problem reserve_in_batch(incoming& what, std::size_t index, std::vector<std::string>& written);
  void commit_batch(std::string_view id, atomic_batch& batch, std::string_view reply);

  // --- copies from mirror and sources (stream_copies.cpp) ---
  friend class stream_intake;
  bool has_room_for_copy() const;
  void warn_of_lost_copy(storage::sequence number, std::string_view why);
  std::expected<intake_result, std::string> admit_copy(incoming& what);
  intake_result take_mirrored(const origin_message& from);
  intake_result take_sourced(const origin_message& from, std::string_view source_header, std::string_view origin_name,
                             std::string_view origin_subject, storage::sequence& copy);
  bool count_sourced(incoming& what, std::string_view origin_name, std::string_view origin_subject);
  void subscribe_mirror_direct();

  // --- message schedules (stream_schedules.cpp) ---
  problem check_schedule(incoming& what);
  problem check_cancellation(incoming& what);
  std::shared_ptr<const time_zone> find_zone(std::string_view name) const;
  bool is_schedule_subject(std::string_view subject, std::string_view own) const;
  void note_schedule(storage::sequence number, time_point due);
  void note_stored_schedule(const storage::stored_message& message, const publish_headers& known);
  void arm_schedule_timer();
  void run_schedules();
  void run_schedule(storage::sequence number);
  void end_schedule(storage::sequence number);

  // --- fast batches (stream_fast_batch.cpp) ---
  void accept_fast(incoming& what);
  fast_batch* find_fast_batch(const fast_control& control, std::string_view reply);
  void store_in_fast_batch(incoming& what, const fast_control& control, fast_batch& batch, std::string_view reply);
  void end_fast_batch(std::string_view id, std::string_view reply);
  void send_when_committed(std::string_view reply, std::string_view text);
  void send_text(std::string_view reply, std::string_view text);

  // --- committing (stream_commit.cpp) ---
  void answer(const staged_publish& what);
  void await_skips();
  void acknowledge(std::string_view reply, storage::sequence number, bool duplicate, std::string_view note = {});
  void refuse(std::string_view reply, const protocol::api_error& why, std::string_view headers = {});
  void answer_reached();
  void republish(storage::sequence number, storage::sequence last_of_subject);
  void on_committed(storage::sequence number, std::string_view subject, std::uint64_t record_bytes) override;
  void on_commit_failed(const error& why) override;

  // --- limits and retention (stream_limits.cpp) ---
  bool limits_remove() const { return !stored_.config.sealed; }
  void remove(storage::sequence number, removal_reason why, bool erase = false);
  void forget(storage::sequence number);
  void enforce_subject_limit(std::string_view subject);
  void enforce_totals();
  void enforce_everything();
  void roll_up(rollup_scope scope, std::string_view subject, storage::sequence below);

  // --- the end of messages (stream_expiry.cpp) ---
  void arm_age_timer();
  void expire();
  std::optional<std::pair<storage::sequence, time_point>> next_to_age();
  void end_of_life(storage::sequence number);
  void leave_marker(storage::sequence number);
  void note_lifetime(storage::sequence number, time_point stored, nanoseconds lifetime);
  void begin_header_scan();
  void scan_headers(int slice);
  void scan_more_headers();

  void scan_interest();
  void settle_usage();

  void subscribe_subjects();
  void subscribe_direct_get();
  std::vector<routing::subscription*> subscribe_direct_get_of(const std::string& name);
  void make_transforms();
  void load_last_message_id();
  void repeat_roll_ups();
  void rebuild_duplicate_window();
  void save();

  account_streams& owner_;
  publish_observer* observing() const {
    return surroundings_.observer != nullptr ? *surroundings_.observer : nullptr;
  }

  environment& surroundings_;
  storage::stream_record& record_;
  storage::stream_log& log_;
  stored_stream stored_;
  consumer_set consumers_;
  std::unique_ptr<direct_reader> direct_;

  std::vector<routing::subscription*> subject_interest_;
  std::vector<routing::subscription*> direct_interest_;
  std::vector<routing::subscription*> mirror_direct_interest_;  // on the origin's subject

  std::optional<routing::subject_transform> transform_;
  std::optional<routing::subject_transform> republish_;
  std::string transformed_subject_;
  std::string republish_subject_, republish_headers_;

  storage::sequence last_sequence_ = 0;
  time_point last_timestamp_{};
  std::string last_message_id_;
  storage::dedup_window duplicates_;
  staged_queue staged_;
  storage::sequence announced_ = 0;  // consumers know of messages up to here
  bool awaiting_skips_ = false;
  // Totals of counters whose last increment is not committed yet, by staged_'s hash of their subject (5.7).
  struct staged_total {
    storage::sequence number = 0;
    std::string total;
    std::string sources;  // of a sourced counter
  };
  std::unordered_map<std::uint64_t, staged_total> totals_;
  bool closed_ = false;
  bool listed_ = false;  // the account knows its subjects
  std::string ack_prefix_;  // `{"stream":"S","seq":`
  std::string ack_;

  std::deque<deferred_publish> deferred_;
  std::size_t deferred_bytes_ = 0;
  timer_queue::timer deferred_timer_;
  timer_queue::timer age_timer_;
  timer_queue::timer interest_timer_;
  timer_queue::timer scan_timer_;
  timer_queue::timer batch_timer_;
  timer_queue::timer schedule_timer_;
  atomic_batches batches_;
  std::map<std::string, fast_batch, std::less<>> fast_batches_;
  message_expiry expiry_;
  message_schedules schedules_;
  stream_intake intake_;
  storage::sequence scan_from_ = 0;           // headers from here on have not been looked at; 0: all have
  storage::sequence age_from_ = 0;            // what is older never ends by age
  storage::sequence interest_scan_from_ = 0;  // 0: no scan under way
  std::uint64_t counted_bytes_ = 0;           // of what the account was told
  std::string scratch_subject_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for actions that the store runs later
};

}  // namespace tern::jetstream
