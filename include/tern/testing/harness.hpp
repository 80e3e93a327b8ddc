/// Tests of services against the real engine: in process, in memory, under a paused clock.
///
///     TEST(payments, a_busy_bank_is_asked_again_after_30_seconds) {
///       tern::testing::world world;
///       world.broker().stream("PAYMENTS", {"payments.authorized"});
///       auto app = world.start(make_app());
///       world.broker().publish("payments.authorized", payment{1, "busy", 1250});
///       world.advance(std::chrono::seconds(30));
///       app.subscriber("payments.authorized").assert_called(2);
///     }
///
/// The broker is Tern's server with memory streams, so the same application meets the same semantics as in production.
/// Every call that may cause work drives everything to quiescence: no ready handler, no queued delivery. Time stands
/// still but for advance(); a handler that waits for time simply stays in flight. An application with several brokers
/// finds one server for each, by its name; `world.broker()` is the one named "nats". Failed assertions throw
/// assertion_failed, which every test framework reports. One thread. Source: service specification section 20.
#pragma once

#include <tern/base/error.hpp>
#include <tern/base/time.hpp>
#include <tern/client/connection.hpp>
#include <tern/client/jetstream.hpp>
#include <tern/codec/codec.hpp>
#include <tern/service/app.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tern::testing {

class assertion_failed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
[[noreturn]] void fail_assertion(const std::string& text);

/// More work than `world_options::step_budget` in one drive: usually a message that is retried at once for ever.
class not_quiescent : public assertion_failed {
 public:
  using assertion_failed::assertion_failed;
};

class world_options {
 public:
  /// Deliveries in one drive before it counts as a loop that never ends. Default 100 000.
  world_options& step_budget(std::size_t deliveries) {
    step_budget_ = deliveries;
    return *this;
  }
  /// Seeds every choice that is random in production. Default 1.
  world_options& seed(std::uint64_t value) {
    seed_ = value;
    return *this;
  }
  /// Against a real server, "nats://127.0.0.1:4222", for every broker name: real time, which wait_until() waits for;
  /// advance() and cutting connections are refused. Each step has ten seconds.
  world_options& live(std::string url) {
    live_ = std::move(url);
    return *this;
  }
  const std::string& live() const { return live_; }
  std::size_t step_budget() const { return step_budget_; }
  std::uint64_t seed() const { return seed_; }

 private:
  std::size_t step_budget_ = 100'000;
  std::uint64_t seed_ = 1;
  std::string live_;
};

/// What an application published.
struct published_message {
  std::string subject;
  std::string payload;
  client::headers headers;
  std::string message_id;  ///< of its `Nats-Msg-Id`
};

/// What a stream holds.
struct stored_message {
  std::string subject;
  std::uint64_t sequence = 0;
  std::string payload;
  client::headers headers;
};

/// What one delivery came to.
struct recorded_delivery {
  std::string subject;
  std::string payload;
  std::uint64_t attempt = 1;
  std::uint64_t stream_sequence = 0;  ///< 0 on Core
  bool ended = false;                 ///< false while the handler runs
  std::string outcome;                ///< ack, retry, retry_after(30s), drop, decode_failed, threw, unsettled
  std::string settlement;             ///< what the broker accepted: acked, nacked, terminated, unsupported, ...
};

namespace detail {
class world_core;
class app_record;
}  // namespace detail

/// One subscription of a running application, as the test sees it.
class test_subscriber {
 public:
  test_subscriber(std::shared_ptr<detail::app_record> record, std::string name)
      : record_(std::move(record)), name_(std::move(name)) {}

  const std::vector<recorded_delivery>& deliveries() const;
  /// Calls of the handler: deliveries whose payload could be decoded.
  std::size_t calls() const;
  std::vector<std::string> outcomes() const;
  std::vector<std::string> settlements() const;
  std::vector<std::size_t> batch_sizes() const;
  /// Deliveries of one stream sequence so far.
  std::size_t attempts(std::uint64_t stream_sequence) const;
  template <class T>
  std::vector<T> received() const {
    std::vector<T> values;
    for (const auto& each : deliveries()) {
      if (auto value = codec::json_codec::decode<T>(each.payload)) values.push_back(*std::move(value));
    }
    return values;
  }

  void assert_called_once() const { assert_called(1); }
  void assert_called(std::size_t times) const;
  void assert_not_called() const { assert_called(0); }
  void assert_outcomes(const std::vector<std::string>& expected) const;
  void assert_received_bytes(std::string_view payload) const;
  template <class T>
  void assert_called_with(const T& value) const {
    assert_received_bytes(codec::to_json(value));
  }

 private:
  std::shared_ptr<detail::app_record> record_;
  std::string name_;
};

/// An application that runs in a world.
class test_app {
 public:
  test_app() = default;
  test_app(std::shared_ptr<detail::world_core> world, std::shared_ptr<detail::app_record> record)
      : world_(std::move(world)), record_(std::move(record)) {}

  /// By the registration's name. Throws when there is none.
  test_subscriber subscriber(std::string_view name) const;
  std::vector<published_message> published(std::string_view subject) const;
  template <class T>
  std::vector<T> published_as(std::string_view subject) const {
    std::vector<T> values;
    for (const auto& each : published(subject)) {
      if (auto value = codec::json_codec::decode<T>(each.payload)) values.push_back(*std::move(value));
    }
    return values;
  }
  /// Exactly one message on that subject, with this value.
  template <class T>
  void assert_published_once(std::string_view subject, const T& value) const {
    assert_published_bytes_once(subject, codec::to_json(value));
  }
  void assert_published_bytes_once(std::string_view subject, std::string_view payload) const;

  /// The error of a fail fast, if the application stopped itself.
  std::optional<error> run_result() const;
  void assert_running() const;
  service::health health() const;
  service::subscription_counters counters(std::string_view subscription) const;
  service::publisher publisher(std::string_view broker = {}) const;
  const std::vector<service::log_record>& logs() const;
  bool logged(service::log_level level, std::string_view part) const;

  // --- faults ---
  /// The framework's next publish on that subject fails so.
  void fail_next_publish(std::string_view subject, error why);
  /// The next settlements are lost on their way.
  void drop_settlements(std::size_t count);
  /// Its process dies: connections close, nothing is settled.
  void crash();

  // --- the end ---
  /// The real sequence, driven to its end. Throws when handlers wait for time: then begin_shutdown(), advance(), and
  /// this.
  result<void> shutdown();
  void begin_shutdown();
  bool shut_down() const;

  std::string history() const;  ///< for failure texts

 private:
  std::shared_ptr<detail::world_core> world_;
  std::shared_ptr<detail::app_record> record_;
};

/// One server of a world.
class broker {
 public:
  broker(std::shared_ptr<detail::world_core> world, std::string name)
      : world_(std::move(world)), name_(std::move(name)) {}

  /// A memory stream.
  broker& stream(std::string name, std::vector<std::string> subjects);
  broker& stream(client::stream_config config);

  /// As JSON, over Core (a stream that takes the subject stores it); then everything runs until it is quiet.
  template <client::json_payload T>
  void publish(std::string_view subject, const T& value) {
    publish(subject, std::string_view(codec::to_json(value)), {});
  }
  void publish(std::string_view subject, std::string_view bytes, const client::headers& headers = {});
  /// One answer; errc::timeout when none comes without time passing.
  result<client::message> request(std::string_view subject, std::string_view bytes);

  bool has_stream(std::string_view stream);
  client::stream_info stream_info(std::string_view stream);
  client::consumer_info consumer_info(std::string_view stream, std::string_view consumer);
  /// All that the stream holds.
  std::vector<stored_message> stored(std::string_view stream);
  void delete_consumer(std::string_view stream, std::string_view consumer);
  void delete_stream(std::string_view stream);
  /// Cuts every connection and refuses new ones, until reconnect().
  void disconnect();
  void reconnect();
  /// The test's own connection; drive the world to make its operations complete.
  client::connection& connection();

 private:
  std::shared_ptr<detail::world_core> world_;
  std::string name_;
};

/// A paused clock, servers, and the applications that were started in it.
class world {
 public:
  explicit world(const world_options& with = {});
  ~world();
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  testing::broker broker(std::string_view name = "nats");
  /// Starts an application on this world's servers; throws assertion_failed when it does not start.
  test_app start(service::app what);
  /// The same for tests of wrong starts.
  result<test_app> try_start(service::app what);

  /// Runs what can run without time passing.
  void settle();
  /// Moves the clock from timer to timer, in due order, running what each causes.
  void advance(std::chrono::nanoseconds by);
  /// Lets time pass until the condition holds: false when it does not within `patience`. The one way to wait that works
  /// in process and against a real server alike. The condition is looked at after each turn, so keep it cheap.
  bool wait_until(const std::function<bool()>& condition, std::chrono::nanoseconds patience = std::chrono::seconds(10));
  time_point now() const;

 private:
  std::shared_ptr<detail::world_core> core_;
};

}  // namespace tern::testing
