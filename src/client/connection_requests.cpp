// Publishing checks, requests over one shared inbox, flushes, and the table of interest.
#include "base/numbers.hpp"
#include "client/connection_core.hpp"
#include "protocol/headers.hpp"
#include "protocol/writer.hpp"

namespace tern::client::detail {
namespace {

// No blanks or control characters, no empty token. Wildcards are checked where a literal is needed.
bool is_sendable(std::string_view subject) {
  char before = '.';
  for (const char letter : subject) {
    if (static_cast<unsigned char>(letter) <= ' ' || letter == 0x7f || (letter == '.' && before == '.')) return false;
    before = letter;
  }
  return before != '.';
}

bool has_wildcard_token(std::string_view subject) {
  for (std::size_t i = 0; i < subject.size(); ++i) {
    if (subject[i] != '*' && subject[i] != '>') continue;
    const bool begins = i == 0 || subject[i - 1] == '.';
    const bool ends = i + 1 == subject.size() || subject[i + 1] == '.';
    if (begins && ends) return true;
  }
  return false;
}

std::unexpected<error> bad_subject(std::string_view subject) {
  return fail(errc::invalid_subject, "'" + std::string(subject) + "' is no subject to publish to");
}

}  // namespace

result<void> connection_core::check_publish(std::string_view subject, std::string_view reply, std::size_t size) const {
  if (!is_sendable(subject) || has_wildcard_token(subject)) return bad_subject(subject);
  if (!reply.empty() && !is_sendable(reply)) return bad_subject(reply);
  const auto limit = max_payload_.load(std::memory_order_relaxed);
  if (limit >= 0 && size > static_cast<std::uint64_t>(limit)) {
    return fail(errc::payload_too_large, std::to_string(size) + " bytes; the server takes " + std::to_string(limit));
  }
  return {};
}

result<void> connection_core::publish(std::string_view subject, std::string_view reply, std::string_view header_block,
                                      std::string_view payload) {
  if (auto good = check_publish(subject, reply, header_block.size() + payload.size()); !good) return good;
  if (!header_block.empty() && !server_takes_headers_.load(std::memory_order_relaxed)) {
    return fail(errc::unsupported, "the server does not take headers");
  }
  return outbox_.publish(subject, reply, header_block, payload);
}

// Answers to requests come to one interest, `_INBOX.<id>.*`; the last token tells which request is meant.
class connection_core::reply_sink final : public message_sink {
 public:
  explicit reply_sink(connection_core& core) : core_(core) {}
  void on_message(const protocol::message_frame& message) override { core_.on_reply(message); }
  void on_end(const error&) override {}

 private:
  connection_core& core_;
};

connection_core::pending_request::pending_request(connection_core& core, std::uint64_t number, reply_handler answer)
    : token(number),
      handler(std::move(answer)),
      timer(core.loop_.timers(), [&core, number] { core.on_request_timeout(number); }) {}

void connection_core::ensure_reply_subscription() {
  std::call_once(reply_subscribed_,
                 [this] { (void)subscribe(reply_prefix_ + "*", {}, std::make_shared<reply_sink>(*this)); });
}

result<void> connection_core::request(std::string_view subject, std::string_view header_block, std::string_view payload,
                                      nanoseconds patience, reply_handler handler) {
  const std::uint64_t token = next_token_.fetch_add(1, std::memory_order_relaxed);
  char reply[256];
  const std::size_t prefix = reply_prefix_.size();
  if (prefix + 20 > sizeof reply) return fail(errc::invalid_options, "the inbox prefix is too long");
  reply_prefix_.copy(reply, prefix);
  const std::size_t size = static_cast<std::size_t>(protocol::put_decimal(reply + prefix, token) - reply);
  const std::string_view reply_to(reply, size);
  if (auto good = check_publish(subject, reply_to, header_block.size() + payload.size()); !good) return good;
  if (!header_block.empty() && !server_takes_headers_.load(std::memory_order_relaxed)) {
    return fail(errc::unsupported, "the server does not take headers");
  }
  ensure_reply_subscription();
  auto waiting = std::make_unique<pending_request>(*this, token, std::move(handler));
  waiting->deadline = loop_.time().now() + patience;
  return outbox_.publish(subject, reply_to, header_block, payload,
                         [this, waiting = std::move(waiting)]() mutable { register_request(std::move(waiting)); });
}

void connection_core::register_request(std::unique_ptr<pending_request> request) {
  request->timer.arm(request->deadline);
  const auto token = request->token;
  requests_.emplace(token, std::move(request));
}

void connection_core::on_reply(const protocol::message_frame& message) {
  if (!message.subject.starts_with(reply_prefix_)) return;
  const auto token = parse_decimal(message.subject.substr(reply_prefix_.size()));
  if (!token) return;
  const auto found = requests_.find(*token);
  if (found == requests_.end()) return;  // late: the request has ended
  // The handler cannot change the table: new requests are commands, and closing is posted.
  auto& request = *found->second;
  const bool nobody =
      message.with_header && message.payload().empty() && protocol::header_view(message.header()).status() == 503;
  const bool over =
      nobody ? request.handler(fail(errc::no_responders, "nobody answers on this subject")) : request.handler(message);
  if (over) requests_.erase(found);
}

void connection_core::on_request_timeout(std::uint64_t token) {
  auto found = requests_.extract(token);
  if (found.empty()) return;
  found.mapped()->handler(fail(errc::timeout, "no answer in time"));
}

operation<message> connection_core::request_message(std::string_view subject, std::string_view header_block,
                                                    std::string_view payload, nanoseconds patience) {
  auto state = std::make_shared<operation_state<message>>(loop_identity());
  auto sent = request(subject, header_block, payload, patience,
                      [state, what = std::string(subject)](result<protocol::message_frame> reply) {
                        if (!reply) {
                          state->complete(std::unexpected(std::move(reply).error().within("request '" + what + "'")));
                          return true;
                        }
                        message answer;
                        answer.assign(reply->subject, reply->reply, reply->header(), reply->payload());
                        state->complete(std::move(answer));
                        return true;
                      });
  if (!sent) state->complete(std::unexpected(std::move(sent).error()));
  return operation<message>(state);
}

connection_core::pending_flush::pending_flush(connection_core& core, flush_handler done, time_point until)
    : handler(std::move(done)),
      deadline(until),
      timer(core.loop_.timers(), [this] { finish(fail(errc::timeout, "the server has not confirmed in time")); }) {}

void connection_core::pending_flush::finish(result<void> outcome) {
  timer.disarm();
  if (auto done = std::exchange(handler, nullptr)) done(std::move(outcome));
}

result<void> connection_core::flush(nanoseconds patience, flush_handler handler) {
  auto waiter = std::make_shared<pending_flush>(*this, std::move(handler), loop_.time().now() + patience);
  return outbox_.control(protocol::ping_line, [this, waiter] {
    waiter->timer.arm(waiter->deadline);
    flushes_.push_back(waiter);
  });
}

operation<void> connection_core::flush(nanoseconds patience) {
  auto state = std::make_shared<operation_state<void>>(loop_identity());
  auto sent = flush(patience, [state](result<void> outcome) { state->complete(std::move(outcome)); });
  if (!sent) state->complete(std::move(sent));
  return operation<void>(state);
}

connection_core::delayed::delayed(connection_core& core, std::uint64_t number, std::move_only_function<void()> work)
    : action(std::move(work)), timer(core.loop_.timers(), [&core, number] {
        auto due = core.delayed_.extract(number);
        due.mapped()->action();
      }) {}

void connection_core::after(nanoseconds delay, std::move_only_function<void()> action) {
  if (phase_ == phase::closed) return action();
  const auto number = next_delayed_++;
  auto entry = std::make_unique<delayed>(*this, number, std::move(action));
  entry->timer.arm(loop_.time().now() + delay);
  delayed_.emplace(number, std::move(entry));
}

result<std::uint64_t> connection_core::subscribe(std::string_view subject, std::string_view queue_group,
                                                 std::shared_ptr<message_sink> sink, std::uint64_t max_messages) {
  if (!is_sendable(subject)) return fail(errc::invalid_subject, "'" + std::string(subject) + "' is no subject");
  for (const char letter : queue_group) {
    if (static_cast<unsigned char>(letter) <= ' ') {
      return fail(errc::invalid_argument, "queue group '" + std::string(queue_group) + "' has a blank");
    }
  }
  const std::uint64_t sid = next_sid_.fetch_add(1, std::memory_order_relaxed);
  std::string lines;
  protocol::append_subscribe(lines, subject, queue_group, sid);
  if (max_messages != 0) protocol::append_unsubscribe(lines, sid, max_messages);
  auto added = std::make_unique<interest>();
  added->sid = sid;
  added->subject = subject;
  added->queue_group = queue_group;
  added->sink = std::move(sink);
  added->max_messages = max_messages;
  auto sent = outbox_.control(lines, [this, added = std::move(added)]() mutable { add_interest(std::move(added)); });
  if (!sent) return std::unexpected(std::move(sent).error());
  return sid;
}

void connection_core::unsubscribe(std::uint64_t sid, std::uint64_t max_messages) {
  std::string line;
  protocol::append_unsubscribe(line, sid, max_messages);
  (void)outbox_.control(line, [this, sid, max_messages] {
    const auto found = interests_.find(sid);
    if (found == interests_.end()) return;
    found->second->max_messages = max_messages;
    if (max_messages == 0 || found->second->received >= max_messages) {
      remove_interest(sid, error(errc::closed, "unsubscribed"));
    }
  });
}

operation<void> connection_core::drain_subscription(std::uint64_t sid) {
  auto state = std::make_shared<operation_state<void>>(loop_identity());
  std::string line;
  protocol::append_unsubscribe(line, sid);
  const auto over = [this, sid, state](result<void> outcome) {
    remove_interest(sid, error(errc::closed, "the subscription has been drained"));
    state->complete(std::move(outcome));
  };
  auto sent = outbox_.control(line, [this, sid] {
    if (const auto found = interests_.find(sid); found != interests_.end()) found->second->draining = true;
  });
  if (sent) sent = flush(options_.get().drain_timeout, over);
  if (!sent) state->complete(std::move(sent));
  return operation<void>(state);
}

void connection_core::add_interest(std::unique_ptr<interest> added) {
  const auto sid = added->sid;
  interests_.emplace(sid, std::move(added));
}

void connection_core::remove_interest(std::uint64_t sid, const error& why) {
  auto removed = interests_.extract(sid);
  if (removed.empty()) return;
  if (last_interest_ == removed.mapped().get()) last_interest_ = nullptr;
  removed.mapped()->sink->on_end(why);
}

void connection_core::end_everything(const error& why) {
  last_interest_ = nullptr;
  for (auto& waiter : std::exchange(flushes_, {})) {
    if (waiter) waiter->finish(std::unexpected(why));
  }
  for (auto& [token, request] : std::exchange(requests_, {})) {
    request->handler(std::unexpected(why));
  }
  for (auto& [number, entry] : std::exchange(delayed_, {})) entry->action();
  for (auto& [sid, entry] : std::exchange(interests_, {})) entry->sink->on_end(why);
}

void connection_core::append_resubscriptions(std::string& out) const {
  for (const auto& [sid, entry] : interests_) {
    if (entry->draining) continue;
    protocol::append_subscribe(out, entry->subject, entry->queue_group, sid);
    if (entry->max_messages != 0) protocol::append_unsubscribe(out, sid, entry->max_messages - entry->received);
  }
}

// `Permissions Violation for Subscription to "S"[ using queue "Q"]...`: the interest never comes into force, so it
// ends.
void connection_core::permission_denied(std::string_view text) {
  const auto open = text.find('"');
  const auto close = text.find('"', open + 1);
  if (open == std::string_view::npos || close == std::string_view::npos) return;
  const auto subject = text.substr(open + 1, close - open - 1);
  std::vector<std::uint64_t> denied;
  for (const auto& [sid, entry] : interests_) {
    if (entry->subject == subject) denied.push_back(sid);
  }
  for (const auto sid : denied) remove_interest(sid, error(errc::subscribe_failed, std::string(text)));
}

}  // namespace tern::client::detail
