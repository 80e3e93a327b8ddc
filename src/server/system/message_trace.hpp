// The way of one message through this server, for who asked for it with `Nats-Trace-Dest` (core 7.3). Lives on the
// stack of its publish; what it noted is published where the header says.
#pragma once

#include "jetstream/environment.hpp"
#include "routing/subscription.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tern::server {

class connection;
class json_builder;

class message_trace final : public jetstream::publish_observer {
 public:
  // Nothing when the header is not there or names no subject.
  static std::optional<message_trace> asked_by(const routing::message& what);

  const std::string& destination() const { return destination_; }
  // Nobody is to get it (Nats-Trace-Only).
  bool only() const { return only_; }
  // It is this message and not one that its publish brought about.
  bool is_about(const routing::message& what) const { return what.headers.data() == headers_.data(); }

  void entered(const connection& by, std::string_view account, std::string_view subject, time_point at);
  void left_to(const connection& by, const routing::subscription& to, time_point at);
  bool reached_stream(std::string_view stream, std::string_view subject, time_point at) override;
  void refused_by_stream(std::string_view stream, std::string_view why) override;

  // The members "request" and "events".
  void append_to(json_builder& out) const;

 private:
  enum class kind : std::uint8_t { entry, stream, egress };
  struct event {
    kind what;
    time_point at{};
    std::uint64_t connection = 0;
    std::string name;  // of the connection, or of the stream
    std::string account, subject, queue, error = {};
  };

  std::string_view headers_;  // of the message
  std::size_t size_ = 0;
  std::string destination_;
  bool only_ = false;
  std::vector<event> events_;
};

}  // namespace tern::server
