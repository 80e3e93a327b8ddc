// What an account takes from others (core 3.4): messages of their streams, and their services. Owned by the importing
// account's owner; one shard. Dies before any of the accounts that it names.
//
// A stream import gives each subscription that it concerns a shadow in the exporting account, which delivers to the
// same receiver under the local subject. A service import is a subscription of this account that publishes in the
// exporting one; the answer comes back through that account's response_routes. Chains of service imports work hop by
// hop; a stream that was imported is not imported again from here.
#pragma once

#include "base/timer_queue.hpp"
#include "routing/account.hpp"
#include "routing/subject_transform.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tern::routing {

class response_routes;

struct stream_import {
  account* from = nullptr;
  std::string subject;  // there
  std::string local;    // here: a pattern
  // From there to here; absent: the same subject behind `prefix`.
  std::optional<subject_transform> transform;
  std::string prefix;  // with its dot, or empty
};

enum class answers { one, several, chunks };  // chunks end with an empty body

struct service_import {
  account* from = nullptr;
  response_routes* routes = nullptr;           // of `from`
  std::string subject;                         // there
  std::string local;                           // here
  std::optional<subject_transform> transform;  // from here to there; absent: `subject`, as it stands
  answers expected = answers::one;
  nanoseconds threshold = std::chrono::minutes(2);
  bool share = false;
};

// Where the answers to an account's services go. Owned beside the account; one shard. Bounded: beyond `routes_max` open
// requests new ones find no responder.
class response_routes final : private receiver {
 public:
  static constexpr std::size_t routes_max = 1 << 20;

  response_routes(account& of, timer_queue& timers, std::function<time_point()> now, std::uint64_t seed);
  ~response_routes() override;
  response_routes(const response_routes&) = delete;
  response_routes& operator=(const response_routes&) = delete;

  // A subject under which the service may answer; empty: there are too many.
  std::string open(account& requester, std::string_view reply, const service_import& through);
  void forget(std::string_view subject);
  // The account goes away: nothing is delivered to it any more.
  void forget_account(const account& requester);
  std::size_t size() const { return routes_.size(); }

 private:
  struct route {
    account* requester;
    std::string reply;
    answers expected;
    nanoseconds threshold;
    time_point deadline;
  };
  bool deliver(subscription& to, const message& what) override;
  void on_timer();
  std::string random_token();

  account& of_;
  std::function<time_point()> now_;
  std::uint64_t random_state_;
  std::string prefix_;
  subscription* all_ = nullptr;  // while there is a route
  std::unordered_map<std::string, route> routes_;
  timer_queue::timer sweep_;
};

// Appends the JSON object that tells a service who asks: {"acc":...,"rtt":...} (core 3.4). `service` is the account in
// the middle of a chain, or null.
using describe_requester = std::function<void(std::string& out, const receiver* who, const account& asking,
                                              const account* service, bool share)>;

class account_imports final : public account::subscription_observer {
 public:
  account_imports(account& into, describe_requester describe);
  ~account_imports() override;
  account_imports(const account_imports&) = delete;
  account_imports& operator=(const account_imports&) = delete;

  // In the place of those that were there.
  void adopt(std::vector<stream_import> streams, std::vector<service_import> services);

 private:
  class stream_link;
  class service_link;

  void on_subscribed(subscription& what) override;
  void on_unsubscribed(subscription& what) override;
  void shadow(stream_link& link, subscription& what);
  void drop_all();

  account& into_;
  describe_requester describe_;
  std::vector<std::unique_ptr<stream_link>> streams_;
  std::vector<std::unique_ptr<service_link>> services_;
  struct shadow_entry {
    account* in;
    subscription* what;
  };
  std::unordered_map<const subscription*, std::vector<shadow_entry>> shadows_;
};

}  // namespace tern::routing
