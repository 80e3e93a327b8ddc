#include "routing/account_imports.hpp"

#include "protocol/headers.hpp"
#include "protocol/subject.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace tern::routing {
namespace {

constexpr std::string_view request_info = "Nats-Request-Info";
constexpr std::string_view response_prefix = "_R_.";
// A request that has come through so many accounts goes in a circle.
constexpr int imports_max = 16;

}  // namespace

// --- streams -------------------------------------------------------------------------------------------------------

// The receiver of one import's shadows. A shadow's tag is the subscription behind it.
class account_imports::stream_link final : public receiver {
 public:
  explicit stream_link(stream_import rules) : rules_(std::move(rules)) {}

  const stream_import& rules() const { return rules_; }

  // What a subscription of this side means on the other one; empty: nothing.
  std::string subject_there(std::string_view subject_here) const {
    if (!protocol::subjects_overlap(rules_.local, subject_here)) return {};
    if (rules_.transform || !protocol::is_subset(subject_here, rules_.local)) return rules_.subject;
    return std::string(subject_here.substr(rules_.prefix.size()));
  }

  bool deliver(subscription& shadow, const message& what) override {
    auto& behind = *reinterpret_cast<subscription*>(shadow.tag);
    if (behind.removed) return false;
    std::string mapped;
    if (rules_.transform) {
      if (!rules_.transform->append_mapped(mapped, what.subject)) return false;
    } else {
      mapped.reserve(rules_.prefix.size() + what.subject.size());
      mapped.append(rules_.prefix).append(what.subject);
    }
    // The shadow may be wider than what is behind it.
    if (!protocol::subject_matches(behind.subject, mapped)) return false;
    return behind.to->deliver(behind, {mapped, what.reply, what.headers, what.payload});
  }

 private:
  stream_import rules_;
};

// --- services ------------------------------------------------------------------------------------------------------

class account_imports::service_link final : public receiver {
 public:
  service_link(account_imports& owner, service_import rules) : owner_(owner), rules_(std::move(rules)) {}

  void begin() {
    here_ = owner_.into_.subscribe(*this, rules_.local);
    here_->internal = true;
  }
  void end() {
    if (here_ != nullptr) owner_.into_.unsubscribe(std::exchange(here_, nullptr));
  }

  bool deliver(subscription&, const message& what) override {
    const publisher* const by = owner_.into_.publishing();
    publisher onward = by != nullptr ? *by : publisher{};
    if (++onward.imports_passed > imports_max) return false;
    const bool chained = onward.origin != nullptr;
    if (!chained) onward.origin = &owner_.into_;
    std::string subject;
    if (!rules_.transform)
      subject = rules_.subject;
    else if (!rules_.transform->append_mapped(subject, what.subject))
      return false;
    std::string reply;
    if (!what.reply.empty()) {
      reply = rules_.routes->open(owner_.into_, what.reply, rules_);
      if (reply.empty()) return false;
    }
    std::string about;
    owner_.describe_(about, onward.self, *onward.origin, chained ? &owner_.into_ : nullptr, rules_.share);
    std::string headers = protocol::without_header(what.headers, request_info);
    protocol::append_header(headers, request_info, about);
    const std::size_t taken = rules_.from->publish_mapped({subject, reply, headers, what.payload}, onward);
    if (taken == 0 && !reply.empty()) rules_.routes->forget(reply);
    return taken != 0;
  }

 private:
  account_imports& owner_;
  service_import rules_;
  subscription* here_ = nullptr;
};

account_imports::account_imports(account& into, describe_requester describe)
    : into_(into), describe_(std::move(describe)) {}

account_imports::~account_imports() { drop_all(); }

void account_imports::drop_all() {
  into_.observe(nullptr);
  for (const auto& [what, there] : shadows_)
    for (const shadow_entry& one : there) one.in->unsubscribe(one.what);
  shadows_.clear();
  for (const auto& link : services_) link->end();
}

void account_imports::adopt(std::vector<stream_import> streams, std::vector<service_import> services) {
  drop_all();
  // Removed subscriptions live to the end of the turn and may name the old links until then: nothing is delivered to
  // them any more.
  streams_.clear();
  services_.clear();
  for (service_import& rules : services) {
    services_.push_back(std::make_unique<service_link>(*this, std::move(rules)));
    services_.back()->begin();
  }
  for (stream_import& rules : streams) streams_.push_back(std::make_unique<stream_link>(std::move(rules)));
  if (streams_.empty()) return;
  into_.observe(this);
  std::vector<subscription*> present;
  into_.for_each_subscription([&present](const subscription& one) {
    if (!one.internal) present.push_back(const_cast<subscription*>(&one));
  });
  for (subscription* one : present) on_subscribed(*one);
}

void account_imports::on_subscribed(subscription& what) {
  if (what.subject.starts_with(response_prefix)) return;
  for (const auto& link : streams_) shadow(*link, what);
}

void account_imports::shadow(stream_link& link, subscription& what) {
  const std::string there = link.subject_there(what.subject);
  if (there.empty()) return;
  subscription* const made = link.rules().from->subscribe(link, there, what.queue, what.sid);
  made->tag = reinterpret_cast<std::uint64_t>(&what);
  made->internal = true;
  shadows_[&what].push_back({link.rules().from, made});
}

void account_imports::on_unsubscribed(subscription& what) {
  const auto found = shadows_.find(&what);
  if (found == shadows_.end()) return;
  for (const shadow_entry& one : found->second) one.in->unsubscribe(one.what);
  shadows_.erase(found);
}

// --- answers -------------------------------------------------------------------------------------------------------

response_routes::response_routes(account& of, timer_queue& timers, std::function<time_point()> now, std::uint64_t seed)
    : of_(of), now_(std::move(now)), random_state_(seed), sweep_(timers, [this] { on_timer(); }) {
  prefix_ = std::string(response_prefix) + random_token() + ".";
}

response_routes::~response_routes() {
  if (all_ != nullptr) of_.unsubscribe(all_);
}

std::string response_routes::random_token() {
  constexpr std::string_view digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::uint64_t z = (random_state_ += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z ^= z >> 31;
  std::string out;
  for (int at = 0; at < 6; ++at, z /= digits.size()) out += digits[z % digits.size()];
  return out;
}

std::string response_routes::open(account& requester, std::string_view reply, const service_import& through) {
  if (routes_.size() >= routes_max) return {};
  std::string subject;
  do subject = prefix_ + random_token();
  while (routes_.contains(subject));
  const time_point deadline = now_() + through.threshold;
  routes_.emplace(subject, route{&requester, std::string(reply), through.expected, through.threshold, deadline});
  if (all_ == nullptr) {
    all_ = of_.subscribe(*this, prefix_ + "*");
    all_->internal = true;
  }
  if (!sweep_.armed() || deadline < sweep_.deadline()) sweep_.arm(deadline);
  return subject;
}

void response_routes::forget(std::string_view subject) { routes_.erase(std::string(subject)); }

void response_routes::forget_account(const account& requester) {
  std::erase_if(routes_, [&](const auto& one) { return one.second.requester == &requester; });
}

bool response_routes::deliver(subscription&, const message& what) {
  const auto found = routes_.find(std::string(what.subject));
  if (found == routes_.end()) return false;
  route& way = found->second;
  if (way.expected != answers::one) way.deadline = now_() + way.threshold;
  const bool last = way.expected == answers::one || (way.expected == answers::chunks && what.payload.empty());
  account& requester = *way.requester;
  const std::string reply = way.reply;
  if (last) routes_.erase(found);
  return requester.publish({reply, what.reply, what.headers, what.payload}) != 0;
}

// At least a quarter of the shortest threshold apart, so that many open requests are not walked for each of them.
void response_routes::on_timer() {
  const time_point now = now_();
  std::erase_if(routes_, [now](const auto& one) { return one.second.deadline <= now; });
  if (routes_.empty()) return;
  time_point next = time_point::max();
  nanoseconds shortest = nanoseconds::max();
  for (const auto& [subject, way] : routes_)
    next = std::min(next, way.deadline), shortest = std::min(shortest, way.threshold);
  sweep_.arm(std::max(next, now + shortest / 4));
}

}  // namespace tern::routing
