// Bytes in and out: what every message passes. The life cycle is in connection_lifecycle.cpp, requests and interest in
// connection_requests.cpp.
#include "client/connection_core.hpp"

#include "base/nuid.hpp"
#include "base/numbers.hpp"
#include "protocol/writer.hpp"

namespace tern::client::detail {
namespace {

// Full reads of one readiness event, so that timers and writes have their turn.
constexpr int reads_per_event = 4;
// Writes of one turn: more is taken only when the socket swallowed the last piece whole.
constexpr int writes_per_turn = 4;

}  // namespace

bool on_loop_thread(const void* loop) noexcept {
  return loop != nullptr && static_cast<const runtime::shard*>(loop)->on_loop_thread();
}

connection_core::connection_core(runtime::shard& loop, runtime::transport& network, std::shared_ptr<own_loop> own,
                                 options with)
    : own_(std::move(own)),
      loop_(loop),
      network_(network),
      options_(std::move(with)),
      outbox_(loop, {.pending = options_.get().pending_buffer, .write = options_.get().write_buffer},
              [this] {
                loop_.post([weak = weak_from_this()] {
                  if (const auto self = weak.lock()) self->flush_outbox();
                });
              }),
      handshake_timer_(loop.timers(), [this] { on_handshake_timeout(); }),
      pause_timer_(loop.timers(), [this] { dial(); }),
      ping_timer_(loop.timers(), [this] { on_ping_timer(); }),
      close_timer_(loop.timers(), [this] { finish_close(error(errc::closed, "the connection is closed")); }) {
  nuid_source names(loop_.randomness().next());
  reply_prefix_ = options_.get().inbox_prefix + "." + names.next() + ".";
  inbox_prefix_ = options_.get().inbox_prefix + "." + names.next() + ".";
}

connection_core::~connection_core() = default;

std::shared_ptr<connection_core> connection_core::handle_of(const std::shared_ptr<connection_core>& core) {
  return {core.get(), [core](connection_core*) { core->abandon(); }};
}

std::string connection_core::new_inbox() {
  std::string inbox = inbox_prefix_;
  append_decimal(inbox, next_inbox_.fetch_add(1, std::memory_order_relaxed));
  return inbox;
}

server_info connection_core::server() const {
  const std::lock_guard lock(server_mutex_);
  return server_;
}

connection_statistics connection_core::statistics() const {
  return {.in_messages = in_messages_.load(std::memory_order_relaxed),
          .out_messages = outbox_.messages(),
          .in_bytes = in_bytes_.load(std::memory_order_relaxed),
          .out_bytes = outbox_.bytes(),
          .reconnects = reconnects_.load(std::memory_order_relaxed),
          .server_errors = server_errors_.load(std::memory_order_relaxed),
          .dropped_messages = dropped_.load(std::memory_order_relaxed)};
}

void connection_core::on_readable() {
  const auto alive = shared_from_this();  // what is read may end the connection, whose parser is then still at work
  for (int reads = 0; reads < reads_per_event && stream_ != nullptr; ++reads) {
    const auto got = stream_->read(read_buffer_);
    switch (got.state) {
      case runtime::io_state::would_block:
        return;
      case runtime::io_state::end_of_stream:
        return lost(error(errc::disconnected, "the server closed the connection"));
      case runtime::io_state::failed:
        return lost(error(errc::disconnected, "reading from the server failed"));
      case runtime::io_state::done:
        break;
    }
    const auto outcome = parser_.consume({read_buffer_.data(), got.bytes}, *this);
    if (outcome == protocol::parse_outcome::stopped || stream_ == nullptr) return;
    if (outcome != protocol::parse_outcome::more) {
      return lost(error(errc::protocol_error, "what the server sent cannot be read"));
    }
    if (got.bytes < read_buffer_.size()) return;  // the rest, if any, makes another event
  }
}

protocol::verdict connection_core::on_message(const protocol::message_frame& message) {
  in_messages_.store(in_messages_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  in_bytes_.store(in_bytes_.load(std::memory_order_relaxed) + message.body.size(), std::memory_order_relaxed);
  std::uint64_t sid = 0;
  for (const char digit : message.sid) sid = sid * 10 + static_cast<std::uint64_t>(digit - '0');
  interest* to = last_interest_;
  if (to == nullptr || to->sid != sid) {
    const auto found = interests_.find(sid);
    if (found == interests_.end()) return protocol::verdict::go_on;  // was in flight when the interest went
    to = last_interest_ = found->second.get();
  }
  ++to->received;
  to->sink->on_message(message);
  if (to->max_messages != 0 && to->received >= to->max_messages) {
    remove_interest(sid, error(errc::closed, "the subscription has had its messages"));
  }
  return stream_ != nullptr ? protocol::verdict::go_on : protocol::verdict::stop;
}

void connection_core::flush_outbox() {
  if (phase_ != phase::connected) return;
  for (int writes = 0;; ++writes) {
    if (!write_some()) return;
    if (writes == writes_per_turn) {
      if (outbox_.has_work()) {
        loop_.post([weak = weak_from_this()] {
          if (const auto self = weak.lock()) self->flush_outbox();
        });
      }
      return;
    }
    if (!outbox_.take(writing_, commands_)) return;
    carry_out_commands();
  }
}

bool connection_core::write_some() {
  while (written_ < writing_.size()) {
    if (write_blocked_) return false;
    const std::string_view rest = std::string_view(writing_).substr(written_);
    const auto put = stream_->write({&rest, 1});
    switch (put.state) {
      case runtime::io_state::done:
        written_ += put.bytes;
        break;
      case runtime::io_state::would_block:
        write_blocked_ = true;
        stream_->on_writable_once([this] {
          write_blocked_ = false;
          if (phase_ == phase::connected) return flush_outbox();
          if (!write_some()) return;
          if (phase_ == phase::closing) finish_close(error(errc::closed, "the connection is closed"));
        });
        return false;
      case runtime::io_state::end_of_stream:
      case runtime::io_state::failed:
        if (phase_ == phase::closing) {
          finish_close(error(errc::closed, "the connection is closed"));
        } else {
          lost(error(errc::disconnected, "writing to the server failed"));
        }
        return false;
    }
  }
  // After a burst the memory goes back; the usual size is kept.
  if (writing_.capacity() > 4 * options_.get().write_buffer) {
    writing_ = std::string();
  } else {
    writing_.clear();
  }
  written_ = 0;
  return true;
}

void connection_core::carry_out_commands() {
  for (auto& command : commands_) command();
  commands_.clear();
}

}  // namespace tern::client::detail
