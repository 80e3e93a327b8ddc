/// What a handler may know about its delivery besides the payload, and how its parameters ask for it.
///
///     void note(const payment& p, tern::service::context& delivery, tern::service::nats::delivered_count attempt,
///               tern::service::state<bank> bank);
///
/// A context lives as long as its delivery is being handled; references to it stay valid across suspension of a
/// coroutine handler. Thread safety: the application's own thread. Source: service specification section 4.
#pragma once

#include <tern/base/error.hpp>
#include <tern/base/time.hpp>
#include <tern/client/message.hpp>
#include <tern/client/options.hpp>
#include <tern/service/outcome.hpp>

#include <any>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

namespace tern::service {

/// A NATS broker: where it is (an application's builder takes it), and the facts that it tells about each delivery.
///
///     app_builder("payments", "0.1.0").broker(nats("nats://localhost:4222"), [](auto& scope) { ... });
///     void note(const payment& p, field<nats::stream_sequence> at);
class nats {
 public:
  // Keys of field<K>, read from the ack subject; all empty on a Core delivery.
  struct stream {
    using value_type = std::string_view;
  };
  struct consumer {
    using value_type = std::string_view;
  };
  struct stream_sequence {
    using value_type = std::uint64_t;
  };
  struct consumer_sequence {
    using value_type = std::uint64_t;
  };
  struct delivered {
    using value_type = std::uint64_t;
  };
  struct pending {
    using value_type = std::uint64_t;
  };
  struct timestamp {
    using value_type = time_point;
  };

  /// Deliveries of this message so far, 1 on the first. JetStream descriptors only: on a Core one it does not compile.
  class delivered_count {
   public:
    explicit constexpr delivered_count(std::uint64_t count) : count_(count) {}
    constexpr operator std::uint64_t() const { return count_; }

   private:
    std::uint64_t count_;
  };

  /// One URL or several, parted by commas.
  explicit nats(std::string_view urls) : connect_(urls) {}
  /// Everything else about the connection.
  explicit nats(client::options connect) : connect_(std::move(connect)) {}
  const client::options& connect() const { return connect_; }

 private:
  client::options connect_;
};

class context {
 public:
  context(client::message&& received, std::string_view subscription_name, void* app_state, time_point deadline)
      : message_(std::move(received)), subscription_(subscription_name), app_state_(app_state), deadline_(deadline) {
    metadata_ = message_.jetstream();
  }
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  std::string_view subject() const { return message_.subject(); }
  std::string_view payload() const { return message_.payload(); }
  /// Where an answer goes; empty on a JetStream delivery, whose reply subject is for acknowledgements.
  std::string_view reply_to() const { return metadata_ ? std::string_view{} : message_.reply(); }
  std::string_view subscription() const { return subscription_; }

  std::optional<std::string_view> header(std::string_view name) const;
  /// A working copy, made when it is first asked for: changes show to layers further in and to header contracts.
  client::headers& headers();

  const std::optional<client::jetstream_metadata>& jetstream() const { return metadata_; }
  /// Deliveries of this message so far, 1 on the first; 1 on Core too, unless a delayed copy counted.
  std::uint64_t attempt() const;
  /// When the server would deliver it again (ack wait), or the handler's timeout.
  time_point deadline() const { return deadline_; }

  /// A place for layers to leave values, found by type.
  template <class T>
  void put(T value) {
    scratch_[typeid(T)] = std::move(value);
  }
  template <class T>
  T* get() {
    const auto found = scratch_.find(typeid(T));
    return found == scratch_.end() ? nullptr : std::any_cast<T>(&found->second);
  }

  /// Work after the settlement, if the final outcome is of this kind; off the delivery path, at most once.
  void after(outcome_kind kind, outcome::continuation work) { after_.emplace_back(kind, std::move(work)); }
  void after_settle(outcome::continuation work) { after_.emplace_back(std::nullopt, std::move(work)); }

  const client::message& message() const { return message_; }
  void* app_state() const { return app_state_; }  // for state<T>
  void put_services(void* owner) {
    services_ = owner;
  }  // for out<Slot>: the subscription that this delivery belongs to
  void* services() const { return services_; }
  const auto& continuations() const { return after_; }

 private:
  client::message message_;
  std::string_view subscription_;
  void* app_state_;
  void* services_ = nullptr;
  time_point deadline_;
  std::optional<client::jetstream_metadata> metadata_;
  std::optional<client::headers> headers_;
  std::map<std::type_index, std::any> scratch_;
  std::vector<std::pair<std::optional<outcome_kind>, outcome::continuation>> after_;
};

/// One broker fact: `field<nats::stream> from` is empty on a Core delivery.
template <class Key>
class field {
 public:
  using value_type = typename Key::value_type;
  explicit field(std::optional<value_type> value) : value_(std::move(value)) {}
  bool has_value() const { return value_.has_value(); }
  explicit operator bool() const { return has_value(); }
  const value_type& operator*() const { return *value_; }
  const std::optional<value_type>& value() const { return value_; }

 private:
  std::optional<value_type> value_;
};

/// A member of the application's state, found by its type (or by what a shared_ptr or unique_ptr member points to).
template <class T>
class state {
 public:
  explicit state(T& value) : value_(&value) {}
  T& operator*() const { return *value_; }
  T* operator->() const { return value_; }
  operator T&() const { return *value_; }

 private:
  T* value_;
};

/// A flat record filled from headers, one per member; a missing required one is a decode failure. (section 13)
template <class T>
class headers {
 public:
  explicit headers(T value) : value_(std::move(value)) {}
  const T& operator*() const { return value_; }
  const T* operator->() const { return &value_; }

 private:
  T value_;
};

/// Time left until the server would deliver the message again, or the handler's timeout.
struct deadline {
  time_point at;
  std::chrono::nanoseconds left() const;  ///< by the application's clock; never below zero
};

/// The payload as it came, for handlers that decode by themselves.
struct raw_view {
  std::string_view bytes;
};

/// Specialise for own parameter types: `static std::expected<X, outcome> extract(context&)`; on failure the carried
/// outcome settles the delivery and the body does not run. Optionally `static void release(X&, const outcome&)` after
/// the body.
template <class X>
struct extractor {};

template <class X>
concept extractable = requires(context& delivery) {
  { extractor<X>::extract(delivery) } -> std::same_as<std::expected<X, outcome>>;
};

}  // namespace tern::service
