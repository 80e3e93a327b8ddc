// What the copies of a `jetstream` share: the connection, the options, and the window of asynchronous publishes.
// Requests under way hold it, so it does not keep the connection open; the copies do.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <tern/client/jetstream.hpp>

#include "client/connection_core.hpp"

namespace tern::client::detail {

class jetstream_core : public std::enable_shared_from_this<jetstream_core> {
 public:
  jetstream_core(std::shared_ptr<connection_core> connection, const jetstream_options& with);

  connection_core& connection() { return *connection_; }
  std::string subject(std::string_view operation) const { return with_.api_prefix() + "." + std::string(operation); }
  nanoseconds api_patience() const { return api_patience_; }
  nanoseconds ack_patience(const publish_options& with) const { return with.timeout().value_or(ack_patience_); }
  const jetstream_options& settings() const { return with_; }

  // The window. Any thread.
  result<void> enter_window();
  void leave_window();
  std::size_t in_window() const;
  operation<void> when_window_empty();

 private:
  std::shared_ptr<connection_core> connection_;
  jetstream_options with_;
  nanoseconds api_patience_;
  nanoseconds ack_patience_;

  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::size_t open_ = 0;
  std::size_t threads_waiting_ = 0;
  std::vector<std::shared_ptr<operation_state<void>>> when_empty_;
};

// Reads a PubAck, or the error in it.
result<pub_ack> read_pub_ack(std::string_view answer);

}  // namespace tern::client::detail
