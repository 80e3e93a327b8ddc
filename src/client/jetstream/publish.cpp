// Publishing with acknowledgement: one at a time with retries, or many within a window.
#include <algorithm>

#include "base/numbers.hpp"
#include "client/jetstream/api.hpp"
#include "client/jetstream/core.hpp"
#include "protocol/headers.hpp"

namespace tern::client {
namespace detail {
namespace {

// On the loop's own thread nobody waits for room; a program that publishes more than so many windows has a bug.
constexpr std::size_t loop_windows = 4;

struct pub_ack_record {
  std::string stream;
  std::uint64_t seq = 0;
  bool duplicate = false;
  std::string domain;
  std::optional<std::string> val;
  std::string batch;
  std::uint64_t count = 0;
};

// `{"stream":"S","seq":N}` as the server writes it (jetstream 5.2); anything else is left to the JSON reader.
bool read_plain_ack(std::string_view answer, pub_ack& ack) {
  constexpr std::string_view head = "{\"stream\":\"";
  constexpr std::string_view middle = "\",\"seq\":";
  if (!answer.starts_with(head) || !answer.ends_with('}')) return false;
  answer.remove_prefix(head.size());
  const auto quote = answer.find('"');
  if (quote == 0 || quote == std::string_view::npos || answer.substr(0, quote).find('\\') != std::string_view::npos)
    return false;
  const auto name = answer.substr(0, quote);
  answer.remove_prefix(quote);
  if (!answer.starts_with(middle)) return false;
  const auto number = parse_decimal(answer.substr(middle.size(), answer.size() - middle.size() - 1));
  if (!number) return false;
  ack.stream = name;
  ack.seq = *number;
  return true;
}

// One publish with its retries; kept alive by whoever works on it.
struct publish_attempts : std::enable_shared_from_this<publish_attempts> {
  std::shared_ptr<jetstream_core> core;
  std::string subject;
  std::string header_block;
  std::string payload;
  nanoseconds patience{};
  std::uint32_t retries = 0;
  std::shared_ptr<operation_state<pub_ack>> state;

  void send() {
    auto sent = core->connection().request(subject, header_block, payload, patience,
                                           [self = shared_from_this()](result<protocol::message_frame> reply) {
                                             self->answered(std::move(reply));
                                             return true;
                                           });
    if (!sent) state->complete(std::unexpected(std::move(sent).error()));
  }

  void answered(result<protocol::message_frame> reply) {
    if (reply) {
      state->complete(read_pub_ack(reply->payload()));
    } else if (reply.error().code() != errc::no_responders) {
      state->complete(std::unexpected(std::move(reply).error().within("publish to '" + subject + "'")));
    } else if (retries == 0) {
      state->complete(fail(errc::no_stream_for_subject, "no stream takes '" + subject + "'",
                           "create a stream with this subject, or publish without acknowledgement"));
    } else {
      --retries;
      core->connection().after(core->settings().retry_pause(), [self = shared_from_this()] { self->send(); });
    }
  }
};

result<std::string> block_of(const publish_options& with) {
  if (with.headers().empty()) return std::string();
  if (auto good = with.headers().validate(); !good) return std::unexpected(std::move(good).error());
  protocol::header_builder builder;
  for (const auto& [name, value] : with.headers()) builder.add(name, value);
  return std::move(builder).finish();
}

error no_connection() { return error(errc::closed, "no connection"); }

}  // namespace

result<pub_ack> read_pub_ack(std::string_view answer) {
  pub_ack ack;
  if (read_plain_ack(answer, ack)) return ack;
  auto record = read_answer<pub_ack_record>(answer);
  if (!record) return std::unexpected(std::move(record).error());
  if (record->stream.empty()) return fail(errc::protocol_error, "an answer to a publish that is no acknowledgement");
  ack.stream = std::move(record->stream);
  ack.seq = record->seq;
  ack.duplicate = record->duplicate;
  ack.domain = std::move(record->domain);
  ack.val = std::move(record->val);
  ack.batch = std::move(record->batch);
  ack.count = record->count;
  return ack;
}

result<void> jetstream_core::enter_window() {
  std::unique_lock lock(mutex_);
  if (open_ >= with_.publish_window()) {
    if (connection_->loop().on_loop_thread()) {
      if (open_ >= with_.publish_window() * loop_windows) {
        return fail(errc::limit_exceeded, "too many publishes wait for their acknowledgement");
      }
    } else {
      ++threads_waiting_;
      room_.wait(lock, [this] { return open_ < with_.publish_window(); });
      --threads_waiting_;
    }
  }
  ++open_;
  return {};
}

void jetstream_core::leave_window() {
  std::vector<std::shared_ptr<operation_state<void>>> empty;
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    --open_;
    // A quarter of the window at once, so that a waiting thread is not woken for each ack.
    wake = threads_waiting_ != 0 && open_ <= with_.publish_window() - with_.publish_window() / 4;
    if (open_ == 0) empty.swap(when_empty_);
  }
  if (wake) room_.notify_all();
  for (auto& waiter : empty) waiter->complete({});
}

std::size_t jetstream_core::in_window() const {
  const std::lock_guard lock(mutex_);
  return open_;
}

operation<void> jetstream_core::when_window_empty() {
  auto state = std::make_shared<operation_state<void>>(connection_->loop_identity());
  const std::lock_guard lock(mutex_);
  if (open_ == 0) {
    state->complete({});
  } else {
    when_empty_.push_back(state);
  }
  return operation<void>(state);
}

}  // namespace detail

publish_options& publish_options::expect_last_sequence(std::uint64_t sequence) {
  headers_.set("Nats-Expected-Last-Sequence", std::to_string(sequence));
  return *this;
}

publish_options& publish_options::expect_last_subject_sequence(std::uint64_t sequence) {
  headers_.set("Nats-Expected-Last-Subject-Sequence", std::to_string(sequence));
  return *this;
}

publish_options& publish_options::expect_last_subject_sequence(std::uint64_t sequence, std::string_view subject) {
  headers_.set("Nats-Expected-Last-Subject-Sequence", std::to_string(sequence));
  headers_.set("Nats-Expected-Last-Subject-Sequence-Subject", subject);
  return *this;
}

publish_options& publish_options::schedule_at(time_point when, std::string_view target) {
  return schedule("@at " + to_rfc3339(when), target);
}

publish_options& publish_options::schedule_ttl(nanoseconds life) {
  headers_.set("Nats-Schedule-TTL", std::to_string(std::chrono::ceil<std::chrono::seconds>(life).count()) + "s");
  return *this;
}

publish_options& publish_options::ttl(nanoseconds life) {
  headers_.set("Nats-TTL", std::to_string(std::chrono::ceil<std::chrono::seconds>(life).count()));
  return *this;
}

publish_options& publish_options::headers(const client::headers& with) {
  for (const auto& [name, value] : with) headers_.add(name, value);
  return *this;
}

operation<pub_ack> jetstream::publish(std::string_view subject, std::string_view payload, const publish_options& with) {
  if (!core_) return operation<pub_ack>::ended(std::unexpected(detail::no_connection()));
  auto block = detail::block_of(with);
  if (!block) return operation<pub_ack>::ended(std::unexpected(std::move(block).error()));
  auto attempts = std::make_shared<detail::publish_attempts>();
  attempts->core = core_;
  attempts->subject = subject;
  attempts->header_block = *std::move(block);
  attempts->payload = payload;
  attempts->patience = core_->ack_patience(with);
  attempts->retries = core_->settings().retries();
  attempts->state = std::make_shared<detail::operation_state<pub_ack>>(core_->connection().loop_identity());
  attempts->send();
  return operation<pub_ack>(attempts->state);
}

result<void> jetstream::publish_async(std::string_view subject, std::string_view payload, ack_callback done,
                                      const publish_options& with) {
  if (!core_) return std::unexpected(detail::no_connection());
  auto block = detail::block_of(with);
  if (!block) return std::unexpected(std::move(block).error());
  if (auto room = core_->enter_window(); !room) return room;
  auto sent = core_->connection().request(
      subject, *block, payload, core_->ack_patience(with),
      [core = core_, done = std::move(done)](result<protocol::message_frame> reply) mutable {
        if (reply) {
          done(detail::read_pub_ack(reply->payload()));
        } else if (reply.error().code() == errc::no_responders) {
          done(fail(errc::no_stream_for_subject, "no stream takes this subject"));
        } else {
          done(std::unexpected(std::move(reply).error()));
        }
        core->leave_window();  // behind the callback, so that publish_async_complete() comes after the last one
        return true;
      });
  if (!sent) core_->leave_window();
  return sent;
}

std::size_t jetstream::publish_async_pending() const { return core_ ? core_->in_window() : 0; }

operation<void> jetstream::publish_async_complete() {
  if (!core_) return operation<void>::ended({});
  return core_->when_window_empty();
}

}  // namespace tern::client
