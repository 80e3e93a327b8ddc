#include "client/jetstream/pull_fetch.hpp"

#include "client/jetstream/pull_request.hpp"
#include "protocol/writer.hpp"

namespace tern::client::detail {
namespace {

// The server ends a request itself; this is for one that was lost.
constexpr nanoseconds guard_margin = std::chrono::seconds(5);
constexpr int missed_heartbeats = 2;

}  // namespace

pull_fetch::pull_fetch(std::shared_ptr<connection_core> connection, const fetch_options& with)
    : connection_(std::move(connection)),
      with_(with),
      state_(std::make_shared<operation_state<fetched>>(connection_->loop_identity())),
      guard_(connection_->loop().timers(), [this] { finish(std::nullopt, 0); }),
      silence_(connection_->loop().timers(),
               [this] { finish(error(errc::missing_heartbeat, "the server has gone silent during a fetch"), 0); }) {}

operation<fetched> pull_fetch::start(const std::string& next_subject) {
  const auto state = state_;
  const std::string inbox = connection_->new_inbox();
  guard_at_ = connection_->loop().time().now() + with_.expires() + guard_margin;
  auto sid = connection_->subscribe(inbox, {}, shared_from_this());
  if (!sid) {
    state->complete(std::unexpected(std::move(sid).error()));
    return operation<fetched>(state);
  }
  sid_ = *sid;
  const pull_request request{.batch = with_.batch(),
                             .expires = with_.expires(),
                             .heartbeat = with_.heartbeat(),
                             .max_bytes = with_.max_bytes(),
                             .no_wait = with_.no_wait()};
  std::string line;
  protocol::append_publish(line, next_subject, inbox, {}, request.to_json());
  auto sent = connection_->control(line, [self = shared_from_this()] { self->begin(); });
  if (!sent) {
    connection_->unsubscribe(sid_);
    state->complete(std::unexpected(std::move(sent).error()));
  }
  return operation<fetched>(state);
}

void pull_fetch::begin() {
  if (over_) return;
  guard_.arm(guard_at_);
  heard();
}

void pull_fetch::heard() {
  if (with_.heartbeat() <= nanoseconds::zero()) return;
  silence_.arm(connection_->loop().now() + with_.heartbeat() * missed_heartbeats);
}

void pull_fetch::on_message(const protocol::message_frame& frame) {
  const auto report = read_pull_status(frame);
  if (over_) {
    // Was under way when the fetch gave up: others get it at once, not after ack_wait.
    if (report.kind == pull_status::none) (void)connection_->publish_unchecked(frame.reply, {}, {}, "-NAK");
    return;
  }
  heard();
  switch (report.kind) {
    case pull_status::none: {
      message received;
      received.assign(frame.subject, frame.reply, frame.header(), frame.payload());
      batch_.messages.emplace_back(std::move(received), connection_);
      if (batch_.messages.size() >= with_.batch()) finish(std::nullopt, 0);
      return;
    }
    case pull_status::heartbeat:
      return;
    case pull_status::no_messages:
    case pull_status::expired:
      return finish(std::nullopt, report.code);
    case pull_status::no_responders:
      return finish(error(errc::no_responders, "the consumer does not answer"), report.code);
    case pull_status::consumer_deleted:
      return finish(error(errc::consumer_deleted, std::string(report.text)), report.code);
    case pull_status::conflict:
    case pull_status::other:
      // A full request, told so because of its byte limit, and one whose next message is too large, are no failures.
      if (report.text == "Batch Completed" || report.text == "Message Size Exceeds MaxBytes") {
        return finish(std::nullopt, report.code);
      }
      return finish(error(errc::pull_failed, std::to_string(report.code) + " " + std::string(report.text)),
                    report.code);
  }
}

void pull_fetch::on_end(const error& why) { finish(why, 0); }

void pull_fetch::finish(std::optional<error> problem, int status) {
  if (std::exchange(over_, true)) return;
  guard_.disarm();
  silence_.disarm();
  if (status == 0 && batch_.messages.size() < with_.batch()) {
    (void)connection_->drain_subscription(sid_).done();  // given up: something may be under way
  } else {
    connection_->unsubscribe(sid_);
  }
  batch_.status = status;
  // Nothing came and nothing will: the operation itself has failed.
  if (problem && batch_.messages.empty()) {
    state_->complete(std::unexpected(*std::move(problem)));
    return;
  }
  batch_.problem = std::move(problem);
  state_->complete(std::move(batch_));
}

}  // namespace tern::client::detail
