#include "jetstream/engine.hpp"

#include "base/numbers.hpp"
#include "jetstream/account_streams.hpp"
#include "jetstream/advisory.hpp"
#include "jetstream/api.hpp"
#include "jetstream/api_routes.hpp"
#include "jetstream/stream/stream.hpp"
#include "jetstream/stream/stream_api.hpp"
#include "protocol/headers.hpp"

#include <tern/codec/json.hpp>

#include <map>
#include <utility>

namespace tern::jetstream {
namespace {

constexpr std::string_view api_audit_subject = "API";

// A required level that is no integer or above ours is refused; an empty or negative one passes (1.6).
bool level_is_refused(std::string_view headers, int level) {
  if (headers.empty()) return false;
  const auto wanted = protocol::header_view(headers).get_non_empty("Nats-Required-Api-Level");
  if (!wanted) return false;
  const auto number = parse_signed_decimal(*wanted);
  return !number || *number > level;
}

}  // namespace

// One account as the engine sees it: the receiver of its API, and its streams when it has JetStream.
class account_api final : public routing::receiver, public api_endpoint {
 public:
  account_api(routing::account& account, environment& surroundings) : account_(account), surroundings_(surroundings) {
    interest_.push_back(account.subscribe(*this, std::string(api_prefix) + ">"));
    if (const auto& domain = surroundings.settings.domain; !domain.empty()) {
      domain_prefix_ = "$JS." + domain + ".API.";
      interest_.push_back(account.subscribe(*this, domain_prefix_ + ">"));
    }
    for (auto* one : interest_) one->internal = true;
  }
  ~account_api() override {
    *alive_ = false;
    for (auto* one : interest_) account_.unsubscribe(one);
  }

  std::unique_ptr<account_streams> streams;  // null: JetStream is off here

  routing::account& account() const { return account_; }

  bool deliver(routing::subscription&, const routing::message& what) override {
    if (!domain_prefix_.empty() && what.subject.starts_with(domain_prefix_)) return deliver_for_domain(what);
    const std::string_view rest = what.subject.substr(api_prefix.size());
    if (is_asset_subject(rest)) return false;
    const api_route* route = find_route(rest);
    if (route == nullptr) return true;
    auto request = std::make_shared<api_request>(*this, surroundings_, account_, route->operation, what);
    const bool audited = route->operation.audited && wants_advisory(account_, api_audit_subject);
    if ((audited || route->operation.describes_client) && surroundings_.describe_client)
      request->client = surroundings_.describe_client();
    // Run when what came before it is committed: a request sees the publishes that its client sent ahead of it, and
    // never runs in the middle of a delivery that brought it about.
    surroundings_.store.when_durable([this, alive = alive_, route, request](const result<void>&) {
      if (*alive) run(*route, *request);
    });
    return true;
  }

 private:
  // The API under the domain's prefix, and the key-value and object spaces that clients address with it (20.4).
  bool deliver_for_domain(const routing::message& what) {
    const std::string_view rest = what.subject.substr(domain_prefix_.size());
    if (rest.starts_with("$O.")) return false;
    std::string subject(rest.starts_with("$KV.") || rest.starts_with("$OBJ.") ? std::string_view() : api_prefix);
    subject += rest;
    routing::message mapped = what;
    mapped.subject = subject;
    return account_.publish(mapped) > 0;
  }

  void run(const api_route& route, api_request& request) {
    if (streams == nullptr) return request.respond_error(protocol::jetstream_errc::not_enabled_for_account);
    if (level_is_refused(request.headers, surroundings_.settings.api_level))
      return request.respond_error(protocol::jetstream_errc::required_api_level);
    route.handle(*streams, request);
  }

  void answer(const api_request& to, std::string_view json, bool failed) override {
    if (streams != nullptr) {
      ++streams->api_total;
      if (failed) ++streams->api_errors;
    }
    if (!to.reply.empty()) {
      const std::string_view headers = failed ? std::string_view() : std::string_view(to.answer_headers);
      account_.publish({.subject = to.reply, .headers = headers, .payload = json});
    }
    if (to.operation.audited && wants_advisory(account_, api_audit_subject)) audit(to, json);
  }

  void audit(const api_request& about, std::string_view json) {
    advisory event(surroundings_, "io.nats.jetstream.advisory.v1.api_audit");
    event.add("server", surroundings_.settings.server_id);
    std::string client = about.client;
    if (client.empty()) {
      client = "{\"acc\":";
      codec::write_json_string(client, account_.name());
      client += ",\"server\":";
      codec::write_json_string(client, surroundings_.settings.server_id);
      client += ",\"kind\":\"JetStream\"}";
    }
    event.add_json("client", client).add("subject", about.subject);
    if (!about.body.empty()) event.add("request", about.body);
    event.add("response", json);
    publish_advisory(account_, api_audit_subject, std::move(event).finish());
  }

  routing::account& account_;
  environment& surroundings_;
  std::string domain_prefix_;
  std::vector<routing::subscription*> interest_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

struct engine::implementation {
  explicit implementation(environment& given) : surroundings(given) {}

  environment& surroundings;
  byte_usage used;
  std::map<std::string, std::unique_ptr<account_api>, std::less<>> accounts;
  bool recovered = false;

  account_api& entry(routing::account& account) {
    auto& made = accounts[account.name()];
    if (made == nullptr) made = std::make_unique<account_api>(account, surroundings);
    return *made;
  }

  void open_streams(account_streams& of) {
    for (const auto& one : surroundings.store.offline()) {
      if (one.account == of.account().name()) of.offline.emplace(one.name, one.reason);
    }
    for (storage::stream_record* record : surroundings.store.streams()) {
      if (record->account() == of.account().name()) stream_api::open_recovered(of, *record);
    }
  }

  static usage usage_of(const account_streams& of) {
    usage sum{.streams = of.streams.size(), .api_total = of.api_total, .api_errors = of.api_errors};
    for (const auto& [name, one] : of.streams) {
      sum.consumers += one->consumers().size();
      sum.messages += one->state().messages;
      sum.bytes += one->state().bytes;
    }
    sum.memory = of.used().memory;
    sum.storage = of.used().storage;
    sum.reserved_memory = of.reserved(storage_type::memory);
    sum.reserved_storage = of.reserved(storage_type::file);
    return sum;
  }
};

engine::engine(environment& surroundings) : implementation_(std::make_unique<implementation>(surroundings)) {}
engine::~engine() = default;

void engine::attach(routing::account& account, const account_limits& limits) {
  account_api& entry = implementation_->entry(account);
  if (entry.streams != nullptr) {
    entry.streams->limits = limits;
    return;
  }
  entry.streams =
      std::make_unique<account_streams>(account, implementation_->surroundings, limits, implementation_->used);
  if (implementation_->recovered) implementation_->open_streams(*entry.streams);
}

void engine::attach_disabled(routing::account& account) { implementation_->entry(account).streams.reset(); }

void engine::detach(routing::account& account) {
  const auto found = implementation_->accounts.find(account.name());
  if (found == implementation_->accounts.end()) return;
  if (found->second->streams != nullptr) {
    for (const auto& [name, one] : found->second->streams->streams) one->shutdown();
  }
  implementation_->accounts.erase(found);
}

bool engine::attached(std::string_view account) const {
  const auto found = implementation_->accounts.find(account);
  return found != implementation_->accounts.end() && found->second->streams != nullptr;
}

void engine::recover() {
  implementation_->recovered = true;
  for (const auto& [name, entry] : implementation_->accounts) {
    if (entry->streams != nullptr) implementation_->open_streams(*entry->streams);
  }
}

void engine::shutdown() {
  for (const auto& [name, entry] : implementation_->accounts) {
    if (entry->streams == nullptr) continue;
    for (const auto& [stream_name, one] : entry->streams->streams) one->shutdown();
  }
}

usage engine::total() const {
  usage sum;
  for (const account_usage& one : accounts()) {
    sum.streams += one.used.streams;
    sum.consumers += one.used.consumers;
    sum.messages += one.used.messages;
    sum.bytes += one.used.bytes;
    sum.memory += one.used.memory;
    sum.storage += one.used.storage;
    sum.reserved_memory += one.used.reserved_memory;
    sum.reserved_storage += one.used.reserved_storage;
    sum.api_total += one.used.api_total;
    sum.api_errors += one.used.api_errors;
  }
  return sum;
}

std::vector<account_usage> engine::accounts() const {
  std::vector<account_usage> all;
  for (const auto& [name, entry] : implementation_->accounts) {
    if (entry->streams == nullptr) continue;
    all.push_back(
        {.account = name, .limits = entry->streams->limits, .used = implementation::usage_of(*entry->streams)});
  }
  return all;
}

std::vector<unavailable_stream> engine::unavailable() const {
  std::vector<unavailable_stream> all;
  for (const auto& [account, entry] : implementation_->accounts) {
    if (entry->streams == nullptr) continue;
    for (const auto& [name, reason] : entry->streams->offline)
      all.push_back({.account = account, .name = name, .reason = reason});
  }
  return all;
}

const stream* engine::find_stream(std::string_view account, std::string_view name) const {
  const auto found = implementation_->accounts.find(account);
  if (found == implementation_->accounts.end() || found->second->streams == nullptr) return nullptr;
  return found->second->streams->find(name);
}

void engine::for_each_stream(std::string_view account, const std::function<void(const stream&)>& visit) const {
  const auto found = implementation_->accounts.find(account);
  if (found == implementation_->accounts.end() || found->second->streams == nullptr) return;
  for (const auto& [name, one] : found->second->streams->streams) visit(*one);
}

}  // namespace tern::jetstream
