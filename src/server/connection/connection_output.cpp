// The sending half of a connection: messages into blocks, blocks into the socket, and what happens when it takes no
// more (core 2.9).
#include "server/connection/connection.hpp"

#include "base/go_duration.hpp"
#include "protocol/writer.hpp"
#include "server/system/message_trace.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tern::server {

using runtime::io_state;

namespace {

constexpr nanoseconds stall_max = std::chrono::milliseconds(10);

}  // namespace

bool connection::deliver(routing::subscription& to, const routing::message& what) {
  if (phase_ != phase::open || output_failed_) return false;
  if (to.maximum != 0 && to.delivered >= to.maximum) return false;
  if (rights_ && !may_receive(to, what)) return false;
  const options& settings = server_.settings;
  if (settings.no_fast_producer_stall && server_.publishing != nullptr &&
      output_.size() > static_cast<std::uint64_t>(stall_threshold(settings)))
    return false;
  if (server_.observer != nullptr && is_traced(to, what)) return true;
  const std::string_view headers = headers_ ? what.headers : std::string_view();
  write_message(to, what, headers);
  if (server_.tracing) {
    std::string line;
    if (headers.empty())
      protocol::append_message_line(line, what.subject, to.sid, what.reply, what.payload.size());
    else
      protocol::append_header_message_line(line, what.subject, to.sid, what.reply, headers.size(),
                                           headers.size() + what.payload.size());
    trace("->>", std::string_view(line).substr(0, line.size() - 2));
    trace_payload("->>", headers, what.payload);
  }
  const std::size_t size = headers.size() + what.payload.size();
  ++counts_.out_messages;
  counts_.out_bytes += size;
  for (traffic* sum : {&server_.totals, &account_->counts}) {
    ++sum->out_messages;
    sum->out_bytes += size;
  }
  last_activity_ = server_.now();
  ++to.delivered;
  if (to.maximum != 0 && to.delivered >= to.maximum) remove(to);
  after_append();
  return true;
}

// Notes that the message at hand goes out here; true when it must not.
bool connection::is_traced(const routing::subscription& to, const routing::message& what) {
  auto* const publish = server_.publishing;
  if (publish == nullptr || publish->trace == nullptr || !publish->trace->is_about(what)) return false;
  publish->trace->left_to(*this, to, server_.now());
  return publish->trace->only();
}

void connection::write_message(routing::subscription& to, const routing::message& what, std::string_view headers) {
  const std::size_t size = headers.size() + what.payload.size();
  const std::size_t line_max = protocol::message_line_size_max(what.subject, to.sid, what.reply);
  if (line_max > output_queue::reserve_max / 2) {
    std::string line;
    if (headers.empty())
      protocol::append_message_line(line, what.subject, to.sid, what.reply, size);
    else
      protocol::append_header_message_line(line, what.subject, to.sid, what.reply, headers.size(), size);
    output_.append(line);
    return write_shared(headers, what.payload);
  }
  const bool copied = size < server_context::share_bytes;
  char* const begin = output_.reserve(copied ? line_max + size + 2 : line_max);
  char* end = headers.empty()
                  ? protocol::put_message_line(begin, what.subject, to.sid, what.reply, size)
                  : protocol::put_header_message_line(begin, what.subject, to.sid, what.reply, headers.size(), size);
  if (copied) {
    end = protocol::put_text(end, headers);
    end = protocol::put_text(end, what.payload);
    end = protocol::put_text(end, protocol::crlf);
  }
  output_.commit(static_cast<std::size_t>(end - begin));
  if (!copied) write_shared(headers, what.payload);
}

// The body of the publish at hand is held once for all receivers; anything else is copied.
void connection::write_shared(std::string_view headers, std::string_view payload) {
  auto* const publish = server_.publishing;
  const std::size_t size = headers.size() + payload.size();
  const bool of_publish =
      publish != nullptr && size >= server_context::share_bytes && payload.data() >= publish->body_and_crlf.data() &&
      payload.data() + payload.size() + 2 == publish->body_and_crlf.data() + publish->body_and_crlf.size();
  if (!of_publish) {
    output_.append(headers);
    output_.append(payload);
    output_.append(protocol::crlf);
    return;
  }
  if (publish->shared == nullptr) {
    publish->shared = new shared_payload;
    publish->shared->references = 1;
    // The parser's buffer keeps its address when it is moved, so that all views of the message stay valid.
    if (publish->buffer != nullptr)
      publish->shared->bytes = std::move(*publish->buffer);
    else
      publish->shared->bytes.assign(publish->body_and_crlf);
  }
  const std::string& bytes = publish->shared->bytes;
  output_.append_shared(*publish->shared, std::string_view(bytes).substr(bytes.size() - size - 2));
}

// Limits, the early flush, and the list of those to be flushed at the end of the turn.
void connection::after_append() {
  mark_dirty();
  if (output_.size() >= server_context::early_flush_bytes && !blocked_) flush();
  const options& settings = server_.settings;
  const auto pending = static_cast<std::int64_t>(output_.size());
  if (pending > settings.max_pending) {
    ++server_.slow_consumers, ++account_->slow_consumers;
    server_.log.info(label() + "Slow Consumer Detected: MaxPending of " + std::to_string(settings.max_pending) +
                     " Exceeded");
    return close(close_reason::slow_consumer_pending);
  }
  if (server_.publishing != nullptr && !settings.no_fast_producer_stall && pending > stall_threshold(settings))
    server_.publishing->slow_receiver = this;
}

void connection::mark_dirty() {
  if (std::exchange(dirty_, true)) return;
  server_.dirty.push_back(this);
}

void connection::send(std::string_view bytes) {
  if (phase_ != phase::open || output_failed_) return;
  output_.append(bytes);
  after_append();
}

void connection::send_ok() {
  if (server_.tracing) trace("->>", "OK");
  send(protocol::ok_line);
}

void connection::send_error(std::string_view text) {
  if (server_.tracing) trace("->>", "-ERR " + std::string(text));
  std::string line;
  protocol::append_error(line, text);
  send(line);
}

void connection::send_info(bool after_connect) {
  std::string line;
  server_.owner.append_info(line, *this, after_connect);
  send(line);
}

void connection::send_lame_duck_info() {
  if (!wants_async_info()) return;
  told_to_leave_ = true;
  send_info(false);
}

void connection::flush() {
  dirty_ = false;
  if (blocked_ || output_failed_ || phase_ == phase::finished) return;
  while (!output_.empty()) {
    std::array<std::string_view, 64> pieces;
    const std::size_t count = output_.gather(pieces);
    const runtime::io_result sent = stream_->write(std::span(pieces).first(count));
    if (sent.state == io_state::done) {
      output_.consume(sent.bytes);
      last_write_at_ = server_.now();
      if (!trouble_ || !trouble_->deadline.armed() || phase_ != phase::open) continue;
      if (trouble_->batch_left <= sent.bytes)
        begin_batch();
      else
        trouble_->batch_left -= sent.bytes;
      continue;
    }
    if (sent.state != io_state::would_block) {
      if (phase_ == phase::open) return on_write_failed();
      return finish();
    }
    blocked_ = true;
    if (phase_ == phase::open && !in_trouble().deadline.armed()) begin_batch();
    stream_->on_writable_once([this] { on_writable(); });
    return;
  }
  if (trouble_ && phase_ == phase::open) trouble_->deadline.disarm();
}

// A peer that is gone. What it published before is still in the socket and counts (core 2.10), so reading goes on to
// the end of the input, which is near.
void connection::on_write_failed() {
  constexpr nanoseconds read_on_max = std::chrono::seconds(2);
  output_failed_ = true;
  output_.clear();
  in_trouble().deadline.arm(server_.now() + read_on_max);
}

// What waits now must be gone by the write deadline (core 2.9).
void connection::begin_batch() {
  trouble& state = in_trouble();
  state.batch_total = state.batch_left = output_.size();
  state.batch_pieces = output_.pieces();
  state.batch_began = server_.now();
  if (state.batch_total == 0)
    state.deadline.disarm();
  else
    state.deadline.arm(server_.now() + server_.settings.write_deadline);
}

void connection::on_writable() {
  blocked_ = false;
  if (phase_ == phase::finished) return;
  flush();
  if (phase_ == phase::finished) return;
  if (static_cast<std::int64_t>(output_.size()) <= stall_threshold(server_.settings) && !server_.stalled.empty()) {
    const auto waiting = server_.stalled;  // resuming changes the list
    for (connection* publisher : waiting) publisher->resume_stalled(this);
  }
  if (phase_ == phase::lingering && output_.empty()) {
    if (input_ended_)
      finish();
    else
      stream_->shutdown_write();
  }
}

void connection::on_write_deadline() {
  if (phase_ == phase::lingering) return end_linger();
  if (output_failed_) return close(close_reason::write_error);
  trouble& state = in_trouble();
  ++server_.slow_consumers, ++account_->slow_consumers;
  server_.log.info(label() + "Slow Consumer Detected: WriteDeadline of " +
                   to_go_duration(server_.settings.write_deadline) + " exceeded with " +
                   std::to_string(state.batch_pieces) + " chunks of " + std::to_string(state.batch_total) +
                   " total bytes.");
  const bool wrote_some = last_write_at_ >= state.batch_began;
  if (server_.settings.write_timeout == write_timeout_policy::retry && wrote_some) return begin_batch();
  close(close_reason::slow_consumer_deadline);
}

// The publisher's input waits until the slow receiver has room again, at most `stall_max` per piece of input.
void connection::stall() {
  if (std::exchange(stalled_, true)) return;
  stall_spent_ = true;
  ++stalls_;
  ++server_.stalled_clients;
  stream_->pause_reading();
  server_.stalled.push_back(this);
  in_trouble().pause.arm(server_.now() + stall_max);
}

void connection::resume_stalled(const connection* receiver) {
  if (stalled_ && trouble_->receiver == receiver) end_stall();
}

void connection::end_stall() {
  if (!std::exchange(stalled_, false)) return;
  trouble_->pause.disarm();
  trouble_->receiver = nullptr;
  std::erase(server_.stalled, this);
  const std::string held = std::exchange(trouble_->held, {});
  if (!held.empty()) process(held);
  if (phase_ == phase::open && !stalled_) stream_->resume_reading();
}

}  // namespace tern::server
