#include "service/broker_link.hpp"

namespace tern::service::detail {

void broker_link::open(client::connection connection) {
  connection_ = std::move(connection);
  streams_ = client::jetstream(connection_);
  phase_ = phase::open;
}

result<void> broker_link::may_publish(std::string_view subject) {
  if (phase_ == phase::not_started)
    return fail(errc::not_started,
                "publish to " + std::string(subject) + ": broker " + name_ + " is not connected yet");
  if (phase_ == phase::closed)
    return fail(errc::closed, "publish to " + std::string(subject) + ": broker " + name_ + " is closed");
  if (const auto found = injected_.find(subject); found != injected_.end() && !found->second.empty()) {
    error why = std::move(found->second.front());
    found->second.pop_front();
    return std::unexpected(std::move(why));
  }
  return {};
}

void broker_link::tell(std::string_view subject, std::string_view payload, const client::headers& with) {
  for (auto& watcher : observers_) watcher(subject, payload, with);
}

result<void> broker_link::send(std::string_view subject, std::string_view payload, const client::headers& with) {
  if (auto allowed = may_publish(subject); !allowed) return allowed;
  auto sent = connection_.publish(subject, payload, with);
  if (sent) tell(subject, payload, with);
  return sent;
}

boost::asio::awaitable<result<published>> broker_link::send_confirmed(std::string subject, std::string payload,
                                                                      client::headers with) {
  if (auto allowed = may_publish(subject); !allowed) co_return std::unexpected(std::move(allowed).error());
  client::publish_options options;
  options.headers(with);
  auto acknowledged = co_await streams_.publish(subject, std::string_view(payload), options);
  if (!acknowledged) co_return std::unexpected(std::move(acknowledged).error());
  tell(subject, payload, with);
  published made;
  made.stream = acknowledged->stream;
  made.sequence = acknowledged->seq;
  made.duplicate = acknowledged->duplicate;
  co_return made;
}

}  // namespace tern::service::detail

namespace tern::service {

boost::asio::awaitable<result<published>> publisher::fail_with(error why) { co_return std::unexpected(std::move(why)); }

boost::asio::awaitable<result<published>> publisher::publish_bytes(std::string subject, std::string payload,
                                                                   bool confirmed, publish_options with,
                                                                   std::string_view content_type) {
  const auto link = link_;
  if (!link) co_return fail(errc::not_found, "publish to " + subject + ": the application has no broker of that name");
  client::headers headers = with.headers();
  if (!content_type.empty() && !headers.get("Content-Type")) headers.add("Content-Type", content_type);
  if (!with.message_id().empty()) headers.set("Nats-Msg-Id", with.message_id());
  if (with.expect_last_sequence())
    headers.set("Nats-Expected-Last-Sequence", std::to_string(*with.expect_last_sequence()));
  if (confirmed) co_return co_await link->send_confirmed(std::move(subject), std::move(payload), std::move(headers));
  if (auto sent = link->send(subject, payload, headers); !sent) co_return std::unexpected(std::move(sent).error());
  co_return published{};
}

boost::asio::awaitable<result<client::message>> publisher::request_bytes(std::string subject, std::string payload,
                                                                         std::chrono::nanoseconds timeout) {
  const auto link = link_;
  if (!link) co_return fail(errc::not_found, "request to " + subject + ": the application has no broker of that name");
  if (link->state() == detail::broker_link::phase::not_started)
    co_return fail(errc::not_started, "request to " + subject);
  if (link->state() == detail::broker_link::phase::closed) co_return fail(errc::closed, "request to " + subject);
  client::request_options options;
  options.timeout(timeout);
  co_return co_await link->connection().request(subject, std::string_view(payload), options);
}

}  // namespace tern::service
