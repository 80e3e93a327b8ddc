// What a user may publish and subscribe (core 3.3). Made once for a user, shared by his connections; one shard.
//     permissions rights({.publish = {.allow = {"orders.>"}, .deny = {"orders.secret"}}});
//     rights.may_publish("orders.new");
#pragma once

#include <tern/base/time.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tern::auth {

// Patterns; of subscriptions also "subject queue", where the queue may be a pattern too. No allow entry: everything.
struct subject_permission {
  std::vector<std::string> allow, deny;
  friend bool operator==(const subject_permission&, const subject_permission&) = default;
};

// May answer to the reply subjects of what was delivered.
struct response_permission {
  std::int64_t max = 1;                           // answers to each; negative: any number
  nanoseconds expires = std::chrono::minutes(2);  // negative: never
  friend bool operator==(const response_permission&, const response_permission&) = default;
};

struct permission_settings {
  subject_permission publish, subscribe;
  std::optional<response_permission> responses;
  friend bool operator==(const permission_settings&, const permission_settings&) = default;
};

class permissions {
 public:
  enum class answer : std::uint8_t {
    denied,
    allowed,
    allowed_in_part,  // wider than a denied subject: denies_delivery() has to be asked for each message
  };

  explicit permissions(permission_settings settings);

  // The static rules alone. Remembers the latest answers.
  bool may_publish(std::string_view subject) const;
  answer may_subscribe(std::string_view subject, std::string_view queue) const;
  bool denies_delivery(std::string_view subject) const;

  const std::optional<response_permission>& responses() const { return settings_.responses; }
  const permission_settings& settings() const { return settings_; }

 private:
  struct entry {
    std::string subject, queue;  // no queue: plain
  };
  struct matches {
    bool plain = false;
    bool some_queue = false;  // an entry with a queue is about this subject
    bool this_queue = false;  // one whose queue is the one asked for
  };
  static entry split(const std::string& text);
  static matches match(const std::vector<entry>& entries, std::string_view subject, std::string_view queue);
  bool decide_publish(std::string_view subject) const;

  // Direct-mapped; replaced by whoever comes next.
  static constexpr std::size_t remembered_max = 128;
  struct remembered {
    std::string subject;
    bool allowed = false;
  };

  permission_settings settings_;
  std::vector<entry> subscribe_allow_, subscribe_deny_;
  bool publish_nothing_ = false;
  mutable std::vector<remembered> latest_;
};

}  // namespace tern::auth
