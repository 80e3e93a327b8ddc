#include "server/system/system_services.hpp"

#include "protocol/writer.hpp"
#include "server/connection/connection.hpp"
#include "server/monitoring/endpoints.hpp"
#include "server/server.hpp"
#include "server/system/accounts_view.hpp"
#include "server/system/client_facts.hpp"
#include "server/system/message_trace.hpp"
#include "server/system/service_reply.hpp"

#include <algorithm>
#include <utility>

namespace tern::server {
namespace {

constexpr nanoseconds first_statsz = std::chrono::milliseconds(250);
constexpr nanoseconds statsz_interval_max = std::chrono::seconds(10);
constexpr nanoseconds statsz_apart_min = std::chrono::seconds(1);
constexpr nanoseconds heartbeat_interval = std::chrono::seconds(30);

// "A" of "$SYS.REQ.ACCOUNT.A.CONNZ".
std::string_view account_token(std::string_view subject) {
  constexpr std::string_view prefix = "$SYS.REQ.ACCOUNT.";
  subject.remove_prefix(std::min(subject.size(), prefix.size()));
  return subject.substr(0, subject.find('.'));
}

}  // namespace

// One internal subscription.
class system_services::listener final : public routing::receiver {
 public:
  listener(routing::account& on, const std::string& subject, std::function<void(const routing::message&)> take)
      : on_(on), take_(std::move(take)), interest_(on.subscribe(*this, subject)) {
    interest_->internal = true;
  }
  ~listener() override { on_.unsubscribe(interest_); }
  bool deliver(routing::subscription& to, const routing::message& what) override {
    ++to.delivered;
    take_(what);
    return true;
  }
  const routing::account& account() const { return on_; }

 private:
  routing::account& on_;
  std::function<void(const routing::message&)> take_;
  routing::subscription* interest_;
};

system_services::system_services(server& owner, routing::account& system)
    : owner_(owner),
      system_(system),
      statsz_interval_(first_statsz),
      statsz_timer_(owner.loop().timers(), [this] { on_statsz_timer(); }),
      heartbeat_(owner.loop().timers(), [this] { on_heartbeat(); }) {
  listen_to_server_services();
  listen_to_account_services();
  statsz_timer_.arm(owner.loop().now() + first_statsz);
  heartbeat_.arm(owner.loop().now() + heartbeat_interval);
}

system_services::~system_services() = default;

void system_services::listen(routing::account& on, std::string subject,
                             std::function<void(const routing::message&)> take) {
  listeners_.push_back(std::make_unique<listener>(on, subject, std::move(take)));
}

void system_services::listen_to_server_services() {
  const auto serve = [this](std::string subject, const server_service& one) {
    listen(system_, std::move(subject), [this, &one](const routing::message& what) {
      const bool is_statsz = one.name == "STATSZ";
      wait({.answer = [this, &one, body = std::string(what.payload)] { return one.answer(owner_, body); },
            .in = &system_,
            .reply = std::string(what.reply),
            .headers = std::string(what.headers),
            .data_key = is_statsz ? "statsz" : "data",
            .broadcast_without_reply = is_statsz});
    });
  };
  for (const server_service& one : server_services()) {
    const std::string name(one.name);
    if (!one.by_id_only) serve("$SYS.REQ.SERVER.PING." + name, one);
    serve("$SYS.REQ.SERVER." + owner_.id() + "." + name, one);
    if (name == "STATSZ") serve("$SYS.REQ.SERVER.PING", one);
  }
}

void system_services::listen_to_account_services() {
  for (const account_service& one : account_services()) {
    listen(system_, "$SYS.REQ.ACCOUNT.*." + std::string(one.name), [this, &one](const routing::message& what) {
      wait({.answer = [this, &one, account = std::string(account_token(what.subject)),
                       body = std::string(what.payload)] { return one.answer(owner_, account, body); },
            .in = &system_,
            .reply = std::string(what.reply),
            .headers = std::string(what.headers)});
    });
  }
  listen(system_, "$SYS.REQ.ACCOUNT.*.CONNS", [this](const routing::message& what) {
    wait({.answer =
              [this, account = std::string(account_token(what.subject))] {
                const auto seen = account_view_of(owner_, account);
                if (!seen || seen->connections == 0) return service_answer::silent();
                return service_answer{.what = service_answer::kind::bare, .text = account_connections_event(account)};
              },
          .in = &system_,
          .reply = std::string(what.reply)});
  });
  const auto bare = [this](std::string subject, service_answer (*count)(server&, std::string_view)) {
    listen(system_, std::move(subject), [this, count](const routing::message& what) {
      wait({.answer = [this, count, body = std::string(what.payload)] { return count(owner_, body); },
            .in = &system_,
            .reply = std::string(what.reply)});
    });
  };
  bare("$SYS.REQ.ACCOUNT.NSUBS", count_subscribers_of);
  bare("$SYS.DEBUG.SUBSCRIBERS", count_system_subscribers);
}

void system_services::serve(routing::account& account) {
  // Answered by who asks: the connection whose publish is being routed.
  listen(account, "$SYS.REQ.USER.INFO", [this, in = &account](const routing::message& what) {
    const auto* const publish = owner_.context().publishing;
    const connection* const who = publish != nullptr ? publish->from : nullptr;
    if (who == nullptr) return;
    wait({.answer =
              [this, id = who->id()] {
                const auto found = owner_.connections().find(id);
                if (found == owner_.connections().end()) return service_answer::silent();
                return service_answer::with_data(user_info_object(*found->second));
              },
          .in = in,
          .reply = std::string(what.reply),
          .headers = std::string(what.headers)});
  });
  if (&account == &system_) return;
  const auto own = [this, &account](std::string subject, std::string_view service) {
    const auto found = std::ranges::find(account_services(), service, &account_service::name);
    listen(account, std::move(subject), [this, in = &account, one = &*found](const routing::message& what) {
      wait({.answer = [this, in, one,
                       body = std::string(what.payload)] { return one->answer(owner_, in->name(), body); },
            .in = in,
            .reply = std::string(what.reply),
            .headers = std::string(what.headers)});
    });
  };
  own("$SYS.REQ.ACCOUNT.PING.CONNZ", "CONNZ");
  own("$SYS.REQ.SERVER.PING.CONNZ", "CONNZ");
  own("$SYS.REQ.ACCOUNT.PING.STATZ", "STATZ");
}

void system_services::forget(routing::account& account) {
  std::erase_if(listeners_, [&account](const std::unique_ptr<listener>& one) { return &one->account() == &account; });
  std::erase_if(waiting_, [&account](const request& one) { return one.in == &account; });
}

// --- requests ------------------------------------------------------------------------------------------------------

void system_services::wait(request what) {
  if (waiting_.size() >= waiting_max) return;
  waiting_.push_back(std::move(what));
}

void system_services::run_waiting() {
  // What answers bring about (a service that asks another one) runs in the next turn.
  for (std::size_t left = waiting_.size(); left != 0 && !waiting_.empty(); --left) {
    const request next = std::move(waiting_.front());
    waiting_.pop_front();
    answer(next);
  }
  if (!waiting_.empty()) owner_.loop().post([] {});
}

void system_services::answer(const request& what) {
  if (what.reply.empty()) {
    if (!what.broadcast_without_reply) {
      (void)what.answer();  // what changes something does so without a reply too
    } else if (owner_.loop().now() - asked_for_statsz_ >= statsz_apart_min) {
      asked_for_statsz_ = owner_.loop().now();
      publish_statsz();
    }
    return;
  }
  const service_answer told = what.answer();
  using kind = service_answer::kind;
  if (told.what == kind::silent) return;
  if (told.what == kind::bare) {
    send(*what.in, {.subject = what.reply, .reply = {}, .headers = {}, .payload = told.text});
    return;
  }
  json_builder out;
  out.begin_object();
  append_server_info(out, "server", owner_, ++sequence_);
  if (told.what == kind::data) out.raw(what.data_key, told.text);
  if (told.what == kind::failed) out.raw(what.data_key, "null");
  if (told.what == kind::failed || told.what == kind::invalid)
    out.begin_object("error").field("code", told.code).field("description", told.text).end_object();
  out.end_object();
  const packing how = told.what == kind::data ? packing_for(what.headers) : packing::none;
  const std::string body = packed(out.text(), how);
  send(*what.in, {.subject = what.reply, .reply = {}, .headers = packing_headers(how), .payload = body});
}

// --- events --------------------------------------------------------------------------------------------------------

void system_services::publish(std::string_view subject, const std::string& json) {
  send(system_, {.subject = subject, .reply = {}, .headers = {}, .payload = json});
}

void system_services::send(routing::account& in, const routing::message& what) {
  const options& settings = owner_.settings();
  if (settings.trace_verbose && owner_.context().tracing) {
    std::string line = "SYSTEM - <<- [PUB ";
    line.append(what.subject).append("  ").append(std::to_string(what.payload.size())).append("]");
    owner_.log().trace(line);
    std::string_view shown = what.payload;
    if (settings.max_traced_message > 0) shown = shown.substr(0, static_cast<std::size_t>(settings.max_traced_message));
    const char* const cut = shown.size() < what.payload.size() ? "..." : "";
    owner_.log().trace("SYSTEM - <<- MSG_PAYLOAD: [" + protocol::quoted(std::string(shown) + cut) + "]");
  }
  in.publish(what);
}

std::string system_services::server_info_alone() {
  json_builder out;
  append_server_info(out, {}, owner_, ++sequence_);
  return out.text();
}

void system_services::publish_connection_event(const connection& who, const close_reason* why,
                                               const std::vector<std::string>& to) {
  // The last one of `to` may be for the connection's own account.
  if (std::ranges::none_of(to, [this](const std::string& subject) { return system_.has_interest(subject); })) return;
  const std::string event = connection_event(who, why);
  for (const std::string& subject : to) publish(subject, event);
}

std::string system_services::connection_event(const connection& who, const close_reason* why) {
  json_builder out;
  out.begin_object();
  out.field("type", why == nullptr ? "io.nats.server.advisory.v1.client_connect"
                                   : "io.nats.server.advisory.v1.client_disconnect");
  out.field("id", owner_.new_id()).field("timestamp", owner_.loop().now());
  append_server_info(out, "server", owner_, ++sequence_);
  append_client_object(out, "client", who, why != nullptr ? owner_.loop().now() : time_point{});
  if (why != nullptr) {
    // From the client's side: what it sent is what the server got.
    const traffic& counts = who.counts();
    out.begin_object("sent").field("msgs", counts.in_messages).field("bytes", counts.in_bytes).end_object();
    out.begin_object("received").field("msgs", counts.out_messages).field("bytes", counts.out_bytes).end_object();
    out.field("reason", to_word(*why));
  }
  out.end_object();
  return out.text();
}

void system_services::connected(const connection& who) {
  const std::string account(account_name_of(who));
  publish_connection_event(who, nullptr, {"$SYS.ACCOUNT." + account + ".CONNECT"});
  publish_account_connections(account);
}

void system_services::disconnected(const connection& who, close_reason why) {
  const std::string account(account_name_of(who));
  publish_connection_event(who, &why, {"$SYS.ACCOUNT." + account + ".DISCONNECT"});
  publish_account_connections(account);
}

void system_services::refused(const connection& who, close_reason why) {
  const std::string account(account_name_of(who));
  std::vector<std::string> to;
  if (why != close_reason::authentication_timeout) to.push_back("$SYS.SERVER." + owner_.id() + ".CLIENT.AUTH.ERR");
  to.push_back("$SYS.ACCOUNT." + account + ".DISCONNECT");
  publish_connection_event(who, &why, to);
  // The account itself may look too: of a client that was nobody yet, the global one (core 6).
  constexpr std::string_view own = "$SYS.ACCOUNT.CLIENT.AUTH.ERR";
  routing::account& interest = who.account().interest;
  if (why != close_reason::authentication_timeout && interest.has_interest(own))
    send(interest, {.subject = own, .reply = {}, .headers = {}, .payload = connection_event(who, &why)});
}

void system_services::publish_account_connections(std::string_view account) {
  const std::string subject = "$SYS.ACCOUNT." + std::string(account) + ".SERVER.CONNS";
  const std::string legacy = "$SYS.SERVER.ACCOUNT." + std::string(account) + ".CONNS";
  if (!system_.has_interest(subject) && !system_.has_interest(legacy)) return;
  const std::string event = account_connections_event(account);
  publish(subject, event);
  publish(legacy, event);
}

std::string system_services::account_connections_event(std::string_view account) {
  json_builder out;
  out.begin_object().field("type", "io.nats.server.advisory.v1.account_connections");
  out.field("id", owner_.new_id()).field("timestamp", owner_.loop().now());
  append_server_info(out, "server", owner_, ++sequence_);
  if (const auto seen = account_view_of(owner_, account)) append_account_statistics(out, *seen);
  out.end_object();
  return out.text();
}

void system_services::on_heartbeat() {
  for (const account_view& one : account_views(owner_))
    if (one.connections != 0) publish_account_connections(one.name);
  heartbeat_.arm(owner_.loop().now() + heartbeat_interval);
}

void system_services::publish_statsz() {
  const std::string subject = "$SYS.SERVER." + owner_.id() + ".STATSZ";
  if (!system_.has_interest(subject)) return;
  json_builder out;
  out.begin_object();
  append_server_info(out, "server", owner_, ++sequence_);
  out.raw("statsz", statsz_object(owner_)).end_object();
  publish(subject, out.text());
}

void system_services::on_statsz_timer() {
  publish_statsz();
  statsz_interval_ = std::min(statsz_interval_ * 2, statsz_interval_max);
  statsz_timer_.arm(owner_.loop().now() + statsz_interval_);
}

void system_services::publish_trace(routing::account& in, const message_trace& what) {
  if (!in.has_interest(what.destination())) return;
  json_builder out;
  out.begin_object();
  append_server_info(out, "server", owner_, ++sequence_);
  what.append_to(out);
  out.end_object();
  send(in, {.subject = what.destination(), .reply = {}, .headers = {}, .payload = out.text()});
}

void system_services::entering_lame_duck() { publish("$SYS.SERVER." + owner_.id() + ".LAMEDUCK", server_info_alone()); }

void system_services::shutting_down() { publish("$SYS.SERVER." + owner_.id() + ".SHUTDOWN", server_info_alone()); }

}  // namespace tern::server
