// What a pull stream does when its requests may be gone: it asks for the consumer's info and asks again, or ends
// (service 16.7, 16.8 and Tern's changes there).
#include <algorithm>

#include "client/jetstream/api.hpp"
#include "client/jetstream/pull_stream_core.hpp"

namespace tern::client::detail {
namespace {

constexpr nanoseconds first_pause = std::chrono::milliseconds(100);
constexpr nanoseconds longest_pause = std::chrono::seconds(5);
// After a reconnect the request follows in any case, after the first try and so many more.
constexpr std::uint32_t reconnect_retries = 5;

constexpr int consumer_not_found = 10014;
constexpr int stream_not_found = 10059;

struct waiting_record {
  std::int64_t num_waiting = 0;
};

nanoseconds pause_before(std::uint32_t attempt) {
  return std::min<nanoseconds>(first_pause * (1 << std::min<std::uint32_t>(attempt, 6)), longest_pause);
}

}  // namespace

void pull_stream_core::on_disconnected() {
  for (auto* timer : {&silence_timer_, &safety_timer_, &pause_timer_, &info_timer_}) timer->disarm();
  ++recovery_;  // an answer that is under way says nothing any more
  const lock held(mutex_);
  connected_ = false;
  recovering_ = false;
  holding_back_ = false;
  degraded_ = true;
}

void pull_stream_core::on_reconnected() {
  {
    const lock held(mutex_);
    connected_ = true;
    ++statistics_.reconnects;
    if (ended_ || !begun_) {
      degraded_ = false;
      return;
    }
  }
  recover(true);
}

void pull_stream_core::recover(bool after_reconnect) {
  {
    const lock held(mutex_);
    if (ended_ || recovering_) return;
    recovering_ = true;
    degraded_ = true;
  }
  after_reconnect_ = after_reconnect;
  info_tries_ = 0;
  ++recovery_;
  // Statuses that keep sending us here must not make a loop without a pause.
  if (troubles_ > 1) {
    info_timer_.arm(connection_->loop().now() + pause_before(troubles_ - 2));
  } else {
    ask_info();
  }
}

void pull_stream_core::ask_info() {
  ++info_tries_;
  const auto patience = connection_->settings().get().jetstream_api_timeout;
  api_call(*connection_, info_subject_, {}, patience,
           [weak = weak_from_this(), epoch = recovery_](result<std::string_view> answer) {
             if (const auto self = weak.lock()) self->on_info(epoch, std::move(answer));
           });
}

void pull_stream_core::on_info(std::uint64_t epoch, result<std::string_view> answer) {
  if (epoch != recovery_) return;
  if (!answer) return info_failed(answer.error());
  const auto info = read_answer<waiting_record>(*answer);
  if (!info) {
    const int code = info.error().api_code();
    if (code == consumer_not_found || code == stream_not_found) {
      auto why = error(errc::consumer_deleted, name_ + ": " + info.error().message()).with_api_code(code);
      return end_with(std::move(why));
    }
    return info_failed(info.error());
  }
  // A request that still waits at the server after a reconnect goes on counting.
  recovered(after_reconnect_ && info->num_waiting > 0 ? counting::add : counting::set);
}

void pull_stream_core::info_failed(const error& why) {
  {
    const lock held(mutex_);
    ++statistics_.info_failures;
  }
  if (after_reconnect_ && info_tries_ > reconnect_retries) {
    report(error(errc::pull_failed, name_ + ": consumer info after the reconnect: " + why.message()));
    return recovered(counting::set);
  }
  info_timer_.arm(connection_->loop().now() + pause_before(info_tries_ - 1));
}

void pull_stream_core::recovered(counting how) {
  lock held(mutex_);
  recovering_ = false;
  degraded_ = false;
  if (ended_ || !connected_) return;
  silence_timer_.disarm();  // the request arms it from its own time
  ask(held, how);
}

}  // namespace tern::client::detail
