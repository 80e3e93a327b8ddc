// One consumer: where it stands in its stream, what it delivered and to whom, and what came back (jetstream 11-17).
//
// A state machine: it is told of messages, requests, acknowledgements and time, and answers by publishing in its
// account and by deltas in the store. Owned by the stream's consumer_set; one shard.
//
// Invariants: state_.pending holds exactly what was delivered and neither settled nor given up; num_pending_ is the
// number of committed matches that were not delivered yet, as of the last commit the set told of; a message is first
// published and then counted as delivered, so that one nobody took was never delivered.
#pragma once

#include "base/timer_queue.hpp"
#include "jetstream/consumer/ack_body.hpp"
#include "jetstream/consumer/consumer_config.hpp"
#include "jetstream/consumer/consumer_deltas.hpp"
#include "jetstream/consumer/consumer_info.hpp"
#include "jetstream/consumer/pull_queue.hpp"
#include "jetstream/stream_context.hpp"
#include "protocol/jetstream_error.hpp"
#include "routing/account.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tern::jetstream {

class consumer;
class push_delivery;

// What a consumer asks of the set that owns it.
class consumer_owner {
 public:
  virtual ~consumer_owner() = default;
  virtual stream_context& stream() = 0;
  // The last message that the set was told of; later ones are not looked at yet.
  virtual storage::sequence last_committed() const = 0;
  // Nobody used the consumer for its inactive_threshold (13.10). It may be gone when this returns.
  virtual void on_inactive(consumer& who) = 0;
};

class consumer final : public routing::receiver {
 public:
  consumer(consumer_owner& owner, consumer_config config, std::string name, time_point created,
           storage::consumer_record& record);
  ~consumer() override;
  consumer(const consumer&) = delete;
  consumer& operator=(const consumer&) = delete;

  // --- life ---
  void start_new();  // chooses the start position (13.2) and writes it down
  void resume();     // takes what the store recovered, pulled back into the stream (22)
  void open();       // from now on requests, acknowledgements and time reach it
  // Nothing reaches it any more and nothing is delivered; waiting pulls are told later, by end_pulls().
  void retire();
  void forget_record();  // its record is about to go; nothing of this consumer reaches the disk any more
  // Waiting pulls are told `409 <why>`; `with_pending` adds what was left of them.
  void end_pulls(std::string_view why, bool with_pending);
  // Deliveries wait until release(): the answer to the create comes first (Appendix B).
  void hold() { held_ = true; }
  void release();
  void wake() { wake_soon(); }
  void update(consumer_config config);
  void flush();  // hands buffered deltas to the store

  // --- what it is ---
  const std::string& name() const { return name_; }
  const consumer_config& config() const { return config_; }
  time_point created() const { return created_; }
  const consumer_state& state() const { return state_; }
  consumer_info info();
  bool bound() const;  // push: somebody listens on the deliver subject

  // --- what the stream tells ---
  void on_match(storage::sequence number);
  void on_removed(storage::sequence number, bool announced);
  // `count_anew`: not every removed message was told by on_removed().
  void on_purged(std::string_view subject_pattern, bool count_anew);
  bool needs(storage::sequence number) const;

  // --- API ---
  // An empty time resumes. Returns what stands in the answer.
  void pause(std::optional<zoned_time> until);
  bool paused() const;
  void tell_paused();
  std::optional<protocol::api_error> unpin(std::string_view group);

  // --- receiver ---
  bool deliver(routing::subscription& to, const routing::message& what) override;

  std::uint64_t visit_mark = 0;  // the set's: tells consumers that several filters matched at once

 private:
  friend class push_delivery;
  enum class supply { ready, blocked, later, none };
  // A message on its way out. `entry` is set for a redelivery.
  struct candidate {
    storage::stored_message message;
    pending_entry* entry = nullptr;
    std::string_view headers;  // as they are sent
    std::string_view payload;
    std::string_view reply;
    std::uint64_t size = 0;  // as max_bytes and flow control count it
  };
  enum class step { delivered, stop };

  // consumer.cpp
  environment& around() const { return owner_.stream().surroundings(); }
  routing::account& account() const { return owner_.stream().account(); }
  storage::stream_log& log() const { return owner_.stream().log(); }
  time_point now() const { return around().now(); }
  void supply_snapshots();
  void subscribe();
  void recount();
  void adopt_filters();
  bool forget_removed();
  void touch() { last_activity_ = now(); }
  void on_inactivity_clock();
  void arm_inactivity();

  // consumer_start.cpp
  storage::sequence start_position();
  void build_skip_list();
  bool clamp_to_stream();
  void arm_recovered();

  // consumer_delivery.cpp
  void pump();
  void wake_soon();
  bool keeps_pending() const { return config_.ack_policy != ack_mode::none; }
  bool at_pending_limit() const;
  supply next_message(candidate& out);
  supply next_redelivery(candidate& out);
  supply next_new(candidate& out);
  supply hold_for_replay(const storage::stored_message& message);
  void dress(candidate& what);
  bool send(std::string_view to, candidate& what, std::string_view pin);
  void count_delivery(candidate& what);
  step pull_step();
  step push_step();
  nanoseconds wait_after(std::uint64_t deliveries) const;
  void set_deadline(pending_entry& entry, time_point due);
  void arm_redelivery(time_point due);
  void on_redelivery_clock();
  bool is_current(storage::sequence number, time_point due) const;
  bool spent(const pending_entry& entry) const;
  void give_up(pending_entry& entry);
  void drop_pending(storage::sequence number);

  // consumer_pulls.cpp
  void on_pull(std::string_view reply, std::string_view headers, std::string_view body);
  void on_pull_clock(waiting_pull& pull);
  std::optional<std::string> refuse_pull(const parsed_pull& pull);
  bool admit_no_wait(const pull_request& asked, std::string_view reply);
  bool others_want_more_than(std::uint64_t available);
  void drop_dead_pulls();
  bool eligible(const waiting_pull& pull) const;
  waiting_pull* pick_pull();
  void after_delivery(waiting_pull& pull, std::uint64_t size);
  void end_no_wait_pulls();
  void end_pull(waiting_pull& pull, int code, std::string_view text, bool with_pending);
  void send_status(std::string_view to, int code, std::string_view text);
  void send_heartbeat(std::string_view to);
  void expire_pin(std::string_view reason);
  void pin(waiting_pull& pull, std::string id);

  // consumer_acks.cpp
  void on_ack(std::string_view numbers, const routing::message& what);
  bool apply_ack(const ack_numbers& numbers, bool sampled);
  void apply_ack_all(const ack_numbers& numbers);
  void apply_nak(const ack_numbers& numbers, const ack_body& body);
  void apply_progress(const ack_numbers& numbers);
  void confirm(std::string_view reply);
  void settle(storage::sequence number);

  // consumer_events.cpp
  void tell_max_deliveries(storage::sequence number, std::uint64_t deliveries);
  void tell_nak(const ack_numbers& numbers);
  void tell_terminated(const ack_numbers& numbers, std::string_view reason);
  void tell_pin(std::string_view what, std::string_view type, std::string_view extra_key, std::string_view extra);
  void sample_ack(const ack_numbers& numbers, const pending_entry& entry);
  std::string event_subject(std::string_view what) const;

  // consumer_reset.cpp
  void on_reset(const routing::message& what);
  void reset_to(storage::sequence number);
  void arm_pause();

  void note_delta();

  consumer_owner& owner_;
  consumer_config config_;
  std::string name_;
  time_point created_;
  storage::consumer_record& record_;
  bool durable_state_ = false;  // deltas go to the disk
  bool open_ = false;
  bool held_ = false;
  bool pause_was_armed_ = false;

  consumer_state state_;
  redelivery_queue redelivery_;
  deadline_queue deadlines_;
  std::uint64_t num_pending_ = 0;
  std::unique_ptr<storage::match_cursor> cursor_;
  storage::sequence last_counted_ = 0;
  std::optional<time_point> last_delivery_at_, last_ack_at_;
  delta_writer deltas_;

  bool pumping_ = false;
  std::uint64_t sent_bytes_ = 0;
  int sample_percent_ = 0;
  storage::sequence replay_until_ = 0;      // original pace up to here
  std::optional<time_point> replay_stamp_;  // of the message delivered last
  time_point replay_at_{};                  // when it was

  pull_queue pulls_;
  std::string pin_id_;
  std::optional<time_point> pinned_at_;
  time_point last_eviction_{};
  time_point last_activity_{};

  std::unique_ptr<push_delivery> push_;

  std::vector<routing::subscription*> subscriptions_;
  std::string ack_prefix_;
  std::string reply_buffer_, header_buffer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for actions that wait for the disk

  timer_queue::timer redelivery_timer_, pump_timer_, flush_timer_, inactivity_timer_, pin_timer_, pause_timer_;
};

}  // namespace tern::jetstream
