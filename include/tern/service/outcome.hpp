/// What a handler says about its delivery: acknowledge it, try again, try again later, or give it up.
///
///     tern::service::outcome refresh(const captured& event) {
///       if (!dashboard_is_up()) return tern::service::retry_after(std::chrono::seconds(5));
///       return tern::service::ack();
///     }
///
/// On JetStream each is an answer that the server acts on: ack `+ACK`, retry `-NAK`, retry_after `-NAK {"delay":ns}`,
/// drop `+TERM`. A Core subject has nothing to settle: an explicit outcome there is reported as unsupported.
/// Thread safety: plain values. Source: service specification sections 1, 6.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tern::service {

enum class outcome_kind {
  ack,
  retry,
  retry_after,
  drop,
  none,  ///< Nothing is sent and the message returns after its ack wait. Never returned by a handler.
};
std::string_view to_word(outcome_kind kind);

/// A class with constructors on purpose: such temporaries are safe inside `co_await` and `co_return` on gcc 12.
class outcome {
 public:
  using continuation = std::function<boost::asio::awaitable<void>()>;

  explicit outcome(outcome_kind kind, std::chrono::nanoseconds delay = {}) : kind_(kind), delay_(delay) {}

  outcome_kind kind() const noexcept { return kind_; }
  std::chrono::nanoseconds delay() const noexcept { return delay_; }
  /// Why a drop happened; sent with `+TERM` and logged.
  const std::string& reason() const noexcept { return reason_; }
  outcome with_reason(std::string text) && {
    reason_ = std::move(text);
    return std::move(*this);
  }

  /// Work to do after the delivery was settled, off the delivery path, at most once; shutdown waits for it (5, step 9).
  outcome and_after(continuation work) && {
    if (!after_) after_ = std::make_shared<std::vector<continuation>>();
    after_->push_back(std::move(work));
    return std::move(*this);
  }
  const std::vector<continuation>* after() const noexcept { return after_.get(); }

  friend bool operator==(const outcome& a, const outcome& b) { return a.kind_ == b.kind_ && a.delay_ == b.delay_; }

 private:
  outcome_kind kind_;
  std::chrono::nanoseconds delay_;
  std::string reason_;
  std::shared_ptr<std::vector<continuation>> after_;
};

inline outcome ack() { return outcome(outcome_kind::ack); }
/// Delivered again at once.
inline outcome retry() { return outcome(outcome_kind::retry); }
/// Held by the server for `delay`; zero or less is retry().
inline outcome retry_after(std::chrono::nanoseconds delay) {
  return delay.count() > 0 ? outcome(outcome_kind::retry_after, delay) : retry();
}
/// Never delivered again.
inline outcome drop() { return outcome(outcome_kind::drop); }
inline outcome drop(std::string reason) { return outcome(outcome_kind::drop).with_reason(std::move(reason)); }

/// What to do when a payload cannot be decoded or a handler throws. Defaults: decode drop, panic fail_fast.
/// Scope: app, then broker, then registration; the innermost that is set wins. Source: service specification section 9.
class failure_action {
 public:
  enum class kinds { fail_fast, drop, retry, retry_after, skip, dead_letter };
  static failure_action fail_fast() { return failure_action(kinds::fail_fast); }
  static failure_action drop() { return failure_action(kinds::drop); }
  static failure_action retry() { return failure_action(kinds::retry); }
  static failure_action retry_after(std::chrono::nanoseconds delay) {
    return failure_action(kinds::retry_after, delay);
  }
  /// Acknowledged as if it had been handled.
  static failure_action skip() { return failure_action(kinds::skip); }
  /// To the registration's dead letter subject, with the reason.
  static failure_action dead_letter() { return failure_action(kinds::dead_letter); }

  kinds kind() const noexcept { return kind_; }
  std::chrono::nanoseconds delay() const noexcept { return delay_; }

 private:
  explicit failure_action(kinds kind, std::chrono::nanoseconds delay = {}) : kind_(kind), delay_(delay) {}
  kinds kind_;
  std::chrono::nanoseconds delay_;
};

}  // namespace tern::service
