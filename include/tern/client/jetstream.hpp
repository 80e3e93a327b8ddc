/// Streams and consumers: publishing with acknowledgement, the JetStream API, and pull consumers.
///
///     jetstream js(connection);
///     auto ack = js.publish("orders.placed", body, publish_options().message_id("o-1")).get();
///     if (!ack && ack.error().code() == errc::no_stream_for_subject) ...
///
/// API errors are errc::api_error with error::api_code() (10059: no such stream, 10014: no such consumer ...); those
/// with a meaning of their own also have a code of their own and keep the number: errc::not_found for 10059, 10014 and
/// 10037, errc::already_exists for 10058, 10013 and 10148, errc::wrong_last_sequence for 10071 and 10164. A server
/// without JetStream is errc::no_responders. A handle that may be copied. Thread safety: all functions from any thread.
/// Source: jetstream 1 to 5, 8, 9, 12; service 11.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tern/client/connection.hpp>
#include <tern/client/jetstream_message.hpp>
#include <tern/client/jetstream_records.hpp>
#include <tern/client/ordered_consumer.hpp>
#include <tern/client/pull_consumer.hpp>
#include <tern/client/push_consumer.hpp>

namespace tern::client {

class jetstream_options {
 public:
  /// Another domain: the API is `$JS.<domain>.API`. Default: the connection's own.
  jetstream_options& domain(std::string_view name) {
    prefix_ = "$JS." + std::string(name) + ".API";
    return *this;
  }
  jetstream_options& api_prefix(std::string_view prefix) {
    prefix_ = prefix;
    return *this;
  }  ///< Default "$JS.API".
  /// Asynchronous publishes that may wait for their ack; more wait their turn. Default 256.
  jetstream_options& publish_window(std::size_t messages) {
    window_ = messages;
    return *this;
  }
  jetstream_options& api_timeout(nanoseconds patience) {
    api_timeout_ = patience;
    return *this;
  }
  jetstream_options& ack_timeout(nanoseconds patience) {
    ack_timeout_ = patience;
    return *this;
  }
  /// When no stream takes the subject: so many more attempts, so far apart. Default 2, 250 ms.
  jetstream_options& no_responder_retries(std::uint32_t attempts, nanoseconds apart) {
    retries_ = attempts;
    retry_pause_ = apart;
    return *this;
  }

  const std::string& api_prefix() const { return prefix_; }
  std::size_t publish_window() const { return window_; }
  std::optional<nanoseconds> api_timeout() const { return api_timeout_; }
  std::optional<nanoseconds> ack_timeout() const { return ack_timeout_; }
  std::uint32_t retries() const { return retries_; }
  nanoseconds retry_pause() const { return retry_pause_; }

 private:
  std::string prefix_ = "$JS.API";
  std::size_t window_ = 256;
  std::optional<nanoseconds> api_timeout_;
  std::optional<nanoseconds> ack_timeout_;
  std::uint32_t retries_ = 2;
  nanoseconds retry_pause_ = std::chrono::milliseconds(250);
};

/// What a publish expects of the stream, as headers (jetstream 5.4).
class publish_options {
 public:
  publish_options& message_id(std::string_view id) {
    headers_.set("Nats-Msg-Id", id);
    return *this;
  }
  publish_options& expect_stream(std::string_view name) {
    headers_.set("Nats-Expected-Stream", name);
    return *this;
  }
  publish_options& expect_last_sequence(std::uint64_t sequence);
  publish_options& expect_last_subject_sequence(std::uint64_t sequence);
  publish_options& expect_last_message_id(std::string_view id) {
    headers_.set("Nats-Expected-Last-Msg-Id", id);
    return *this;
  }
  /// Of the last message on a subject with wildcards instead of this one's subject.
  publish_options& expect_last_subject_sequence(std::uint64_t sequence, std::string_view subject);
  publish_options& ttl(nanoseconds life);  ///< Whole seconds, at least one; the stream must allow it.
  publish_options& no_expiry() {
    headers_.set("Nats-TTL", "never");
    return *this;
  }  ///< Outlives max_age too.
  /// Stores it, then removes the earlier messages of its subject, or all of them; the stream must allow roll-ups.
  publish_options& rollup_subject() {
    headers_.set("Nats-Rollup", "sub");
    return *this;
  }
  publish_options& rollup_all() {
    headers_.set("Nats-Rollup", "all");
    return *this;
  }
  /// Adds to the counter of the subject: "+1", "-12"; the payload must be empty (jetstream 5.7).
  publish_options& increment(std::string_view by) {
    headers_.set("Nats-Incr", by);
    return *this;
  }
  /// The stream publishes the message on `target` by itself: `@at <RFC 3339>`, `@every 5m`, cron (jetstream 5.9).
  publish_options& schedule(std::string_view when, std::string_view target) {
    headers_.set("Nats-Schedule", when).set("Nats-Schedule-Target", target);
    return *this;
  }
  publish_options& schedule_at(time_point when, std::string_view target);
  publish_options& schedule_source(std::string_view subject) {
    headers_.set("Nats-Schedule-Source", subject);
    return *this;
  }  ///< What is published then is the last message there.
  publish_options& schedule_time_zone(std::string_view name) {
    headers_.set("Nats-Schedule-Time-Zone", name);
    return *this;
  }
  publish_options& schedule_ttl(nanoseconds life);  ///< Of what is published then.
  publish_options& header(std::string_view name, std::string_view value) {
    headers_.add(name, value);
    return *this;
  }
  publish_options& headers(const client::headers& with);  ///< Adds them all.
  publish_options& timeout(nanoseconds patience) {
    timeout_ = patience;
    return *this;
  }

  const client::headers& headers() const { return headers_; }
  std::optional<nanoseconds> timeout() const { return timeout_; }

 private:
  client::headers headers_;
  std::optional<nanoseconds> timeout_;
};

namespace detail {
class jetstream_core;
}

class jetstream {
 public:
  using ack_callback = std::move_only_function<void(result<pub_ack>)>;

  jetstream() = default;
  explicit jetstream(const connection& over, const jetstream_options& with = {});

  /// Waits for the stream's ack. errc::no_stream_for_subject after the retries, errc::timeout,
  /// errc::wrong_last_sequence, errc::api_error.
  operation<pub_ack> publish(std::string_view subject, std::string_view payload, const publish_options& with = {});
  /// Sends at once, or when the window has room: on the loop's own thread it never waits (errc::limit_exceeded at four
  /// windows), elsewhere it waits for room. The callback runs on the loop, once. No retry when there is no responder.
  result<void> publish_async(std::string_view subject, std::string_view payload, ack_callback done,
                             const publish_options& with = {});
  /// Acks that publish_async() still waits for; and the moment when there are none and all callbacks have run.
  std::size_t publish_async_pending() const;
  operation<void> publish_async_complete();

  template <json_payload T>
  operation<pub_ack> publish(std::string_view subject, const T& value, const publish_options& with = {}) {
    return publish(subject, std::string_view(codec::to_json(value)), with);
  }
  template <class T>
    requires unsafe_in_co_await<T> && json_payload<T>
  operation<pub_ack> publish(std::string_view subject, T&& name_the_value_first,
                             const publish_options& with = {}) = delete;

  operation<client::account_info> account_info();

  operation<client::stream_info> create_stream(const stream_config& config);
  operation<client::stream_info> update_stream(const stream_config& config);
  operation<client::stream_info> stream_info(std::string_view stream);
  operation<client::stream_info> stream_info(std::string_view stream, const stream_info_options& with);
  /// All pages. `subject` restricts to streams that may take it.
  operation<std::vector<std::string>> stream_names(std::string_view subject = {});
  operation<std::vector<client::stream_info>> streams(std::string_view subject = {});
  operation<void> delete_stream(std::string_view stream);
  /// How many messages went.
  operation<std::uint64_t> purge_stream(std::string_view stream);
  operation<std::uint64_t> purge_stream(std::string_view stream, const purge_options& what);

  operation<stored_message> get_message(std::string_view stream, std::uint64_t sequence);
  operation<stored_message> get_last_message(std::string_view stream, std::string_view subject);
  operation<stored_message> get_message(std::string_view stream, const message_query& which);
  /// The same without JSON, from any replica; the stream must allow it.
  operation<stored_message> direct_get(std::string_view stream, std::uint64_t sequence);
  operation<stored_message> direct_get_last(std::string_view stream, std::string_view subject);
  operation<stored_message> direct_get(std::string_view stream, const message_query& which);
  /// errc::not_found when there is none at all.
  operation<std::vector<stored_message>> direct_get_batch(std::string_view stream, const batch_query& which);
  operation<std::vector<stored_message>> direct_get_last_of(std::string_view stream, const last_messages_query& which);
  /// `erase` overwrites the bytes.
  operation<void> delete_message(std::string_view stream, std::uint64_t sequence, bool erase = true);

  /// create: errc::already_exists when one of that name differs. update: it must exist. create_or_update: either way.
  operation<client::consumer_info> create_consumer(std::string_view stream, const consumer_config& config);
  operation<client::consumer_info> update_consumer(std::string_view stream, const consumer_config& config);
  operation<client::consumer_info> create_or_update_consumer(std::string_view stream, const consumer_config& config);
  operation<client::consumer_info> consumer_info(std::string_view stream, std::string_view consumer);
  operation<std::vector<std::string>> consumer_names(std::string_view stream);
  operation<std::vector<client::consumer_info>> consumers(std::string_view stream);
  operation<void> delete_consumer(std::string_view stream, std::string_view consumer);
  /// Nothing is delivered until then; a pull request waits meanwhile.
  operation<pause_state> pause_consumer(std::string_view stream, std::string_view consumer, time_point until);
  operation<pause_state> resume_consumer(std::string_view stream, std::string_view consumer);
  /// Takes the pin from the client that a priority group is pinned to.
  operation<void> unpin_consumer(std::string_view stream, std::string_view consumer, std::string_view group);
  /// Delivery begins again behind the ack floor, or at `sequence` where the consumer's policy allows it.
  operation<client::consumer_info> reset_consumer(std::string_view stream, std::string_view consumer,
                                                  std::optional<std::uint64_t> sequence = {});

  /// Every message once and in order, without acknowledgements (ordered_consumer.hpp).
  result<ordered_consumer> ordered(std::string_view stream, const ordered_options& with = {});
  result<ordered_consumer> ordered(std::string_view stream, ordered_consumer::callback callback,
                                   const ordered_options& with = {});
  /// Messages of a push consumer (push_consumer.hpp). Asks for its deliver subject and group; errc::invalid_argument
  /// for a pull consumer, errc::already_exists when another plain subscriber is bound to it.
  operation<push_subscription> push(std::string_view stream, std::string_view consumer);
  operation<push_subscription> push(std::string_view stream, std::string_view consumer,
                                    push_subscription::callback callback);

  /// No call to the server: the consumer must exist when it is used.
  client::pull_consumer pull_consumer(std::string_view stream, std::string_view consumer) const;

  // Records in place do not compile in a co_await on gcc 12 (coroutine_guard.hpp).
  template <class T>
    requires unsafe_in_co_await<T>
  operation<client::stream_info> create_stream(T&& name_the_value_first) = delete;
  template <class T>
    requires unsafe_in_co_await<T>
  operation<client::stream_info> update_stream(T&& name_the_value_first) = delete;
  template <class T>
    requires unsafe_in_co_await<T>
  operation<client::consumer_info> create_consumer(std::string_view, T&& name_the_value_first) = delete;
  template <class T>
    requires unsafe_in_co_await<T>
  operation<client::consumer_info> update_consumer(std::string_view, T&& name_the_value_first) = delete;
  template <class T>
    requires unsafe_in_co_await<T>
  operation<client::consumer_info> create_or_update_consumer(std::string_view, T&& name_the_value_first) = delete;

  const client::connection& base() const { return connection_; }
  const std::shared_ptr<detail::jetstream_core>& core() const { return core_; }  // for the library itself

 private:
  client::connection connection_;
  std::shared_ptr<detail::jetstream_core> core_;
};

}  // namespace tern::client
