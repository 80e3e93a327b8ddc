// The interest of a push consumer: hands out messages, answers flow control, watches heartbeats.
//
// Owned by its handle and by the connection's table of interest. All state belongs to the loop; open() and stop() may
// be called from any thread.
#pragma once

#include <memory>
#include <string>

#include <tern/client/jetstream_records.hpp>
#include <tern/client/push_consumer.hpp>

#include "base/timer_queue.hpp"
#include "client/core/item_queue.hpp"
#include "client/message_sink.hpp"

namespace tern::client::detail {

class push_core final : public message_sink, public std::enable_shared_from_this<push_core> {
 public:
  push_core(std::shared_ptr<connection_core> connection, const consumer_info& about,
            std::shared_ptr<item_queue<jetstream_message>> items);

  result<void> open();
  void stop();

  void on_message(const protocol::message_frame& frame) override;
  void on_end(const error& why) override;
  void on_disconnected() override { silence_timer_.disarm(); }
  void on_reconnected() override { heard(); }

 private:
  void on_status(const protocol::message_frame& frame);
  void answer_flow_control(std::string_view subject);
  void heard();
  void on_silence();

  const std::shared_ptr<connection_core> connection_;
  const std::string name_;
  const std::string deliver_subject_;
  const std::string group_;
  const nanoseconds heartbeat_;
  const std::shared_ptr<item_queue<jetstream_message>> items_;
  std::uint64_t sid_ = 0;
  std::string flow_control_;
  time_point heard_at_{};
  timer_queue::timer silence_timer_;
};

}  // namespace tern::client::detail
