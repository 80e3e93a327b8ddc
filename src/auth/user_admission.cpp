#include "auth/user_admission.hpp"

#include "auth/credentials.hpp"
#include "auth/permission_template.hpp"
#include "base/ascii.hpp"
#include "protocol/subject.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace tern::auth {
namespace {

// `15:04:05` as a time of the day.
result<nanoseconds> parse_time_of_day(std::string_view text) {
  int parts[3] = {};
  const auto bad = [] { return fail(errc::decode_error, "a time of the day is hh:mm:ss"); };
  if (text.size() != 8 || text[2] != ':' || text[5] != ':') return bad();
  for (std::size_t part = 0; part < 3; ++part) {
    const char* begin = text.data() + part * 3;
    const auto [end, failed] = std::from_chars(begin, begin + 2, parts[part]);
    if (failed != std::errc{} || end != begin + 2 || parts[part] < 0) return bad();
  }
  if (parts[0] > 23 || parts[1] > 59 || parts[2] > 59) return bad();
  return std::chrono::hours(parts[0]) + std::chrono::minutes(parts[1]) + std::chrono::seconds(parts[2]);
}

// The subject of an entry; a queue may stand behind it.
bool is_permission_subject(std::string_view text) {
  return protocol::is_valid_config_subject(text.substr(0, text.find(' ')));
}

bool subjects_are_valid(const user_rights& rights) {
  for (const subject_permission* rules : {&rights.pub, &rights.sub}) {
    if (!std::ranges::all_of(rules->allow, is_permission_subject)) return false;
    if (!std::ranges::all_of(rules->deny, is_permission_subject)) return false;
  }
  return true;
}

// Until when the user may stay; none: without end. Windows are of the day that it is there; one that ends before it
// begins ends on the next.
result<std::optional<time_point>> find_window(const user_rights& rights, const user_presentation& shown) {
  if (rights.times.empty()) return std::nullopt;
  nanoseconds offset{0};
  if (!rights.times_location.empty()) {
    const auto zone = shown.find_zone ? shown.find_zone(rights.times_location) : nullptr;
    if (!zone) return fail(errc::not_found, "time zone \"" + rights.times_location + "\" is not known");
    offset = zone->offset_at(shown.now);
  }
  const time_point there = shown.now + offset;
  const time_point midnight = std::chrono::floor<std::chrono::days>(there);
  for (const time_window& window : rights.times) {
    const auto start = parse_time_of_day(window.start), end = parse_time_of_day(window.end);
    if (!start || !end) return fail(errc::decode_error, "a time of the day is hh:mm:ss");
    const time_point from = midnight + *start;
    const time_point until = midnight + *end + (*end < *start ? nanoseconds(std::chrono::hours(24)) : nanoseconds(0));
    if (from < there && there < until) return until - offset;
  }
  return fail(errc::invalid_argument, "not at this time of the day");
}

bool source_is_allowed(const user_rights& rights, std::string_view text) {
  if (rights.src.networks.empty()) return true;
  const auto address = parse_address(text);
  return address && std::ranges::any_of(rights.src.networks, [&](const std::string& network) {
           const auto range = parse_address_range(network);
           return range && range->contains(*address);
         });
}

bool connection_type_is_allowed(const user_rights& rights, std::string_view type) {
  if (rights.allowed_connection_types.empty()) return true;
  return std::ranges::any_of(rights.allowed_connection_types,
                             [type](const std::string& allowed) { return upper_case(allowed) == type; });
}

result<void> parse_version_4(std::string_view text, std::array<std::uint8_t, 16>& to, std::size_t at) {
  for (int part = 0; part < 4; ++part) {
    const std::size_t end = part == 3 ? text.size() : text.find('.');
    if (end == std::string_view::npos || end == 0 || end > 3) return fail(errc::invalid_argument, "not an address");
    unsigned value = 0;
    const auto [stop, failed] = std::from_chars(text.data(), text.data() + end, value);
    if (failed != std::errc{} || stop != text.data() + end || value > 255)
      return fail(errc::invalid_argument, "not an address");
    to[at + static_cast<std::size_t>(part)] = static_cast<std::uint8_t>(value);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

// Groups of four digits; `::` once, for as many as are missing.
result<void> parse_version_6(std::string_view text, std::array<std::uint8_t, 16>& to) {
  const auto bad = [] { return fail(errc::invalid_argument, "not an address"); };
  std::size_t at = 0, gap = 16;
  if (text.starts_with("::")) {
    gap = 0;
    text.remove_prefix(2);
  } else if (text.starts_with(':')) {
    return bad();
  }
  while (!text.empty()) {
    if (at + 2 > 16) return bad();
    const std::size_t end = std::min(text.find(':'), text.size());
    if (end == text.size() && text.find('.') != std::string_view::npos) {
      if (at + 4 > 16 || !parse_version_4(text, to, at)) return bad();
      at += 4;
      break;
    }
    unsigned value = 0;
    const auto [stop, failed] = std::from_chars(text.data(), text.data() + end, value, 16);
    if (end > 4 || failed != std::errc{} || stop != text.data() + end) return bad();
    to[at++] = static_cast<std::uint8_t>(value >> 8);
    to[at++] = static_cast<std::uint8_t>(value & 255);
    text.remove_prefix(end);
    if (text.starts_with("::") && gap == 16 && at < 16) {
      gap = at;
      text.remove_prefix(2);
    } else if (text.starts_with(':') && text.size() > 1 && text[1] != ':') {
      text.remove_prefix(1);
    } else if (!text.empty()) {
      return bad();
    }
  }
  if (gap == 16) return at == 16 ? result<void>() : bad();
  if (at == 16) return bad();
  std::move_backward(to.begin() + static_cast<std::ptrdiff_t>(gap), to.begin() + static_cast<std::ptrdiff_t>(at),
                     to.end());
  std::fill(to.begin() + static_cast<std::ptrdiff_t>(gap), to.end() - static_cast<std::ptrdiff_t>(at - gap), 0);
  return {};
}

}  // namespace

// Version 4 belongs to networks of version 4 alone, as for the peer.
bool address_range::contains(const address_range& one) const {
  constexpr std::array<std::uint8_t, 12> mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (bits < 96 && std::equal(mapped.begin(), mapped.end(), one.address.begin())) return false;
  for (int bit = 0; bit < bits; bit += 8) {
    const auto at = static_cast<std::size_t>(bit / 8);
    const int here = std::min(8, bits - bit);
    const auto mask = static_cast<std::uint8_t>(0xff << (8 - here));
    if (((address[at] ^ one.address[at]) & mask) != 0) return false;
  }
  return true;
}

result<address_range> parse_address(std::string_view text) {
  address_range out;
  text = text.substr(0, text.find('%'));
  if (text.find(':') == std::string_view::npos) {
    out.address[10] = out.address[11] = 0xff;
    if (auto parsed = parse_version_4(text, out.address, 12); !parsed) return std::unexpected(parsed.error());
  } else if (auto parsed = parse_version_6(text, out.address); !parsed) {
    return std::unexpected(parsed.error());
  }
  out.bits = 128;
  return out;
}

result<address_range> parse_address_range(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return fail(errc::invalid_argument, "a network has a length");
  auto out = parse_address(text.substr(0, slash));
  if (!out) return out;
  const int most = text.find(':') == std::string_view::npos ? 32 : 128;
  int bits = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data() + slash + 1, end, bits);
  if (failed != std::errc{} || stop != end || bits < 0 || bits > most)
    return fail(errc::invalid_argument, "a network has a length of 0 to " + std::to_string(most));
  out->bits = bits + 128 - most;
  return out;
}

void operator_trust::add(const operator_claims& claims) {
  if (!claims.nats.strict_signing_key_usage) keys_.insert(claims.sub);
  keys_.insert(claims.nats.signing_keys.begin(), claims.nats.signing_keys.end());
}

result<void> check_user_claims(const user_claims& user, time_point now) {
  if (!is_current(user, now)) return fail(errc::invalid_argument, "the user's token has expired or is not valid yet");
  const user_rights& rights = user.nats.rights;
  for (const std::string& network : rights.src.networks)
    if (auto range = parse_address_range(network); !range) return std::unexpected(range.error());
  for (const time_window& window : rights.times)
    for (const std::string* text : {&window.start, &window.end})
      if (auto time = parse_time_of_day(*text); !time) return std::unexpected(time.error());
  if (!subjects_are_valid(rights)) return fail(errc::invalid_subject, "a permission is no subject");
  return {};
}

result<void> check_account_claims(const account_claims& account, time_point now) {
  if (!is_current(account, now))
    return fail(errc::invalid_argument, "the account's token has expired or is not valid yet");
  const account_block& block = account.nats;
  const auto too_many = [](std::size_t count, std::int64_t limit) {
    return limit >= 0 && static_cast<std::int64_t>(count) > limit;
  };
  if (too_many(block.imports.size(), block.limits.imports)) return fail(errc::limit_exceeded, "too many imports");
  if (too_many(block.exports.size(), block.limits.exports)) return fail(errc::limit_exceeded, "too many exports");
  for (const export_claims& one : block.exports) {
    if (!protocol::is_valid_config_subject(one.subject)) return fail(errc::invalid_subject, "an export is no subject");
    if (!block.limits.wildcards && protocol::has_wildcards(one.subject))
      return fail(errc::limit_exceeded, "wildcard exports are not allowed");
  }
  for (const import_claims& one : block.imports)
    if (!protocol::is_valid_config_subject(one.subject)) return fail(errc::invalid_subject, "an import is no subject");
  return {};
}

bool is_revoked(const std::map<std::string, std::int64_t>& revocations, std::string_view key, std::int64_t issued_at) {
  return std::ranges::any_of(
      revocations, [&](const auto& one) { return (one.first == key || one.first == "*") && one.second >= issued_at; });
}

issuer_scope find_issuer(const account_claims& account, std::string_view issuer) {
  if (issuer == account.sub) return {.known = true};
  for (const signing_key& one : account.nats.signing_keys)
    if (one.key == issuer) return {.known = true, .scope = one.scope ? &*one.scope : nullptr};
  return {};
}

result<admitted_user> admit_user(const user_claims& user, const account_claims& account,
                                 const user_presentation& shown) {
  const auto refuse = [](const char* why) { return fail(errc::invalid_argument, why); };
  if (user.account() != account.sub) return refuse("the user is of another account");
  const issuer_scope issuer = find_issuer(account, user.iss);
  if (!issuer.known) return refuse("the user's issuer is not known to the account");
  admitted_user out{.rights = user.nats.rights, .deadline = {}};
  if (issuer.scope != nullptr) {
    if (user.nats.rights != user_rights{}) return refuse("a user of a scoped signing key has rights of its own");
    auto made = apply_template(*issuer.scope, user, account);
    if (!made) return std::unexpected(made.error());
    out.rights = *std::move(made);
  }
  const user_rights& rights = out.rights;
  if (rights.bearer_token && account.nats.limits.disallow_bearer) return refuse("bearer tokens are not allowed");
  if (!connection_type_is_allowed(rights, shown.connection_type)) return refuse("the connection type is not allowed");
  if (!rights.bearer_token && !nonce_signature_is_valid(user.sub, shown.nonce, shown.signature))
    return refuse("the signature of the nonce does not match");
  if (is_revoked(account.nats.revocations, user.sub, user.iat)) return refuse("the user is revoked");
  if (!source_is_allowed(rights, shown.address)) return refuse("the address is not allowed");
  const auto window = find_window(rights, shown);
  if (!window) return std::unexpected(window.error());
  out.deadline = *window;
  if (user.exp > 0) {
    const time_point end = time_point(std::chrono::seconds(std::min<std::int64_t>(user.exp, 9'000'000'000)));
    if (!out.deadline || end < *out.deadline) out.deadline = end;
  }
  return out;
}

permission_settings admitted_user::permissions() const {
  return {.publish = rights.pub, .subscribe = rights.sub, .responses = response_permission_of(rights.resp)};
}

bool admitted_user::has_permissions() const { return permissions() != permission_settings{}; }

result<void> check_activation(const activation_claims& activation, std::string_view importer,
                              const account_claims& exporter, const export_claims& exported, time_point now) {
  const auto refuse = [](const char* why) { return fail(errc::invalid_argument, why); };
  if (activation.sub != importer && activation.sub != "public") return refuse("the activation is for another account");
  const std::string& issuer = activation.nats.issuer_account.empty() ? activation.iss : activation.nats.issuer_account;
  if (issuer != exporter.sub || !find_issuer(exporter, activation.iss).known)
    return refuse("the activation is not by the exporting account");
  if (!is_current(activation, now)) return refuse("the activation has expired or is not valid yet");
  if (activation.nats.kind != exported.type) return refuse("the activation is for another kind of export");
  if (!protocol::is_subset(activation.nats.subject, exported.subject))
    return refuse("the activation is for another subject");
  if (is_revoked(exported.revocations, activation.sub, activation.iat)) return refuse("the activation is revoked");
  return {};
}

}  // namespace tern::auth
