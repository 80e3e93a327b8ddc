/// What a subscriber listens to. One class per delivery model, so that an option of the wrong model does not compile.
///
///     using namespace std::chrono_literals;
///     auto durable =
///     tern::service::jetstream("payments.authorized").stream("PAYMENTS").durable("capture").ack_wait(60s); auto events
///     = tern::service::core("payments.captured").queue_group("dashboard"); auto all =
///     tern::service::core_wildcard("payments.*");
///
/// Mistakes are found when the application starts, before anything goes over the network: errc::invalid_options.
/// Thread safety: plain values. Source: service specification section 3.
#pragma once

#include <tern/base/error.hpp>
#include <tern/base/time.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tern::service {

/// A literal Core subject: at most once, nothing to settle. Also a destination for a delayed copy.
class core {
 public:
  explicit core(std::string subject) : subject_(std::move(subject)) {}
  /// One member of the group gets each message.
  core queue_group(std::string name) && {
    queue_group_ = std::move(name);
    return std::move(*this);
  }
  const std::string& subject() const { return subject_; }
  const std::string& queue_group() const { return queue_group_; }

 private:
  std::string subject_;
  std::string queue_group_;
};

/// A Core pattern with `*` or `>`.
class core_wildcard {
 public:
  explicit core_wildcard(std::string pattern) : subject_(std::move(pattern)) {}
  core_wildcard queue_group(std::string name) && {
    queue_group_ = std::move(name);
    return std::move(*this);
  }
  const std::string& subject() const { return subject_; }
  const std::string& queue_group() const { return queue_group_; }

 private:
  std::string subject_;
  std::string queue_group_;
};

enum class deliver_from { all, last, fresh, by_start_sequence, by_start_time, last_per_subject };

/// A pull consumer on a stream, acknowledged explicitly. Made by `jetstream(subject).stream(name)`.
class jetstream_consumer {
 public:
  jetstream_consumer(std::string subject, std::string stream)
      : subject_(std::move(subject)), stream_(std::move(stream)), filters_{subject_} {}

  /// Survives restarts and is shared by all replicas that name it. Default: none, an ephemeral consumer.
  jetstream_consumer durable(std::string name) && {
    durable_ = std::move(name);
    return std::move(*this);
  }
  /// Default: the subject.
  jetstream_consumer filter(std::string subject) && {
    filters_ = {std::move(subject)};
    return std::move(*this);
  }
  jetstream_consumer filters(std::vector<std::string> subjects) && {
    filters_ = std::move(subjects);
    return std::move(*this);
  }
  /// How long the server waits for an outcome before it delivers again. Default 30 s, above zero. Choose it above the
  /// worst time of the handler, or use keep_alive().
  jetstream_consumer ack_wait(std::chrono::nanoseconds wait) && {
    ack_wait_ = wait;
    return std::move(*this);
  }
  /// How many deliveries may be without outcome at once. Default 1024.
  jetstream_consumer max_ack_pending(std::int64_t count) && {
    max_ack_pending_ = count;
    return std::move(*this);
  }
  /// Where a new consumer begins. Default all.
  jetstream_consumer deliver(deliver_from from) && {
    deliver_ = from;
    return std::move(*this);
  }
  jetstream_consumer deliver_from_sequence(std::uint64_t first) && {
    deliver_ = deliver_from::by_start_sequence;
    start_sequence_ = first;
    return std::move(*this);
  }
  jetstream_consumer deliver_from_time(time_point first) && {
    deliver_ = deliver_from::by_start_time;
    start_time_ = first;
    return std::move(*this);
  }
  /// Batches only: how long one fetch waits for a first message. Default 5 s.
  jetstream_consumer pull_expires(std::chrono::nanoseconds wait) && {
    pull_expires_ = wait;
    return std::move(*this);
  }
  /// Beyond the named options. Default: what the server chooses.
  jetstream_consumer max_deliver(std::int64_t count) && {
    max_deliver_ = count;
    return std::move(*this);
  }
  jetstream_consumer backoff(std::vector<std::chrono::nanoseconds> waits) && {
    backoff_ = std::move(waits);
    return std::move(*this);
  }
  jetstream_consumer inactive_threshold(std::chrono::nanoseconds wait) && {
    inactive_threshold_ = wait;
    return std::move(*this);
  }
  jetstream_consumer metadata(std::map<std::string, std::string> pairs) && {
    metadata_ = std::move(pairs);
    return std::move(*this);
  }
  /// Changes an existing durable to what is declared here. Default: a difference is an error at the start.
  jetstream_consumer update() && {
    update_ = true;
    return std::move(*this);
  }
  /// Uses an existing consumer, never changes it, fails if it is absent.
  jetstream_consumer bind() && {
    bind_ = true;
    return std::move(*this);
  }

  const std::string& subject() const { return subject_; }
  const std::string& stream() const { return stream_; }
  const std::string& durable() const { return durable_; }
  const std::vector<std::string>& filters() const { return filters_; }
  std::chrono::nanoseconds ack_wait() const { return ack_wait_; }
  std::int64_t max_ack_pending() const { return max_ack_pending_; }
  deliver_from deliver() const { return deliver_; }
  std::uint64_t start_sequence() const { return start_sequence_; }
  time_point start_time() const { return start_time_; }
  std::chrono::nanoseconds pull_expires() const { return pull_expires_; }
  const std::optional<std::int64_t>& max_deliver() const { return max_deliver_; }
  const std::vector<std::chrono::nanoseconds>& backoff() const { return backoff_; }
  const std::optional<std::chrono::nanoseconds>& inactive_threshold() const { return inactive_threshold_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  bool updates() const { return update_; }
  bool binds() const { return bind_; }

 private:
  std::string subject_;
  std::string stream_;
  std::string durable_;
  std::vector<std::string> filters_;
  std::chrono::nanoseconds ack_wait_ = std::chrono::seconds(30);
  std::int64_t max_ack_pending_ = 1024;
  deliver_from deliver_ = deliver_from::all;
  std::uint64_t start_sequence_ = 0;
  time_point start_time_{};
  std::chrono::nanoseconds pull_expires_ = std::chrono::seconds(5);
  std::optional<std::int64_t> max_deliver_;
  std::vector<std::chrono::nanoseconds> backoff_;
  std::optional<std::chrono::nanoseconds> inactive_threshold_;
  std::map<std::string, std::string> metadata_;
  bool update_ = false;
  bool bind_ = false;
};

/// Not a descriptor yet: a subject without a stream does not compile as one.
class jetstream {
 public:
  explicit jetstream(std::string subject) : subject_(std::move(subject)) {}
  /// The stream must exist when the application starts.
  jetstream_consumer stream(std::string name) && { return {std::move(subject_), std::move(name)}; }

 private:
  std::string subject_;
};

}  // namespace tern::service
