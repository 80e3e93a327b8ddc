// One delivery from the handler's end to its settlement: policies, replies, cap, dead letter, settle. (service 5-7, 9,
// 10)
#include "service/coroutines.hpp"
#include "service/subscription_loop.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>

namespace tern::service::detail {
namespace {

constexpr std::chrono::seconds ack_confirmation_patience(5);
constexpr std::chrono::seconds dead_letter_backoff_least(1);
constexpr std::chrono::minutes dead_letter_backoff_most(1);

outcome outcome_of(const failure_action& action) {
  switch (action.kind()) {
    case failure_action::kinds::fail_fast:
      return outcome(outcome_kind::none);
    case failure_action::kinds::drop:
    case failure_action::kinds::dead_letter:
      return drop();
    case failure_action::kinds::retry:
      return retry();
    case failure_action::kinds::retry_after:
      return retry_after(action.delay());
    case failure_action::kinds::skip:
      return ack();
  }
  return outcome(outcome_kind::none);
}

// What a stream would act on must not act again on a copy of the message.
bool belongs_to_original(std::string_view name) {
  return name.starts_with("Nats-Expected-") || name == "Nats-Msg-Id" || name == "Nats-Rollup";
}

}  // namespace

boost::asio::awaitable<void> subscription_loop::run(std::shared_ptr<delivery_work> work) {
  const auto self = shared_from_this();
  const auto app = app_.shared_from_this();
  if (what_.handler->asynchronous()) {
    auto ended = std::make_shared<client::detail::operation_state<void>>(nullptr);
    if (what_.options.timeout) {
      work->timer = std::make_unique<timer_queue::timer>(app_.shard().timers(), [raw = work.get(), this] {
        raw->timed_out = what_.options.timeout->second;
        raw->cancel.emit(boost::asio::cancellation_type::terminal);
      });
      work->timer->arm(app_.shard().now() + what_.options.timeout->first);
    }
    // A coroutine of its own, so that cancelling it does not cancel the settlement.
    boost::asio::co_spawn(
        app_.executor(), run_handler(work),
        boost::asio::bind_cancellation_slot(work->cancel.slot(), [ended, work](std::exception_ptr problem) {
          if (problem) work->made.how = handled_how::cancelled;
          ended->complete({});
        }));
    client::operation<void> handler_ended(ended);
    (void)co_await std::move(handler_ended);
    work->timer.reset();
  }
  co_await settle_later(*work);
  end(*work);
}

boost::asio::awaitable<void> subscription_loop::run_handler(std::shared_ptr<delivery_work> work) {
  co_await what_.handler->run(*work->delivery, work->made);
}

// The outcome before replies and cap.
outcome subscription_loop::decide(delivery_work& work) {
  handled& made = work.made;
  const context& delivery = *work.delivery;
  const auto sequence = delivery.jetstream() ? delivery.jetstream()->stream_sequence : 0;
  if (work.timed_out) {
    app_.log(log_level::warn, "handler timed out", {{"subscription", name()}, {"sequence", sequence}});
    made.replies.clear();
    return *work.timed_out;
  }
  // An aborted operation is the handler's own affair unless we were the ones to abort it (9).
  if (made.how == handled_how::cancelled && !app_.stopping()) made.how = handled_how::threw;
  switch (made.how) {
    case handled_how::completed:
      if (!made.error.empty())
        app_.log(log_level::warn, made.error, {{"subscription", name()}, {"sequence", sequence}});
      return made.result;
    case handled_how::extract_failed:
      ++counters_.extract_failed;
      return made.result;
    case handled_how::cancelled:
      return outcome(outcome_kind::none);
    case handled_how::decode_failed:
      ++counters_.decode_failed;
      app_.log(log_level::warn, "payload could not be decoded",
               {{"subscription", name()},
                {"subject", delivery.subject()},
                {"sequence", sequence},
                {"error", made.error},
                {"bytes", delivery.payload().size()}});
      if (on_decode_failure_.kind() == failure_action::kinds::fail_fast) {
        app_.fail_fast(error(errc::decode_error, "subscription " + name() + ": " + made.error));
      }
      return outcome_of(on_decode_failure_);
    case handled_how::threw:
      ++counters_.threw;
      app_.log(log_level::error, "handler threw",
               {{"subscription", name()}, {"sequence", sequence}, {"what", made.error}});
      if (on_panic_.kind() == failure_action::kinds::fail_fast) {
        app_.fail_fast(error(errc::handler_failed, "subscription " + name() + ": handler threw: " + made.error));
      }
      return outcome_of(on_panic_);
  }
  return made.result;
}

bool subscription_loop::past_cap(const delivery_work& work) const {
  return what_.options.max_attempts && work.delivery->attempt() >= *what_.options.max_attempts;
}

// Nothing to wait for: Core replies, and no publish that must be acknowledged before the settlement.
bool subscription_loop::can_settle_now(const delivery_work& work) const {
  if (what_.options.ack_sync) return false;
  if (work.made.how != handled_how::completed) {
    return what_.options.dead_letter.empty();
  }
  for (const auto& reply : work.made.replies) {
    if (reply_confirmed_[reply.target]) return false;
  }
  return what_.options.dead_letter.empty() || !past_cap(work);
}

void subscription_loop::settle_now(delivery_work& work) {
  work.made.result = decide(work);
  if (!work.made.replies.empty() && work.made.result.kind() == outcome_kind::ack && !publish_core_replies(work)) {
    work.made.result = retry();
  }
  const bool again =
      work.made.result.kind() == outcome_kind::retry || work.made.result.kind() == outcome_kind::retry_after;
  if (again && past_cap(work) && what_.options.dead_letter.empty()) {
    app_.log(log_level::warn, "attempts are used up, dropped",
             {{"subscription", name()}, {"subject", work.delivery->subject()}, {"attempts", work.delivery->attempt()}});
    work.made.result = drop("attempts are used up");
  }
  work.made.result = with_backoff(work, std::move(work.made.result));
  send_settlement(work);
}

boost::asio::awaitable<void> subscription_loop::settle_later(delivery_work& work) {
  work.made.result = decide(work);
  if (work.made.result.kind() == outcome_kind::ack && !work.made.replies.empty()) {
    const bool published = co_await publish_replies(work);
    if (!published) work.made.result = retry();
  }
  const outcome_kind kind = work.made.result.kind();
  const bool decode_to_dead_letter =
      work.made.how == handled_how::decode_failed && on_decode_failure_.kind() == failure_action::kinds::dead_letter;
  const bool panic_to_dead_letter =
      work.made.how == handled_how::threw && on_panic_.kind() == failure_action::kinds::dead_letter;
  if (decode_to_dead_letter || panic_to_dead_letter) {
    co_await give_up(work, decode_to_dead_letter ? "decode" : "exception");
  } else if ((kind == outcome_kind::retry || kind == outcome_kind::retry_after) && past_cap(work)) {
    co_await give_up(work, "attempts");
  } else {
    work.made.result = with_backoff(work, std::move(work.made.result));
  }
  if (what_.options.ack_sync && what_.is_jetstream() && work.made.result.kind() == outcome_kind::ack) {
    co_await send_settlement_confirmed(work);
  } else {
    send_settlement(work);
  }
}

outcome subscription_loop::with_backoff(const delivery_work& work, outcome how) const {
  if (how.kind() != outcome_kind::retry || !what_.options.retry_backoff) return how;
  const auto [least, most] = *what_.options.retry_backoff;
  const std::uint64_t doublings = std::min<std::uint64_t>(work.delivery->attempt() - 1, 30);
  return retry_after(std::min<std::chrono::nanoseconds>(least * (std::int64_t{1} << doublings), most));
}

// --- replies (7) ---

client::headers subscription_loop::reply_headers(const delivery_work& work, std::size_t target,
                                                 std::string_view content_type) const {
  client::headers made;
  if (!content_type.empty()) made.add("Content-Type", content_type);
  for (const std::string_view name : {"traceparent", "tracestate"}) {
    if (const auto value = work.delivery->header(name)) made.add(name, *value);
  }
  // A redelivered input does not publish twice inside the stream's duplicate window.
  if (const auto& from = work.delivery->jetstream(); from && reply_confirmed_[target]) {
    std::string id = std::string(from->stream) + ':' + std::to_string(from->stream_sequence) + ':' + name();
    if (target != 0) id += ':' + std::to_string(target);
    made.add("Nats-Msg-Id", id);
  }
  return made;
}

bool subscription_loop::publish_core_replies(delivery_work& work) {
  for (const auto& reply : work.made.replies) {
    std::string_view subject = what_.replies[reply.target].subject;
    if (subject.empty()) subject = work.delivery->reply_to();
    if (subject.empty()) {
      app_.log(log_level::debug, "reply skipped, the request has no inbox", {{"subscription", name()}});
      continue;
    }
    if (auto sent = link_->send(subject, reply.payload, reply_headers(work, reply.target, reply.content_type)); !sent) {
      app_.log(log_level::error, "reply failed",
               {{"subscription", name()}, {"subject", subject}, {"error", sent.error().message()}});
      return false;
    }
  }
  return true;
}

boost::asio::awaitable<bool> subscription_loop::publish_replies(delivery_work& work) {
  for (const auto& reply : work.made.replies) {
    const std::string& fixed = what_.replies[reply.target].subject;
    const std::string subject = fixed.empty() ? std::string(work.delivery->reply_to()) : fixed;
    if (subject.empty()) continue;
    result<void> sent;
    if (reply_confirmed_[reply.target]) {
      auto acknowledged =
          co_await link_->send_confirmed(subject, reply.payload, reply_headers(work, reply.target, reply.content_type));
      if (!acknowledged) sent = std::unexpected(std::move(acknowledged).error());
    } else {
      sent = link_->send(subject, reply.payload, reply_headers(work, reply.target, reply.content_type));
    }
    if (!sent) {
      app_.log(log_level::error, "reply failed",
               {{"subscription", name()}, {"subject", subject}, {"error", sent.error().message()}});
      co_return false;
    }
  }
  co_return true;
}

// --- giving up (10) ---

// The dead letter first, and only when it is safe the end of the original. When it fails the original comes back.
boost::asio::awaitable<void> subscription_loop::give_up(delivery_work& work, std::string_view reason) {
  const context& delivery = *work.delivery;
  const auto& from = delivery.jetstream();
  const auto sequence = from ? from->stream_sequence : 0;
  const std::uint64_t attempts = delivery.attempt();
  if (what_.options.dead_letter.empty()) {
    app_.log(
        log_level::warn, "attempts are used up, dropped",
        {{"subscription", name()}, {"subject", delivery.subject()}, {"sequence", sequence}, {"attempts", attempts}});
    work.made.result = drop("attempts are used up");
    co_return;
  }
  client::headers headers;
  for (const auto& [header, value] : delivery.message().headers()) {
    if (!belongs_to_original(header)) headers.add(header, value);
  }
  headers.set("Tern-Dead-Reason", reason);
  headers.set("Tern-Dead-Attempts", std::to_string(attempts));
  headers.set("Tern-Dead-Subject", delivery.subject());
  if (from) {
    headers.set("Tern-Dead-Stream", from->stream);
    headers.set("Tern-Dead-Sequence", std::to_string(sequence));
    headers.set("Nats-Msg-Id", "dlq:" + std::string(from->stream) + ':' + std::to_string(sequence) + ':' + consumer_);
  }
  if (!work.made.error.empty()) {
    std::string text = work.made.error;
    std::replace_if(text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
    headers.set("Tern-Dead-Error", text);
  }
  result<void> sent;
  if (what_.options.dead_letter_confirmed) {
    auto acknowledged =
        co_await link_->send_confirmed(what_.options.dead_letter, std::string(delivery.payload()), headers);
    if (!acknowledged) sent = std::unexpected(std::move(acknowledged).error());
  } else {
    sent = link_->send(what_.options.dead_letter, delivery.payload(), headers);
  }
  if (sent) {
    work.dead_lettered = true;
    ++counters_.dead_lettered;
    dead_letter_backoff_.erase(sequence);
    app_.log(log_level::warn, "given up, sent to the dead letter subject",
             {{"subscription", name()},
              {"subject", delivery.subject()},
              {"sequence", sequence},
              {"attempts", attempts},
              {"dead_letter", what_.options.dead_letter},
              {"reason", reason}});
    work.made.result = drop("dead letter");
    co_return;
  }
  auto& backoff = dead_letter_backoff_[sequence];
  backoff = backoff.count() == 0 ? std::chrono::nanoseconds(dead_letter_backoff_least)
                                 : std::min<std::chrono::nanoseconds>(backoff * 2, dead_letter_backoff_most);
  app_.log(log_level::error, "the dead letter could not be published, the message stays",
           {{"subscription", name()}, {"sequence", sequence}, {"error", sent.error().message()}});
  work.made.result = retry_after(backoff);
}

// --- settlement on the wire (6) ---

void subscription_loop::send_settlement(delivery_work& work) {
  if (!what_.is_jetstream()) return settle_core(work);
  const outcome& how = work.made.result;
  work.answered = true;
  std::string body;
  std::string_view said;
  switch (how.kind()) {
    case outcome_kind::ack:
      body = "+ACK", said = "acked";
      break;
    case outcome_kind::retry:
      body = "-NAK", said = "nacked";
      break;
    case outcome_kind::retry_after:
      body = "-NAK {\"delay\":" + std::to_string(how.delay().count()) + "}", said = "nacked";
      break;
    case outcome_kind::drop:
      body = term_body(how), said = "terminated";
      break;
    case outcome_kind::none:
      return settled(work, "unsettled");
  }
  if (auto sent = link_->settle(work.delivery->message().reply(), body); !sent) {
    note_settle_failure(*work.delivery, sent.error());
    return settled(work, sent.error().message());
  }
  note_settled(work);
  settled(work, said);
}

boost::asio::awaitable<void> subscription_loop::send_settlement_confirmed(delivery_work& work) {
  work.answered = true;
  client::request_options options;
  options.timeout(ack_confirmation_patience);
  auto confirmed =
      co_await link_->connection().request(work.delivery->message().reply(), std::string_view("+ACK"), options);
  if (!confirmed) {
    note_settle_failure(*work.delivery, confirmed.error());
    settled(work, confirmed.error().message());
    co_return;
  }
  note_settled(work);
  settled(work, "acked");
}

// How far an ephemeral consumer is done, in case it has to be made again: what comes back is not done.
void subscription_loop::note_settled(const delivery_work& work) {
  const outcome_kind kind = work.made.result.kind();
  if (kind != outcome_kind::ack && kind != outcome_kind::drop) return;
  if (const auto& from = work.delivery->jetstream())
    highest_settled_ = std::max(highest_settled_, from->stream_sequence);
}

// Servers before 2.10.4 do not know the reason.
std::string subscription_loop::term_body(const outcome& how) const {
  if (how.reason().empty() || !knows_term_reason_) return "+TERM";
  std::string text = how.reason();
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
  return "+TERM " + text;
}

// Core NATS has nothing to acknowledge. That is said, since whoever returns an outcome may believe in a redelivery.
void subscription_loop::settle_core(delivery_work& work) {
  const outcome& how = work.made.result;
  if (how.kind() == outcome_kind::none) return settled(work, "unsettled");
  if (work.made.how == handled_how::completed && !work.made.asks_for_settlement) return settled(work, "none");
  if (work.dead_lettered) return settled(work, "dead_lettered");
  const bool has_destination = std::holds_alternative<core>(what_.from) || !what_.options.retry_to.empty();
  if (how.kind() == outcome_kind::retry_after && has_destination) {
    schedule_copy(*work.delivery, how.delay());
    return settled(work, "copied");
  }
  ++counters_.unsupported_settlements;
  ++counters_.settle_failures;
  if (work.made.how == handled_how::completed) warn_unsupported(*work.delivery, how);
  settled(work, "unsupported");
}

void subscription_loop::warn_unsupported(const context& delivery, const outcome& how) {
  const time_point now = app_.shard().now();
  if (warned_ && now - warned_at_ < what_.options.settle_warnings) {
    ++warnings_suppressed_;
    return;
  }
  app_.log(log_level::warn, "settle failed: unsupported, a Core subject has nothing to settle",
           {{"subscription", name()},
            {"subject", delivery.subject()},
            {"outcome", to_word(how.kind())},
            {"suppressed", warnings_suppressed_}});
  warned_ = true;
  warned_at_ = now;
  warnings_suppressed_ = 0;
}

// The framework's own redelivery where the broker has none: in memory, lost with the process, seen by all queue groups.
void subscription_loop::schedule_copy(const context& delivery, std::chrono::nanoseconds delay) {
  client::headers headers;
  for (const auto& [header, value] : delivery.message().headers()) headers.add(header, value);
  headers.set("Tern-Retry-Count", std::to_string(delivery.attempt()));
  std::string subject = what_.options.retry_to.empty() ? std::string(delivery.subject()) : what_.options.retry_to;
  auto copy = std::make_unique<timer_queue::timer>(
      app_.shard().timers(),
      [this, subject = std::move(subject), payload = std::string(delivery.payload()), headers = std::move(headers)] {
        if (auto sent = link_->send(subject, payload, headers); !sent) {
          ++counters_.settle_failures;
          app_.log(log_level::error, "delayed copy could not be published",
                   {{"subscription", name()}, {"subject", subject}, {"error", sent.error().message()}});
        }
        std::erase_if(copies_, [](const auto& each) { return !each->armed(); });
      });
  copy->arm(app_.shard().now() + delay);
  copies_.push_back(std::move(copy));
}

void subscription_loop::note_settle_failure(const context& delivery, const error& why) {
  ++counters_.settle_failures;
  app_.log(log_level::warn, "settle failed",
           {{"subscription", name()}, {"subject", delivery.subject()}, {"error", why.message()}});
}

void subscription_loop::settled(delivery_work& work, std::string_view how) {
  count(work);
  if (app_.observer() != nullptr) app_.observer()->on_outcome(name(), *work.delivery, work.made, work.made.result, how);
  spawn_continuations(work);
}

void subscription_loop::spawn_continuations(const delivery_work& work) {
  for (const auto& [kind, after] : work.delivery->continuations()) {
    if (!kind || *kind == work.made.result.kind()) app_.spawn_continuation(after);
  }
  if (const auto* after = work.made.result.after()) {
    for (const auto& each : *after) app_.spawn_continuation(each);
  }
}

void subscription_loop::count(const delivery_work& work) {
  switch (work.made.result.kind()) {
    case outcome_kind::ack:
      ++counters_.acked;
      break;
    case outcome_kind::retry:
      ++counters_.retried;
      break;
    case outcome_kind::retry_after:
      ++counters_.retried_after;
      break;
    case outcome_kind::drop:
      ++counters_.dropped;
      break;
    case outcome_kind::none:
      ++counters_.unsettled;
      break;
  }
}

}  // namespace tern::service::detail
