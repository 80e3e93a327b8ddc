// An account: one subject space. Holds the interest of its clients and of the server's own parts, and routes publishes.
// Owned by the server; one shard. (core 2.5-2.8)
#pragma once

#include "routing/subject_map.hpp"
#include "routing/subscription.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace tern::routing {

class account;

// Who publishes, as far as routing cares.
struct publisher {
  const receiver* self = nullptr;  // passed over when echo is false
  bool echo = true;
  // Of a request that came through service imports: where it began, how many it has passed.
  const account* origin = nullptr;
  int imports_passed = 0;
};

struct interest_statistics {
  std::size_t subscriptions = 0, cache_entries = 0;
  std::uint64_t inserts = 0, removes = 0, matches = 0, cache_hits = 0;
  std::size_t maximum_fanout = 0;
  double average_fanout = 0;
};

class account {
 public:
  // `seed` feeds the choice of queue group members.
  account(std::string name, std::uint64_t seed);
  ~account();
  account(const account&) = delete;
  account& operator=(const account&) = delete;

  const std::string& name() const { return name_; }

  // --- interest ---
  // The subject is valid (protocol::is_valid_subscription_subject); the caller checked it.
  subscription* subscribe(receiver& to, std::string_view subject, std::string_view queue = {},
                          std::string_view sid = {});
  // At once for routing; the memory lives until end_turn().
  void unsubscribe(subscription* what);
  // Somebody would take a message published on this literal subject. Costs one cache look-up.
  bool has_interest(std::string_view subject);
  // The number of literal (non-wildcard) subscriptions on exactly this subject in this queue group ("" for plain ones):
  // what binds a push consumer (jetstream 16).
  std::size_t literal_interest(std::string_view subject, std::string_view queue);
  // A plain subscription of this receiver that a message published on the subject would reach, or null. Costs one
  // look-up.
  subscription* find_plain(const receiver& of, std::string_view subject);
  void for_each_subscription(const std::function<void(const subscription&)>& visit) const;
  // Calls `changed` at the end of a turn in which literal interest on `subject` appeared or vanished, until the handle
  // dies.
  class interest_watch {
   public:
    virtual ~interest_watch() = default;
  };
  std::unique_ptr<interest_watch> watch_literal(std::string_view subject, std::function<void()> changed);
  // Is told of each subscription as it comes and before it goes; null: nobody. For imports.
  class subscription_observer {
   public:
    virtual ~subscription_observer() = default;
    virtual void on_subscribed(subscription& what) = 0;
    virtual void on_unsubscribed(subscription& what) = 0;
  };
  void observe(subscription_observer* observer);

  // --- routing ---
  // Delivers to every plain subscription and one member of each queue group. Returns how many took it.
  std::size_t publish(const message& what, const publisher& from = {});
  // After the account's own mappings (core 7.1): what comes in through an import.
  std::size_t publish_mapped(const message& what, const publisher& from = {});
  // In the place of those before.
  void adopt_mappings(subject_map mappings);
  const subject_map& mappings() const { return mappings_; }
  std::uint64_t draw();  // a random number, for choices by weight
  // Who publishes the message at hand, for receivers that pass it on; null outside of a delivery.
  const publisher* publishing() const;
  // The same, routed by `route` while receivers are shown what.subject: a consumer's delivery to an inbox.
  std::size_t publish_to(std::string_view route, const message& what, const publisher& from = {});

  // Every publish walks the interest: the option disable_sublist_cache. Before the first publish.
  void disable_cache();

  interest_statistics statistics() const;
  // Frees what was removed; the server calls it at the end of each turn.
  void end_turn();

 private:
  struct implementation;
  std::string name_;
  subject_map mappings_;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace tern::routing
