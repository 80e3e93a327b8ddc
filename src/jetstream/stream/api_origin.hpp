// An origin that is read through the JetStream API, with the requests and the push consumer that nats-server uses
// (jetstream 7.2). Streams of the same account, of another one that exports its API and of another server behind a leaf
// node are the same to it: who answers is a matter of routing.
#pragma once

#include "base/timer_queue.hpp"
#include "jetstream/environment.hpp"
#include "jetstream/stream/stream_config.hpp"
#include "jetstream/stream/stream_origin.hpp"
#include "routing/account.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tern::jetstream {

// A state machine: closed -> asking (a create or reset request is out) -> reading -> waiting (to ask again) -> asking.
// Owned by the stream that reads; one shard. Invariant: last_consumer_ is the consumer sequence of the last message
// that the reader took or passed over, so a gap shows with the next message or heartbeat.
class api_origin final : public stream_origin, private routing::receiver {
 public:
  enum class purpose : std::uint8_t { mirror, source };

  // `reader_name`: the stream that reads; `config` outlives this object.
  api_origin(origin_reader& reader, routing::account& account, environment& surroundings, purpose what,
             std::string_view reader_name, const stream_source& config);
  ~api_origin() override;

  void open() override;
  void close(bool forget) override;
  void restart() override;
  std::uint64_t lag() const override { return lag_; }
  std::optional<time_point> last_seen() const override { return last_seen_; }
  const std::optional<protocol::api_error>& problem() const override { return problem_; }

 private:
  enum class stage : std::uint8_t { closed, asking, reading, waiting };

  bool deliver(routing::subscription& to, const routing::message& what) override;
  void on_clock();
  void ask();
  void ask_to_create(std::string_view reply);
  void ask_to_reset(std::string_view reply);
  std::string api_subject(std::string_view operation) const;
  void on_answer(const routing::message& what);
  void on_refused(const protocol::api_error& why);
  void on_delivery(const routing::message& what);
  void on_status(const routing::message& what);
  void confirm(std::string_view to);
  void fail_attempt();
  void ask_again();
  void drop_subscriptions();
  bool names_its_consumer() const { return config_.consumer.has_value(); }

  origin_reader& reader_;
  routing::account& account_;
  environment& surroundings_;
  const purpose purpose_;
  const std::string reader_name_;
  const stream_source& config_;
  std::string consumer_name_;  // asked for
  std::string made_name_;      // as the origin calls it; empty: none was made
  stage stage_ = stage::closed;
  bool plain_ = false;      // the origin is too old to know of sourcing
  bool overtaken_ = false;  // deliveries came before the answer that announces them
  routing::subscription* answers_ = nullptr;
  routing::subscription* deliveries_ = nullptr;
  std::string deliver_subject_;
  std::uint64_t last_consumer_ = 0;
  storage::sequence last_stream_ = 0;
  std::uint64_t lag_ = 0;
  int failures_ = 0;
  std::optional<time_point> last_attempt_, last_seen_;
  std::optional<protocol::api_error> problem_;
  timer_queue::timer clock_;  // asking: no answer; reading: silence; waiting: the next attempt
  std::uint64_t round_ = 0;   // of asking: what belongs to an earlier one is passed over
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tern::jetstream
