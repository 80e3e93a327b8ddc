#include "auth/permissions.hpp"

#include "base/hash.hpp"
#include "protocol/subject.hpp"

#include <algorithm>
#include <utility>

namespace tern::auth {

permissions::permissions(permission_settings settings) : settings_(std::move(settings)), latest_(remembered_max) {
  for (const std::string& text : settings_.subscribe.allow) subscribe_allow_.push_back(split(text));
  for (const std::string& text : settings_.subscribe.deny) subscribe_deny_.push_back(split(text));
  // Who may only answer does not publish of his own accord (core 3.3).
  publish_nothing_ = settings_.responses.has_value() && settings_.publish.allow.empty();
}

permissions::entry permissions::split(const std::string& text) {
  const std::size_t blank = text.find_first_of(" \t");
  if (blank == std::string::npos) return {text, {}};
  return {text.substr(0, blank), text.substr(text.find_first_not_of(" \t", blank))};
}

bool permissions::may_publish(std::string_view subject) const {
  remembered& place = latest_[hash64(subject) % remembered_max];
  if (place.subject != subject) {
    place.allowed = decide_publish(subject);
    place.subject.assign(subject);
  }
  return place.allowed;
}

bool permissions::decide_publish(std::string_view subject) const {
  const auto covers = [subject](const std::string& pattern) { return protocol::subject_matches(pattern, subject); };
  if (publish_nothing_) return false;
  const subject_permission& rules = settings_.publish;
  if (!rules.allow.empty() && std::ranges::none_of(rules.allow, covers)) return false;
  return std::ranges::none_of(rules.deny, covers);
}

permissions::matches permissions::match(const std::vector<entry>& entries, std::string_view subject,
                                        std::string_view queue) {
  matches out;
  for (const entry& one : entries) {
    if (!protocol::is_subset(subject, one.subject)) continue;
    if (one.queue.empty()) {
      out.plain = true;
      continue;
    }
    out.some_queue = true;
    // A queue may be called `*`: the name itself is tried first.
    if (queue == one.queue || (protocol::has_wildcards(one.queue) && protocol::is_subset(queue, one.queue)))
      out.this_queue = true;
  }
  return out;
}

permissions::answer permissions::may_subscribe(std::string_view subject, std::string_view queue) const {
  if (!subscribe_allow_.empty()) {
    const matches found = match(subscribe_allow_, subject, queue);
    const bool by_queue = !queue.empty() && found.some_queue;
    if (!(by_queue ? found.this_queue : found.plain)) return answer::denied;
  }
  if (subscribe_deny_.empty()) return answer::allowed;
  const matches found = match(subscribe_deny_, subject, queue);
  const bool by_queue = !queue.empty() && found.some_queue;
  if (by_queue ? found.this_queue : found.plain) return answer::denied;
  const bool wider = protocol::has_wildcards(subject) && std::ranges::any_of(subscribe_deny_, [&](const entry& one) {
                       return one.queue.empty() && protocol::subjects_overlap(one.subject, subject);
                     });
  return wider ? answer::allowed_in_part : answer::allowed;
}

bool permissions::denies_delivery(std::string_view subject) const {
  return std::ranges::any_of(subscribe_deny_, [subject](const entry& one) {
    return one.queue.empty() && protocol::subject_matches(one.subject, subject);
  });
}

}  // namespace tern::auth
