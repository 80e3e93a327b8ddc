// One batch from a pull consumer (service 17). A fresh inbox per fetch, so that nothing of an earlier one comes in.
//
// Owned by the connection's table of interest until it ends; the loop's own but for start(). Invariant: ends once, at
// the first of: the batch is full, a status that ends it, a missed heartbeat, the guard, the end of the connection.
#pragma once

#include <atomic>
#include <memory>

#include <tern/client/pull_consumer.hpp>

#include "base/timer_queue.hpp"
#include "client/connection_core.hpp"
#include "client/message_sink.hpp"

namespace tern::client::detail {

class pull_fetch final : public message_sink, public std::enable_shared_from_this<pull_fetch> {
 public:
  pull_fetch(std::shared_ptr<connection_core> connection, const fetch_options& with);

  // Any thread, once.
  operation<fetched> start(const std::string& next_subject);

  void on_message(const protocol::message_frame& frame) override;
  void on_end(const error& why) override;

 private:
  void begin();
  void heard();
  void finish(std::optional<error> problem, int status);

  std::shared_ptr<connection_core> connection_;
  const fetch_options with_;
  std::shared_ptr<operation_state<fetched>> state_;
  std::atomic<std::uint64_t> sid_ = 0;  // set by start(), while the loop may already end it
  time_point guard_at_{};
  fetched batch_;
  bool over_ = false;
  timer_queue::timer guard_;
  timer_queue::timer silence_;
};

}  // namespace tern::client::detail
