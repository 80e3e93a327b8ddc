// What a push consumer has beyond a pull consumer: who listens, heartbeats, flow control and the rate limit (jetstream
// 16, 13.12). Part of its consumer, which owns it while it is open.
#pragma once

#include "base/timer_queue.hpp"
#include "routing/account.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tern::jetstream {

class consumer;

class push_delivery {
 public:
  explicit push_delivery(consumer& owner);

  void start();
  // `moved`: the deliver subject or group is another one; what is pending goes there at once (12.2).
  void adopt_config(bool moved);

  bool bound() const { return bound_; }
  time_point unbound_since() const { return unbound_since_; }

  // --- around one delivery ---
  bool may_send() const;            // somebody listens and the flow control window is open
  bool afford(std::uint64_t size);  // the rate limit lets it pass; else the consumer is woken when it does
  void on_sent(std::uint64_t size);
  void on_refused();  // nobody took it

  // `id` is the last token of the flow control subject that was answered.
  void on_flow_answer(std::string_view id, const routing::message& what);
  // The header of heartbeats while an answer is missing, or nothing.
  std::string stalled_header() const;

 private:
  void watch();
  void on_interest_changed();
  void on_heartbeat_clock();
  void arm_heartbeat();
  void ask_for_answer();
  std::string flow_subject() const;

  consumer& owner_;
  std::unique_ptr<routing::account::interest_watch> watch_;
  bool bound_ = false;
  time_point unbound_since_{};
  time_point last_sent_{};

  std::uint64_t window_ = 0;       // bytes; 0: no flow control
  std::uint64_t outstanding_ = 0;  // sent and not covered by an answer
  std::string asked_id_;           // of the request that waits for its answer
  std::uint64_t asked_bytes_ = 0;  // what that answer covers

  double tokens_ = 0;  // bytes the rate limit would let pass now
  time_point tokens_at_{};

  timer_queue::timer heartbeat_timer_;
};

}  // namespace tern::jetstream
