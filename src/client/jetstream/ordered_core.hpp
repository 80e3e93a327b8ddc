// The engine of an ordered consumer (jetstream 16): every stored message once and in order, without acknowledgements.
//
// It keeps an ephemeral push consumer with heartbeats and flow control, and makes a new one behind the last message it
// had whenever something is missing: a gap in the consumer's own sequence, two heartbeats that do not come, a lost
// connection, a consumer that the server forgot.
//
// Owned by its user's handle and by the connection's table of interest. All state belongs to the loop; open() and
// stop() may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <tern/client/jetstream_records.hpp>
#include <tern/client/message.hpp>

#include "base/timer_queue.hpp"
#include "client/connection_core.hpp"
#include "client/message_sink.hpp"

namespace tern::client::detail {

// What the consumer tells, on the loop. on_end comes once: the stream is gone, the configuration was refused, or the
// connection has closed.
struct ordered_events {
  std::move_only_function<void(const consumer_info&)> on_created;
  std::move_only_function<void(message&&, const jetstream_metadata&)> on_message;
  std::move_only_function<void(error)> on_end;
  // Calls back when what was handed out has been taken: the server waits for that (flow control).
  std::move_only_function<void(std::move_only_function<void()>)> when_taken;
};

class ordered_core final : public std::enable_shared_from_this<ordered_core> {
 public:
  ordered_core(std::shared_ptr<connection_core> connection, std::string api_prefix, nanoseconds patience,
               std::string stream, consumer_config config, ordered_events events);

  // --- any thread ---
  void open();
  void stop();  // no event begins after the loop has seen it; whoever needs more guards its own callback
  std::uint64_t recreated() const { return recreated_.load(std::memory_order_relaxed); }
  connection_core& connection() { return *connection_; }

 private:
  class generation_sink;

  void create();
  void created(std::uint64_t generation, result<std::string_view> answer);
  void creation_failed(error why);
  void reset(bool at_once);
  void forget_consumer();
  void on_message(const protocol::message_frame& frame);
  void on_status(const protocol::message_frame& frame);
  void answer_flow_control(std::string_view subject);
  void on_silence();
  void heard();
  void end(error why);

  const std::shared_ptr<connection_core> connection_;
  const std::string api_prefix_;
  const nanoseconds patience_;
  const std::string stream_;
  consumer_config config_;  // of the next one to be made
  ordered_events events_;

  bool over_ = false;
  bool ever_created_ = false;
  std::uint64_t generation_ = 0;  // against what an earlier consumer still sends
  std::uint64_t sid_ = 0;
  std::string consumer_;
  std::uint64_t consumer_sequence_ = 0;
  std::uint64_t stream_sequence_ = 0;
  std::uint32_t failures_ = 0;
  std::string flow_control_;  // asked for and not answered yet
  time_point heard_at_{};
  std::atomic<std::uint64_t> recreated_ = 0;
  timer_queue::timer silence_timer_;
  timer_queue::timer retry_timer_;
};

}  // namespace tern::client::detail
