#include "server/security/operator_authority.hpp"

#include "protocol/subject.hpp"

#include <algorithm>
#include <utility>

namespace tern::server {
namespace {

std::optional<jetstream::account_limits> jetstream_limits_of(const auth::account_limit_claims& limits) {
  // Limits per replica count stand in the place of the plain ones; one machine has one replica.
  const auto tier = limits.tiered_limits.find("R1");
  const auth::jetstream_claims& from = tier == limits.tiered_limits.end() ? limits.jetstream : tier->second;
  if (from.mem_storage == 0 && from.disk_storage == 0) return std::nullopt;
  // A count of 0 is none, a size of 0 nothing, as for the peer.
  const auto count = [](std::int64_t value) { return value == 0 ? -1 : value; };
  return jetstream::account_limits{.max_memory = from.mem_storage,
                                   .max_storage = from.disk_storage,
                                   .max_streams = count(from.streams),
                                   .max_consumers = count(from.consumer),
                                   .max_ack_pending = count(from.max_ack_pending),
                                   .memory_max_stream_bytes = count(from.mem_max_stream_bytes),
                                   .storage_max_stream_bytes = count(from.disk_max_stream_bytes),
                                   .max_bytes_required = from.max_bytes_required};
}

response_type response_type_of(std::string_view word) {
  if (word == "Stream") return response_type::streamed;
  if (word == "Chunked") return response_type::chunked;
  return response_type::singleton;
}

bool export_covers(const auth::export_claims& offered, const auth::import_claims& wanted, std::string_view importer) {
  if (offered.type != wanted.type || !protocol::is_subset(wanted.subject, offered.subject)) return false;
  if (offered.account_token_position <= 0) return true;
  return protocol::nth_token(wanted.subject, static_cast<std::size_t>(offered.account_token_position - 1)) == importer;
}

std::vector<routing::mapping> mappings_of(const auth::account_block& block) {
  std::vector<routing::mapping> out;
  for (const auto& [source, destinations] : block.mappings) {
    routing::mapping made{.source = source, .destinations = {}};
    for (const auth::weighted_claims& one : destinations) {
      const int weight = one.weight == 0 ? 100 : static_cast<int>(std::clamp<std::int64_t>(one.weight, 0, 100));
      made.destinations.push_back({.subject = one.subject, .weight = weight, .cluster = one.cluster});
    }
    out.push_back(std::move(made));
  }
  return out;
}

std::unexpected<error> refused(const char* why) { return fail(errc::invalid_argument, why); }

}  // namespace

result<operator_authority> operator_authority::create(const security_options& what, time_point now) {
  operator_authority out;
  out.pinned_ = what.operators.pinned_accounts;
  out.sentinel_ = what.operators.default_sentinel;
  out.system_account_ = what.system_account;
  for (const std::string& key : what.operators.trusted_keys) out.trust_.add_key(key);
  for (const std::string& token : what.operators.tokens) {
    const auto claims = auth::open_claims<auth::operator_claims>(token);
    if (!claims) return fail(errc::config_error, "error parsing operator JWT: " + claims.error().context());
    out.trust_.add(*claims);
    if (out.system_account_.empty()) out.system_account_ = claims->nats.system_account;
  }
  for (const auto& [key, token] : what.operators.preload) {
    auto claims = auth::open_claims<auth::account_claims>(token);
    if (!claims || claims->sub != key || !out.trust_.trusts(claims->iss) || !auth::check_account_claims(*claims, now))
      continue;
    out.accounts_.emplace(key, *std::move(claims));
  }
  if (out.system_account_.empty()) return out;
  if (!auth::is_public_key(auth::key_kind::account, out.system_account_))
    return fail(errc::config_error, "error resolving system account: will only fetch valid account keys");
  if (!out.knows(out.system_account_))
    return fail(errc::config_error, "error resolving system account: account missing");
  return out;
}

security_options operator_authority::with_accounts(security_options what, time_point now) const {
  what.accounts.clear();
  for (const auto& [key, claims] : accounts_) what.accounts.push_back(options_of(claims, now));
  what.system_account = system_account_;
  what.no_system_account = system_account_.empty();
  return what;
}

account_options operator_authority::options_of(const auth::account_claims& claims, time_point now) const {
  account_options out{.name = claims.sub, .nkey = claims.sub};
  const auth::account_block& block = claims.nats;
  out.limits = {.max_connections = block.limits.conn,
                .max_subscriptions = block.limits.subs,
                .max_payload = block.limits.payload,
                .max_leafnodes = block.limits.leaf};
  if (claims.sub != system_account_) out.jetstream = jetstream_limits_of(block.limits);
  out.mappings = mappings_of(block);
  auth::permission_settings defaults{.publish = block.default_permissions.pub,
                                     .subscribe = block.default_permissions.sub,
                                     .responses = auth::response_permission_of(block.default_permissions.resp)};
  if (defaults != auth::permission_settings{}) out.default_permissions = std::move(defaults);
  if (block.trace && !block.trace->dest.empty()) {
    out.trace_destination = block.trace->dest;
    const std::int64_t percent = block.trace->sampling == 0 ? 100 : block.trace->sampling;
    out.trace_sampling = static_cast<int>(std::clamp<std::int64_t>(percent, 1, 100));
  }
  for (const auth::export_claims& one : block.exports) {
    export_options made{.service = one.type == "service", .subject = one.subject};
    made.accounts = importers_of(claims, one, now);
    made.account_token_position = one.account_token_position;
    made.responses = response_type_of(one.response_type);
    made.threshold = nanoseconds(std::max<std::int64_t>(one.response_threshold, 0));
    if (one.service_latency && !one.service_latency->results.empty())
      made.latency = latency_options{one.service_latency->results, one.service_latency->sampling.percent};
    made.allow_trace = one.allow_trace;
    out.exports.push_back(std::move(made));
  }
  add_imports(claims, out, now);
  return out;
}

// Who has an activation, for what is not for everybody.
std::optional<std::vector<std::string>> operator_authority::importers_of(const auth::account_claims& exporter,
                                                                         const auth::export_claims& what,
                                                                         time_point now) const {
  if (!what.token_req) return std::nullopt;
  std::vector<std::string> out;
  for (const auto& [key, importer] : accounts_) {
    const bool some = std::ranges::any_of(importer.nats.imports, [&](const auth::import_claims& one) {
      return one.account == exporter.sub && export_covers(what, one, key) && may_import(importer, one, now);
    });
    if (some) out.push_back(key);
  }
  return out;
}

bool operator_authority::may_import(const auth::account_claims& importer, const auth::import_claims& what,
                                    time_point now) const {
  const auto from = accounts_.find(what.account);
  if (from == accounts_.end()) return false;
  const auth::account_claims& exporter = from->second;
  return std::ranges::any_of(exporter.nats.exports, [&](const auth::export_claims& offered) {
    if (!export_covers(offered, what, importer.sub)) return false;
    if (!offered.token_req) return true;
    const auto activation = auth::open_claims<auth::activation_claims>(what.token);
    return activation && protocol::is_subset(what.subject, activation->nats.subject) &&
           auth::check_activation(*activation, importer.sub, exporter, offered, now);
  });
}

void operator_authority::add_imports(const auth::account_claims& claims, account_options& to, time_point now) const {
  for (const auth::import_claims& one : claims.nats.imports) {
    if (!may_import(claims, one, now)) continue;
    import_options made{.service = one.type == "service", .account = one.account, .subject = one.subject};
    if (!one.local_subject.empty()) {
      made.to = one.local_subject;
    } else if (!made.service) {
      made.prefix = one.to;
    } else if (!one.to.empty()) {
      // The elder form names the local subject first.
      made.subject = one.to;
      made.to = one.subject;
    }
    made.share = one.share;
    made.allow_trace = one.allow_trace;
    to.imports.push_back(std::move(made));
  }
}

result<token_login> operator_authority::log_in(const protocol::connect_options& shown,
                                               const auth::user_presentation& at) const {
  const std::string& token = shown.jwt.empty() ? sentinel_ : shown.jwt;
  if (token.empty()) return refused("a user JWT is required");
  const auto user = auth::open_claims<auth::user_claims>(token);
  if (!user) return std::unexpected(user.error());
  if (auto checked = auth::check_user_claims(*user, at.now); !checked) return std::unexpected(checked.error());
  if (!pinned_.empty() && user->account() != system_account_ &&
      std::ranges::find(pinned_, user->account()) == pinned_.end())
    return refused("the account is not among the pinned ones");
  const auto account = accounts_.find(user->account());
  if (account == accounts_.end()) return refused("the account is not known");
  if (!auth::is_current(account->second, at.now)) return refused("the account's token has expired");
  auto admitted = auth::admit_user(*user, account->second, at);
  if (!admitted) return std::unexpected(admitted.error());
  token_login out{
      .account = account->first, .account_name = account->second.name, .user = user->sub, .user_name = user->name};
  if (admitted->has_permissions()) out.permissions = admitted->permissions();
  out.max_subscriptions = admitted->rights.subs;
  out.max_payload = admitted->rights.payload;
  out.deadline = admitted->deadline;
  out.issued_at = user->iat;
  out.issuer = user->iss;
  out.is_bearer = admitted->rights.bearer_token;
  out.proxy_required = admitted->rights.proxy_required;
  return out;
}

bool operator_authority::still_valid(const token_login& before, time_point now) const {
  const auto account = accounts_.find(before.account);
  if (account == accounts_.end() || !auth::is_current(account->second, now)) return false;
  if (!auth::find_issuer(account->second, before.issuer).known) return false;
  if (before.is_bearer && account->second.nats.limits.disallow_bearer) return false;
  return !auth::is_revoked(account->second.nats.revocations, before.user, before.issued_at);
}

}  // namespace tern::server
