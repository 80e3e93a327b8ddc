// Who a connection is, and what it may do therefore (core 1.3, 3).
#include "auth/nkey.hpp"
#include "protocol/writer.hpp"
#include "server/connection/connection.hpp"

#include <array>
#include <utility>
#include <vector>

namespace tern::server {
namespace {

constexpr std::size_t nonce_size = 15;
constexpr std::size_t responses_max = 4096;

bool maps_certificates(const options& settings, const connection_facts& known) {
  const std::optional<tls_options>& listener = known.websocket ? settings.websocket.tls : settings.tls;
  return listener && listener->verify_and_map;
}

// In the order in which a user is looked for (core 3.7).
std::vector<std::string> names_of(const runtime::tls_peer_certificate& shown) {
  std::vector<std::string> out = shown.emails;
  out.insert(out.end(), shown.dns_names.begin(), shown.dns_names.end());
  out.insert(out.end(), shown.uris.begin(), shown.uris.end());
  out.push_back(shown.subject);
  std::string as_written;
  for (const auto& [key, value] : shown.subject_parts) {
    if (!as_written.empty()) as_written += ',';
    as_written.append(key).append("=").append(value);
  }
  out.push_back(std::move(as_written));
  return out;
}

}  // namespace

const std::string& connection::nonce() const {
  static const std::string none;
  return login_ ? login_->nonce : rights_ ? rights_->nonce : none;
}

// Before INFO. Without any users everybody is somebody of the global account.
void connection::prepare_login() {
  if (server_.logins == nullptr || !server_.logins->login_required()) return;
  const connection_facts* const known = facts();
  const bool over_websocket = known != nullptr && known->websocket.has_value();
  auto anybody =
      server_.logins->without_credentials(over_websocket ? server_.settings.websocket.no_auth_user : std::string());
  login_ = std::make_unique<login_state>(*this);
  if (server_.logins->wants_nonce()) {
    // 64 letters: a byte chooses each as likely as any other.
    constexpr std::string_view letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
    std::array<unsigned char, nonce_size> bytes{};
    server_.loop.randomness().fill(bytes);
    for (const unsigned char byte : bytes) login_->nonce += letters[byte % letters.size()];
  }
  if (anybody) {
    login_->anybody = true;
    adopt(*std::move(anybody));
  }
  parser_.close_gate();
}

// Something else than CONNECT comes first.
bool connection::on_gated_operation(char) {
  if (login_ && login_->anybody) {  // it may go on so for as long as it likes
    login_->patience.disarm();
    parser_.open_gate();
    return true;
  }
  refuse_login(close_reason::authentication_failure);
  return false;
}

protocol::verdict connection::log_in(protocol::connect_options asked) {
  if (!asked.account.empty() || asked.new_account) {
    refuse_login(close_reason::authentication_failure);
    return verdict::stop;
  }
  if (server_.logins == nullptr) return accept_connect(asked) ? verdict::go_on : verdict::stop;
  if (!login_) {  // a second CONNECT, which answers the same challenge
    login_ = std::make_unique<login_state>(*this);
    if (rights_) login_->nonce = rights_->nonce;
  }
  login_attempt attempt{.shown = asked, .nonce = login_->nonce, .connection_type = "STANDARD", .no_auth_user = {}};
  if (const connection_facts* const known = facts(); known != nullptr) {
    if (known->websocket) {
      attempt.connection_type = "WEBSOCKET";
      attempt.no_auth_user = server_.settings.websocket.no_auth_user;
    }
    attempt.came_through_proxy = known->proxied_peer.has_value();
    if (const auto* shown = known->certificate(); shown != nullptr && maps_certificates(server_.settings, *known))
      attempt.certificate_names = names_of(*shown);
  }
  const options& settings = server_.settings;
  attempt.certificates_name_users = (settings.tls && settings.tls->verify_and_map) ||
                                    (settings.websocket.tls && settings.websocket.tls->verify_and_map);
  if (peer().in_process) attempt.connection_type = "IN_PROCESS";
  identity_ = {asked.name, asked.lang, asked.version};
  claimed_user_ = !asked.user.empty() ? asked.user : asked.nkey;
  login_->asked = std::move(asked);
  login_->pending = true;
  login_->at_once = true;
  server_.logins->log_in(std::move(attempt), [self = std::weak_ptr(login_->self)](authenticator::outcome who) mutable {
    const auto still = self.lock();  // the connection may be gone, or may have logged in again
    if (!still) return;
    login_state& login = *(*still)->login_;
    if (login.at_once)
      login.answer = std::move(who);
    else
      (*still)->resume_after_login(std::move(who));
  });
  login_->at_once = false;
  if (login_->answer) return finish_login(*std::move(login_->answer));
  stream_->pause_reading();
  return verdict::pause;
}

void connection::resume_after_login(authenticator::outcome who) {
  if (phase_ != phase::open) return;
  const std::string held = std::exchange(login_->held, {});
  if (finish_login(std::move(who)) == verdict::stop) return mark_dirty();
  if (!held.empty()) process(held);
  if (phase_ != phase::open) return;
  if (!stalled_ && !(login_ && login_->pending)) stream_->resume_reading();
  mark_dirty();
}

protocol::verdict connection::finish_login(authenticator::outcome who) {
  login_->pending = false;
  const protocol::connect_options asked = std::move(login_->asked);
  if (!who) {
    refuse_login(who.error());
    return verdict::stop;
  }
  // A second CONNECT drops the subscriptions (core 1.2).
  if (connected_) remove_all_subscriptions();
  leave_account();
  const std::int64_t most = who->account->limits.max_connections;
  if (most >= 0 && std::cmp_greater_equal(who->account->connections, most)) {
    server_.log.error(label() + "maximum account active connections exceeded");
    send_error("maximum account active connections exceeded");
    close(close_reason::max_account_connections);
    return verdict::stop;
  }
  adopt(*std::move(who));
  ++account_->connections;
  counted_ = true;
  parser_.open_gate();
  login_.reset();
  if (!accept_connect(asked)) return verdict::stop;
  if (verbose_) send_ok();
  return verdict::go_on;
}

void connection::adopt(admission who) {
  account_ = who.account;
  claimed_user_.clear();
  if (who.user.empty() && who.permissions == nullptr)
    rights_.reset();
  else
    rights_ = std::make_unique<rights>(rights{std::move(who), nonce(), {}});
}

void connection::leave_account() {
  if (std::exchange(counted_, false)) --account_->connections;
}

void connection::refuse_login(close_reason why) {
  const std::string kind = auth::is_public_key(auth::key_kind::user, claimed_user_) ? " - Nkey " : " - User ";
  const std::string who = claimed_user_.empty() ? std::string() : kind + protocol::quoted(claimed_user_);
  server_.log.error(label() + "authentication error" + who);
  close_with_error("Authorization Violation", why);
}

void connection::review_login() {
  if (phase_ != phase::open || server_.logins == nullptr || (login_ && !login_->anybody)) return;
  const admission now = rights_ ? rights_->who : admission{account_, {}, false, nullptr, 0};
  switch (server_.logins->review_of(now)) {
    case authenticator::review::gone:
      return close(close_reason::client_closed);
    case authenticator::review::secret_changed:
      return refuse_login(close_reason::authentication_failure);
    case authenticator::review::valid:
      break;
  }
  if (auto renewed = server_.logins->renewed(now)) adopt(*std::move(renewed));
  drop_forbidden_subscriptions();
  const std::int64_t most = subscriptions_max();
  if (most >= 0 && std::cmp_greater(subscriptions_.size(), most))
    close_with_error("maximum subscriptions exceeded", close_reason::max_subscriptions);
}

void connection::drop_forbidden_subscriptions() {
  if (permissions() == nullptr) return;
  std::vector<routing::subscription*> forbidden;
  subscriptions_.each([&](routing::subscription& one) {
    const auto answer = permissions()->may_subscribe(one.subject, one.queue);
    one.tag = answer == auth::permissions::answer::allowed_in_part ? 1 : 0;
    if (answer == auth::permissions::answer::denied) forbidden.push_back(&one);
  });
  for (routing::subscription* one : forbidden) {
    std::string error = "Permissions Violation for Subscription to " + protocol::quoted(one->subject);
    if (!one->queue.empty()) error += " using queue " + protocol::quoted(one->queue);
    send_error(error + " (sid " + protocol::quoted(one->sid) + ")");
    remove(*one);
  }
}

// --- permissions (core 3.3) ------------------------------------------------------------------------------------------

// Names that no client may use, with or without permissions (core 2.1).
bool connection::may_publish(std::string_view subject, std::string_view reply) {
  const auto is_below = [](std::string_view what, std::string_view prefix) {
    return what.size() > prefix.size() && what.starts_with(prefix);
  };
  if (subject.starts_with('_') || subject.starts_with('$')) {
    if (is_below(subject, "_GR_.") || subject.starts_with("$NRG.")) {
      send_error("Permissions Violation for Publish to " + protocol::quoted(subject));
      server_.log.error(label() + "Publish Violation - Subject " + protocol::quoted(subject));
      return false;
    }
  }
  if (reply.starts_with('_') || reply.starts_with('$')) {
    if (reply.starts_with("_R_.") || is_below(reply, "_GR_.") || is_below(reply, "$JS.ACK.")) {
      send_error("Permissions Violation for Publish with Reply of " + protocol::quoted(reply));
      server_.log.error(label() + "Publish Violation - Reply " + protocol::quoted(reply));
      return false;
    }
  }
  return !rights_ || has_permission_to_publish(subject);
}

bool connection::has_permission_to_publish(std::string_view subject) {
  const auth::permissions* const rules = rights_->who.permissions.get();
  if (rules == nullptr || rules->may_publish(subject)) return true;
  if (rules->responses()) {
    const auto found = rights_->responses.find(std::string(subject));
    if (found != rights_->responses.end()) {
      const auto& allowed = *rules->responses();
      rights::response& way = found->second;
      if (server_.now() <= way.expires && (allowed.max < 0 || way.used < allowed.max)) {
        ++way.used;
        return true;
      }
      rights_->responses.erase(found);
    }
  }
  send_error("Permissions Violation for Publish to " + protocol::quoted(subject));
  server_.log.error(label() + "Publish Violation - Subject " + protocol::quoted(subject));
  return false;
}

bool connection::has_permission_to_subscribe(std::string_view subject, std::string_view queue, std::string_view sid,
                                             bool& in_part) {
  const auth::permissions* const rules = rights_->who.permissions.get();
  if (rules == nullptr) return true;
  const auto answer = rules->may_subscribe(subject, queue);
  in_part = answer == auth::permissions::answer::allowed_in_part;
  if (answer != auth::permissions::answer::denied) return true;
  std::string error = "Permissions Violation for Subscription to " + protocol::quoted(subject);
  std::string line = "Subscription Violation - Subject " + protocol::quoted(subject);
  if (!queue.empty()) {
    error += " using queue " + protocol::quoted(queue);
    line += ", Queue: " + protocol::quoted(queue);
  }
  send_error(error);
  server_.log.error(label() + line + ", SID " + std::string(sid));
  return false;
}

bool connection::may_receive(const routing::subscription& to, const routing::message& what) {
  const auth::permissions* const rules = rights_->who.permissions.get();
  if (rules == nullptr) return true;
  if (to.tag != 0 && rules->denies_delivery(what.subject)) return false;
  if (!rules->responses() || what.reply.empty() || rules->may_publish(what.reply)) return true;
  auto& open = rights_->responses;
  if (open.size() >= responses_max) {
    std::erase_if(open, [now = server_.now()](const auto& one) { return one.second.expires <= now; });
    if (open.size() >= responses_max) open.erase(open.begin());
  }
  const nanoseconds lasts = rules->responses()->expires;
  open[std::string(what.reply)] = {.used = 0,
                                   .expires = lasts < nanoseconds(0) ? time_point::max() : server_.now() + lasts};
  return true;
}

}  // namespace tern::server
