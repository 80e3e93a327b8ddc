// Pull requests: what is answered at once, who is served next, and how a request ends (jetstream 15, 17.2).
#include "jetstream/consumer/consumer.hpp"
#include "jetstream/consumer/consumer_push.hpp"

#include "base/go_duration.hpp"
#include "base/numbers.hpp"
#include "protocol/headers.hpp"

#include <algorithm>
#include <utility>

namespace tern::jetstream {
namespace {

constexpr std::int64_t priority_max = 9;
// A full queue is searched for the dead no more often than this.
constexpr nanoseconds eviction_pause = std::chrono::seconds(1);

std::string pending_headers(const waiting_pull& pull) {
  std::string out("Nats-Pending-Messages: ");
  append_signed_decimal(out, pull.asked.batch);
  out.append("\r\nNats-Pending-Bytes: ");
  append_signed_decimal(out, pull.asked.max_bytes);
  out.append("\r\n");
  return out;
}

std::string status_line(int code, std::string_view text) {
  std::string out(protocol::header_line);
  out += ' ';
  append_decimal(out, static_cast<std::uint64_t>(code));
  if (!text.empty()) out.append(" ").append(text);
  out.append("\r\n");
  return out;
}

// Whether the client asks for no more than this server knows (1.6).
bool api_level_suffices(std::string_view headers, int level) {
  if (headers.empty()) return true;
  const auto wanted = protocol::header_view(headers).get_non_empty("Nats-Required-Api-Level");
  if (!wanted) return true;
  const auto number = parse_signed_decimal(*wanted);
  return number && *number <= level;
}

}  // namespace

void consumer::on_pull(std::string_view reply, std::string_view headers, std::string_view body) {
  if (reply.empty()) return;
  if (config_.push()) return send_status(reply, 409, "Consumer is push based");
  if (!api_level_suffices(headers, around().settings.api_level)) return send_status(reply, 412, "Required Api Level");
  touch();
  const auto pull = parse_pull_request(body);
  if (!pull) return send_status(reply, 400, "Bad Request - " + pull.error().context());
  if (const auto refusal = refuse_pull(*pull)) {
    return send_status(reply,
                       refusal->starts_with("Exceeded") ? 409
                       : refusal->starts_with("Nats-")  ? 423
                                                        : 400,
                       *refusal);
  }
  const pull_request& asked = pull->request;
  if (!pin_id_.empty() && asked.id == pin_id_) pin_timer_.arm(now() + config_.priority_timeout);
  const auto room = static_cast<std::size_t>(config_.max_waiting);
  if (pulls_.size() >= room && now() - last_eviction_ >= eviction_pause) {
    last_eviction_ = now();
    drop_dead_pulls();
  }
  if (asked.no_wait && !admit_no_wait(asked, reply)) return;
  if (pulls_.size() >= room) {
    if (asked.idle_heartbeat <= nanoseconds(0)) send_status(reply, 409, "Exceeded MaxWaiting");
    return;
  }
  waiting_pull& waiting = pulls_.add(asked, reply, config_.priority_policy == priority_mode::prioritized);
  const time_point at = now();
  if (asked.expires < nanoseconds(0)) return end_pull(waiting, 408, "Request Timeout", true);
  if (asked.expires > nanoseconds(0) && asked.expires < time_point::max() - at) waiting.expires_at = at + asked.expires;
  if (asked.idle_heartbeat > nanoseconds(0)) waiting.next_heartbeat = at + asked.idle_heartbeat;
  if (waiting.expires_at || asked.idle_heartbeat > nanoseconds(0)) {
    time_point next = waiting.expires_at.value_or(time_point::max());
    if (asked.idle_heartbeat > nanoseconds(0)) next = std::min(next, waiting.next_heartbeat);
    waiting.clock->arm(next);
  }
  if (!pump_timer_.armed()) pump();
}

// The text of the refusal; its code follows from the text.
std::optional<std::string> consumer::refuse_pull(const parsed_pull& pull) {
  const pull_request& asked = pull.request;
  if (config_.max_batch > 0 && asked.batch > config_.max_batch) {
    return "Exceeded MaxRequestBatch of " + std::to_string(config_.max_batch);
  }
  if (config_.max_expires > nanoseconds(0) && asked.expires > config_.max_expires) {
    return "Exceeded MaxRequestExpires of " + to_go_duration(config_.max_expires);
  }
  if (config_.max_bytes > 0 && asked.max_bytes > config_.max_bytes) {
    return "Exceeded MaxRequestMaxBytes of " + std::to_string(config_.max_bytes);
  }
  const priority_mode policy = config_.priority_policy;
  if ((asked.min_pending != 0 || asked.min_ack_pending != 0) && policy != priority_mode::overflow) {
    return "Bad Request - Not a Overflow Priority consumer";
  }
  if (!asked.id.empty() && policy != priority_mode::pinned_client) {
    return "Bad Request - Not a Pinned Client Priority consumer";
  }
  if (asked.priority < 0 || asked.priority > priority_max) return "Bad Request - Priority must be between 0 and 9";
  if (policy == priority_mode::none || !pull.json) return std::nullopt;
  if (asked.group.empty()) return "Bad Request - Priority Group missing";
  const auto& groups = config_.priority_groups;
  if (std::find(groups.begin(), groups.end(), asked.group) == groups.end())
    return "Bad Request - Invalid Priority Group";
  if (!pin_id_.empty() && !asked.id.empty() && asked.id != pin_id_) return "Nats-Pin-Id mismatch";
  return std::nullopt;
}

// False when the request was answered.
bool consumer::admit_no_wait(const pull_request& asked, std::string_view reply) {
  const std::uint64_t available = num_pending_ + redelivery_.size();
  bool held_back = paused();
  if (config_.priority_policy == priority_mode::overflow) {
    waiting_pull probe;
    probe.asked = asked;
    held_back = held_back || !eligible(probe);
  } else if (config_.priority_policy == priority_mode::pinned_client) {
    held_back = held_back || (!pin_id_.empty() && asked.id.empty());
  }
  if ((available == 0 || held_back) && asked.expires == nanoseconds(0)) {
    send_status(reply, 404, "No Messages");
    return false;
  }
  if (available > 0 && others_want_more_than(available)) {
    send_status(reply, 408, "Requests Pending");
    return false;
  }
  return true;
}

// Looks no further than needed: each request wants one message at least, and the dead are met once.
bool consumer::others_want_more_than(std::uint64_t available) {
  std::uint64_t wanted = 0;
  pulls_.for_each([&](waiting_pull& pull) {
    if (account().has_interest(pull.reply)) {
      wanted += static_cast<std::uint64_t>(std::max<std::int64_t>(pull.asked.batch, 1));
    } else {
      pulls_.remove(pull);
    }
    return wanted <= available;
  });
  return wanted > available;
}

void consumer::drop_dead_pulls() {
  pulls_.for_each([this](waiting_pull& pull) {
    if (!account().has_interest(pull.reply)) pulls_.remove(pull);
    return true;
  });
}

void consumer::on_pull_clock(waiting_pull& pull) {
  const time_point at = now();
  if (pull.expires_at && *pull.expires_at <= at) return end_pull(pull, 408, "Request Timeout", true);
  if (!account().has_interest(pull.reply)) return pulls_.remove(pull);
  time_point next = pull.expires_at.value_or(time_point::max());
  if (pull.asked.idle_heartbeat > nanoseconds(0)) {
    if (pull.next_heartbeat <= at) {
      send_heartbeat(pull.reply);
      pull.next_heartbeat = at + pull.asked.idle_heartbeat;
    }
    next = std::min(next, pull.next_heartbeat);
  }
  pull.clock->arm(next);
}

// --- who is next ---

bool consumer::eligible(const waiting_pull& pull) const {
  const pull_request& asked = pull.asked;
  if (asked.min_pending <= 0 && asked.min_ack_pending <= 0) return true;
  if (asked.min_pending > 0 && num_pending_ >= static_cast<std::uint64_t>(asked.min_pending)) return true;
  return asked.min_ack_pending > 0 && state_.pending.size() >= static_cast<std::uint64_t>(asked.min_ack_pending);
}

waiting_pull* consumer::pick_pull() {
  if (config_.priority_policy == priority_mode::none || config_.priority_policy == priority_mode::prioritized) {
    return pulls_.front();
  }
  waiting_pull* found = nullptr;
  pulls_.for_each([&](waiting_pull& pull) {
    if (config_.priority_policy == priority_mode::overflow) {
      if (eligible(pull)) found = &pull;
    } else if (!pin_id_.empty()) {
      if (pull.asked.id == pin_id_) found = &pull;
    } else if (pull.asked.id.empty()) {
      found = &pull;
    } else {
      end_pull(pull, 423, "Nats-Wrong-Pin-Id", true);
    }
    return found == nullptr;
  });
  return found;
}

void consumer::after_delivery(waiting_pull& pull, std::uint64_t size) {
  --pull.asked.batch;
  ++pull.delivered;
  if (pull.bounded_bytes) pull.asked.max_bytes -= static_cast<std::int64_t>(size);
  if (pull.asked.idle_heartbeat > nanoseconds(0)) pull.next_heartbeat = now() + pull.asked.idle_heartbeat;
  last_activity_ = now();
  if (pull.satisfied()) {
    if (pull.bounded_bytes && pull.asked.max_bytes > 0) return end_pull(pull, 409, "Batch Completed", true);
    return pulls_.remove(pull);
  }
  if (pull.bounded_bytes && pull.asked.max_bytes == 0) return pulls_.remove(pull);
  if (pulls_.size() > 1) pulls_.rotate(pull, config_.priority_policy == priority_mode::prioritized);
}

// Nothing is left to deliver: requests that do not want to wait for more end.
void consumer::end_no_wait_pulls() {
  if (pulls_.no_wait_count() == 0) return;
  pulls_.for_each([this](waiting_pull& pull) {
    if (pull.asked.no_wait && (pull.delivered > 0 || !pull.expires_at)) end_pull(pull, 404, "No Messages", false);
    return true;
  });
}

// --- statuses ---

void consumer::end_pull(waiting_pull& pull, int code, std::string_view text, bool with_pending) {
  std::string block = status_line(code, text);
  if (with_pending) block += pending_headers(pull);
  block.append("\r\n");
  account().publish({.subject = pull.reply, .headers = block});
  pulls_.remove(pull);
}

void consumer::send_status(std::string_view to, int code, std::string_view text) {
  std::string block = status_line(code, text);
  block.append("\r\n");
  account().publish({.subject = to, .headers = block});
}

void consumer::send_heartbeat(std::string_view to) {
  std::string block = status_line(100, "Idle Heartbeat");
  block.append("Nats-Last-Consumer: ");
  append_decimal(block, state_.next_consumer - 1);
  block.append("\r\nNats-Last-Stream: ");
  append_decimal(block, state_.next_stream - 1);
  block.append("\r\n");
  if (push_ != nullptr) block += push_->stalled_header();
  block.append("\r\n");
  account().publish({.subject = to, .headers = block});
}

// --- pinned clients (17.2) ---

void consumer::pin(waiting_pull& pull, std::string id) {
  pin_id_ = std::move(id);
  pinned_at_ = now();
  pull.asked.id = pin_id_;
  pin_timer_.arm(*pinned_at_ + config_.priority_timeout);
  tell_pin("PINNED", "consumer_group_pinned", "pinned_id", pin_id_);
}

void consumer::expire_pin(std::string_view reason) {
  // What the pinned client still asks for stands by like everybody else's from now on.
  pulls_.for_each([this](waiting_pull& pull) {
    if (!pin_id_.empty() && pull.asked.id == pin_id_) pull.asked.id.clear();
    return true;
  });
  pin_id_.clear();
  pinned_at_.reset();
  pin_timer_.disarm();
  tell_pin("UNPINNED", "consumer_group_unpinned", "reason", reason);
  wake_soon();
}

std::optional<protocol::api_error> consumer::unpin(std::string_view group) {
  const auto& groups = config_.priority_groups;
  if (config_.priority_policy == priority_mode::none ||
      std::find(groups.begin(), groups.end(), group) == groups.end()) {
    return protocol::make_api_error(protocol::jetstream_errc::consumer_invalid_priority_group);
  }
  expire_pin("admin");
  return std::nullopt;
}

}  // namespace tern::jetstream
