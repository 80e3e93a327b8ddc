// Endpoints with statistics, and the answers by which services are found.
#include <tern/client/micro.hpp>

#include <algorithm>
#include <mutex>

#include "client/connection_core.hpp"
#include "client/core/loop_work.hpp"

namespace tern::client {
namespace detail {

// Counted on the loop, read and reset by anybody.
struct micro_endpoint {
  micro_endpoint_info about;
  micro_handler handler;
  std::mutex mutex;
  micro_endpoint_stats stats;  // guarded by mutex

  void handled(nanoseconds took) {
    const std::lock_guard lock(mutex);
    ++stats.num_requests;
    stats.processing_time += took;
    stats.average_processing_time = stats.processing_time / static_cast<std::int64_t>(stats.num_requests);
  }
  void failed(std::string_view why) {
    const std::lock_guard lock(mutex);
    ++stats.num_errors;
    stats.last_error = why;
  }
  micro_endpoint_stats read() {
    const std::lock_guard lock(mutex);
    return stats;
  }
};

namespace {

struct ping_record {
  std::string name;
  std::string id;
  std::string version;
  micro_metadata metadata;
  std::string type;
};
struct info_record {
  std::string name;
  std::string id;
  std::string version;
  micro_metadata metadata;
  std::string type;
  std::string description;
  std::vector<micro_endpoint_info> endpoints;
};
struct stats_record {
  std::string name;
  std::string id;
  std::string version;
  micro_metadata metadata;
  std::string type;
  std::optional<time_point> started;
  std::vector<micro_endpoint_stats> endpoints;
};

constexpr std::string_view verbs[] = {"PING", "INFO", "STATS"};

bool is_name(std::string_view name) {
  if (name.empty()) return false;
  return std::all_of(name.begin(), name.end(), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
           letter == '_' || letter == '-';
  });
}

// Three numbers with dots, then perhaps `-pre.release` and `+build`.
bool is_version(std::string_view version) {
  for (int part = 0; part < 3; ++part) {
    std::size_t digits = 0;
    while (digits < version.size() && version[digits] >= '0' && version[digits] <= '9') ++digits;
    if (digits == 0 || (digits > 1 && version[0] == '0')) return false;
    version.remove_prefix(digits);
    if (part == 2) break;
    if (!version.starts_with('.')) return false;
    version.remove_prefix(1);
  }
  if (version.empty()) return true;
  if (version.size() < 2 || (version[0] != '-' && version[0] != '+')) return false;
  return std::all_of(version.begin() + 1, version.end(),
                     [](char letter) { return letter == '.' || letter == '+' || is_name({&letter, 1}); });
}

}  // namespace

// Owned by the handle and, weakly, by the callbacks of its subscriptions.
class micro_core : public std::enable_shared_from_this<micro_core> {
 public:
  micro_core(connection over, micro_service_options with)
      : connection_(std::move(over)), with_(std::move(with)), started_(connection_.core()->loop().time().now()) {
    // Unique as an inbox is, without what all of them share.
    const auto inbox = connection_.new_inbox();
    id_ = inbox.substr(inbox.find('.') + 1);
    std::erase(id_, '.');
  }

  result<void> open() {
    for (const auto verb : verbs) {
      const std::string all = "$SRV." + std::string(verb);
      const std::string named = all + "." + with_.name();
      for (const auto& subject : {all, named, named + "." + id_}) {
        auto listening = connection_.subscribe(subject, [weak = weak_from_this(), verb](message&& asked) {
          const auto self = weak.lock();
          if (self && !asked.reply().empty()) (void)self->connection_.publish(asked.reply(), self->answer(verb));
        });
        if (!listening) return std::unexpected(std::move(listening).error());
        const std::lock_guard lock(mutex_);
        subscriptions_.push_back(*std::move(listening));
      }
    }
    return {};
  }

  result<void> add(std::string_view name, std::string subject, std::string queue_group, micro_metadata metadata,
                   micro_handler handler) {
    if (!is_name(name)) return fail(errc::invalid_argument, "'" + std::string(name) + "' is no endpoint name");
    if (stopped()) return fail(errc::closed, "the service has stopped");
    auto endpoint = std::make_shared<micro_endpoint>();
    endpoint->about.name = name;
    endpoint->about.subject = subject;
    endpoint->about.queue_group = queue_group;
    endpoint->about.metadata = std::move(metadata);
    endpoint->stats.name = name;
    endpoint->stats.subject = subject;
    endpoint->stats.queue_group = queue_group;
    endpoint->handler = std::move(handler);
    auto listening = connection_.subscribe(
        subject,
        [weak = weak_from_this(), endpoint](message&& asked) {
          if (const auto self = weak.lock()) self->handle(endpoint, std::move(asked));
        },
        subscribe_options().queue_group(queue_group));
    if (!listening) return std::unexpected(std::move(listening).error());
    const std::lock_guard lock(mutex_);
    endpoints_.push_back(std::move(endpoint));
    subscriptions_.push_back(*std::move(listening));
    return {};
  }

  std::vector<std::shared_ptr<micro_endpoint>> endpoints() const {
    const std::lock_guard lock(mutex_);
    return endpoints_;
  }
  std::vector<subscription> take_subscriptions() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    return std::exchange(subscriptions_, {});
  }
  bool stopped() const {
    const std::lock_guard lock(mutex_);
    return stopped_;
  }
  void reset() {
    for (const auto& endpoint : endpoints()) {
      const std::lock_guard lock(endpoint->mutex);
      micro_endpoint_stats fresh;
      fresh.name = endpoint->about.name;
      fresh.subject = endpoint->about.subject;
      fresh.queue_group = endpoint->about.queue_group;
      endpoint->stats = std::move(fresh);
    }
    started_ = connection_.core()->loop().time().now();
  }
  const connection& base() const { return connection_; }
  const micro_service_options& options() const { return with_; }
  const std::string& id() const { return id_; }
  time_point started() const { return started_; }

 private:
  void handle(const std::shared_ptr<micro_endpoint>& endpoint, message&& asked) {
    auto& loop = connection_.core()->loop();
    const auto began = loop.time().now();
    try {
      endpoint->handler(micro_request(std::move(asked), endpoint, connection_));
    } catch (const std::exception& thrown) {
      endpoint->failed(thrown.what());
    } catch (...) {
      endpoint->failed("an exception of an unknown type");
    }
    endpoint->handled(loop.time().now() - began);
  }

  template <class Record>
  Record identified(std::string_view type) const {
    Record record;
    record.name = with_.name();
    record.id = id_;
    record.version = with_.version();
    record.metadata = with_.metadata();
    record.type = "io.nats.micro.v1." + std::string(type);
    return record;
  }
  std::string answer(std::string_view verb) const {
    if (verb == "PING") return codec::to_json(identified<ping_record>("ping_response"));
    if (verb == "INFO") {
      auto record = identified<info_record>("info_response");
      record.description = with_.description();
      for (const auto& endpoint : endpoints()) record.endpoints.push_back(endpoint->about);
      return codec::to_json(record);
    }
    auto record = identified<stats_record>("stats_response");
    record.started = started_;
    for (const auto& endpoint : endpoints()) record.endpoints.push_back(endpoint->read());
    return codec::to_json(record);
  }

  connection connection_;
  const micro_service_options with_;
  std::string id_;
  std::atomic<time_point> started_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<micro_endpoint>> endpoints_;
  std::vector<subscription> subscriptions_;
  bool stopped_ = false;
};

namespace {

boost::asio::awaitable<result<void>> drain_all(connection over, std::vector<subscription> all) {
  result<void> outcome;
  for (auto& each : all) {
    auto drained = co_await each.drain();
    if (!drained && outcome) outcome = std::move(drained);
  }
  (void)over;  // keeps the loop until then
  co_return outcome;
}

std::string joined(std::string_view prefix, std::string_view rest) {
  if (prefix.empty()) return std::string(rest);
  return std::string(prefix).append(".").append(rest);
}

}  // namespace
}  // namespace detail

micro_request::micro_request(message asked, std::shared_ptr<detail::micro_endpoint> at, connection over)
    : message_(std::move(asked)), endpoint_(std::move(at)), connection_(std::move(over)) {}

result<void> micro_request::respond(std::string_view payload, const headers& with) {
  if (message_.reply().empty()) return tern::fail(errc::unsupported, "nobody waits for an answer");
  return connection_.publish(message_.reply(), payload, with);
}

result<void> micro_request::fail(std::string_view code, std::string_view description, std::string_view payload) {
  headers with;
  with.add("Nats-Service-Error", description).add("Nats-Service-Error-Code", code);
  endpoint_->failed(std::string(code) + ":" + std::string(description));
  return respond(payload, with);
}

micro_group micro_group::group(std::string_view prefix, std::optional<std::string> queue_group) const {
  return {core_, detail::joined(prefix_, prefix), queue_group ? std::move(queue_group) : queue_group_};
}

result<void> micro_group::add_endpoint(std::string_view name, micro_handler handler,
                                       const micro_endpoint_options& with) {
  if (!core_) return fail(errc::closed, "no service");
  const auto inherited = queue_group_.value_or(core_->options().queue_group());
  return core_->add(name, detail::joined(prefix_, with.subject().empty() ? name : std::string_view(with.subject())),
                    with.queue_group().value_or(inherited), with.metadata(), std::move(handler));
}

micro_service::micro_service(micro_service&&) noexcept = default;

micro_service& micro_service::operator=(micro_service&& other) noexcept {
  if (this != &other) {
    if (core_) (void)core_->take_subscriptions();
    core_ = std::move(other.core_);
  }
  return *this;
}

micro_service::~micro_service() {
  if (core_) (void)core_->take_subscriptions();  // their destructors wait for a handler that runs
}

result<micro_service> micro_service::start(const connection& over, const micro_service_options& with) {
  if (!over) return fail(errc::closed, "no connection");
  if (!detail::is_name(with.name())) return fail(errc::invalid_options, "'" + with.name() + "' is no service name");
  if (!detail::is_version(with.version())) {
    return fail(errc::invalid_options, "'" + with.version() + "' is no semantic version", "such as 1.2.0");
  }
  auto core = std::make_shared<detail::micro_core>(over, with);
  if (auto opened = core->open(); !opened) return std::unexpected(std::move(opened).error());
  return micro_service(std::move(core));
}

result<void> micro_service::add_endpoint(std::string_view name, micro_handler handler,
                                         const micro_endpoint_options& with) {
  return micro_group(core_, {}, {}).add_endpoint(name, std::move(handler), with);
}

micro_group micro_service::group(std::string_view prefix, std::optional<std::string> queue_group) const {
  return {core_, std::string(prefix), std::move(queue_group)};
}

const std::string& micro_service::id() const {
  static const std::string none;
  return core_ ? core_->id() : none;
}

std::vector<micro_endpoint_info> micro_service::endpoints() const {
  std::vector<micro_endpoint_info> all;
  if (!core_) return all;
  for (const auto& endpoint : core_->endpoints()) all.push_back(endpoint->about);
  return all;
}

std::vector<micro_endpoint_stats> micro_service::statistics() const {
  std::vector<micro_endpoint_stats> all;
  if (!core_) return all;
  for (const auto& endpoint : core_->endpoints()) all.push_back(endpoint->read());
  return all;
}

time_point micro_service::started() const { return core_ ? core_->started() : time_point(); }

void micro_service::reset_statistics() {
  if (core_) core_->reset();
}

operation<void> micro_service::stop() {
  if (!core_) return operation<void>::ended(fail(errc::closed, "no service"));
  auto all = core_->take_subscriptions();
  return detail::run_on_loop(core_->base(), detail::drain_all(core_->base(), std::move(all)));
}

}  // namespace tern::client
