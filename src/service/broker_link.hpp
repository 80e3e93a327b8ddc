// One broker of a running application: its connection, and the only way by which the framework publishes. Shared by the
// application and by publishers that outlive it. The application's thread.
#pragma once

#include <tern/client/connection.hpp>
#include <tern/client/jetstream.hpp>
#include <tern/service/publisher.hpp>

#include <boost/asio/awaitable.hpp>

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tern::service::detail {

class broker_link {
 public:
  enum class phase { not_started, open, closed };
  // What was published, for whoever watches: subject, payload, headers.
  using observer = std::function<void(std::string_view, std::string_view, const client::headers&)>;

  explicit broker_link(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  void open(client::connection connection);
  void mark_closed() { phase_ = phase::closed; }  // before the drain begins (2.6)
  phase state() const { return phase_; }
  client::connection& connection() { return connection_; }
  client::jetstream& streams() { return streams_; }

  // Over Core: handed to the connection when this returns.
  result<void> send(std::string_view subject, std::string_view payload, const client::headers& with);
  // Into a stream: completes with its acknowledgement.
  boost::asio::awaitable<result<published>> send_confirmed(std::string subject, std::string payload,
                                                           client::headers with);
  // The answer to a delivery: no headers, not observed.
  result<void> settle(std::string_view ack_subject, std::string_view body) {
    if (settlements_to_drop_ != 0) return --settlements_to_drop_, result<void>();
    return connection_.publish(ack_subject, body);
  }

  void watch(observer watcher) { observers_.push_back(std::move(watcher)); }
  // For tests of what happens then: the next settlements are lost on their way; the next publish on `subject` fails.
  void drop_settlements(std::size_t count) { settlements_to_drop_ += count; }
  void fail_next(std::string subject, error why) { injected_[std::move(subject)].push_back(std::move(why)); }

 private:
  result<void> may_publish(std::string_view subject);
  void tell(std::string_view subject, std::string_view payload, const client::headers& with);

  std::string name_;
  phase phase_ = phase::not_started;
  client::connection connection_;
  client::jetstream streams_;
  std::vector<observer> observers_;
  std::size_t settlements_to_drop_ = 0;
  std::map<std::string, std::deque<error>, std::less<>> injected_;
};

}  // namespace tern::service::detail
