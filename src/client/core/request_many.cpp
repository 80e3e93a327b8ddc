// Requests with several answers, and the round trip time.
#include <tern/client/connection.hpp>

#include "base/timer_queue.hpp"
#include "client/connection_core.hpp"
#include "client/core/loop_work.hpp"
#include "protocol/headers.hpp"

namespace tern::client {
namespace {

using answers_state = detail::operation_state<std::vector<message>>;

// Gathers on the loop; the end of the pause between two answers completes it as well.
class gathering : public std::enable_shared_from_this<gathering> {
 public:
  gathering(runtime::shard& loop, const request_many_options& with, std::shared_ptr<answers_state> state)
      : loop_(loop), with_(with), state_(std::move(state)), stall_timer_(loop.timers(), [this] { finish(); }) {}

  bool take(result<protocol::message_frame> reply) {
    if (over_) return true;
    if (!reply) {
      if (reply.error().code() != errc::timeout && all_.empty()) {
        stall_timer_.disarm();
        over_ = true;
        state_->complete(std::unexpected(std::move(reply).error()));
      } else {
        finish();
      }
      return true;
    }
    if (with_.ends_with_empty() && reply->payload().empty() && reply->header().empty()) {
      finish();
      return true;
    }
    message answer;
    answer.assign(reply->subject, reply->reply, reply->header(), reply->payload());
    all_.push_back(std::move(answer));
    if (with_.count() != 0 && all_.size() >= with_.count()) {
      finish();
      return true;
    }
    if (with_.stall() > nanoseconds::zero()) stall_timer_.arm(loop_.now() + with_.stall());
    return false;
  }

 private:
  void finish() {
    if (std::exchange(over_, true)) return;
    stall_timer_.disarm();
    state_->complete(std::move(all_));
  }

  runtime::shard& loop_;
  const request_many_options with_;
  std::shared_ptr<answers_state> state_;
  std::vector<message> all_;
  bool over_ = false;
  timer_queue::timer stall_timer_;
};

}  // namespace

operation<std::vector<message>> connection::request_many(std::string_view subject, std::string_view payload,
                                                         std::size_t count, nanoseconds patience) {
  if (count == 0) return operation<std::vector<message>>::ended(std::vector<message>());
  return request_many(subject, payload, request_many_options().count(count).patience(patience));
}

operation<std::vector<message>> connection::request_many(std::string_view subject, std::string_view payload,
                                                         const request_many_options& with) {
  using outcome = operation<std::vector<message>>;
  if (!core_) return outcome::ended(fail(errc::closed, "no connection"));
  auto state = std::make_shared<answers_state>(core_->loop_identity());
  auto gathered = std::make_shared<gathering>(core_->loop(), with, state);
  const auto patience =
      with.patience() < nanoseconds::zero() ? core_->settings().get().request_timeout : with.patience();
  auto sent = core_->request(subject, {}, payload, patience, [gathered](result<protocol::message_frame> reply) {
    return gathered->take(std::move(reply));
  });
  if (!sent) state->complete(std::unexpected(std::move(sent).error()));
  return outcome(state);
}

operation<nanoseconds> connection::round_trip_time() {
  if (!core_) return operation<nanoseconds>::ended(fail(errc::closed, "no connection"));
  auto* loop = &core_->loop();
  return detail::converted<nanoseconds>(
      *this, flush(), [loop, began = loop->time().now()](result<void> flushed) -> result<nanoseconds> {
        if (!flushed) return std::unexpected(std::move(flushed).error());
        return loop->time().now() - began;
      });
}

}  // namespace tern::client
