#include "server/security/account_setup.hpp"

#include "protocol/subject.hpp"

#include <algorithm>
#include <utility>

namespace tern::server {
namespace {

constexpr nanoseconds default_threshold = std::chrono::minutes(2);

routing::subject_map make_map(const std::vector<routing::mapping>& mappings) {
  auto made = routing::subject_map::create(mappings);
  return made ? *std::move(made) : routing::subject_map();  // it was checked before
}

routing::answers to_routing(response_type what) {
  switch (what) {
    case response_type::singleton:
      return routing::answers::one;
    case response_type::streamed:
      return routing::answers::several;
    case response_type::chunked:
      return routing::answers::chunks;
  }
  return routing::answers::one;
}

// `$1` for each wildcard of the subject, in its order.
std::string numbered(std::string_view subject) {
  std::string out;
  int number = 0;
  for (const std::string_view token : protocol::subject_tokens(subject)) {
    if (!out.empty()) out += '.';
    if (token == "*")
      out.append("$").append(std::to_string(++number));
    else
      out.append(token);
  }
  return out;
}

// `a.$2.b.$1` as the pattern `a.*.b.*`, and which wildcard of the original each of its stars is.
struct numbered_pattern {
  std::string pattern;
  std::vector<int> which;
};
numbered_pattern to_pattern(std::string_view text) {
  numbered_pattern out;
  int plain = 0;
  for (const std::string_view token : protocol::subject_tokens(text)) {
    if (!out.pattern.empty()) out.pattern += '.';
    int index = 0;
    if (token.size() > 1 && token[0] == '$') {
      for (const char digit : token.substr(1)) index = digit >= '0' && digit <= '9' ? index * 10 + (digit - '0') : -1;
    } else if (token.starts_with("{{") && token.ends_with("}}")) {
      for (const char digit : token)
        if (digit >= '0' && digit <= '9') index = index * 10 + (digit - '0');
    } else if (token == "*") {
      index = ++plain;
    }
    if (index > 0) {
      out.which.push_back(index);
      out.pattern += '*';
    } else {
      out.pattern.append(token);
    }
  }
  return out;
}

// From what a requester of this side publishes to what the service listens to. `to` may put the wildcards of `subject`
// in another order; the way back is what is needed here.
std::optional<routing::subject_transform> to_service(const import_options& what, std::string& local) {
  const std::string& to = what.to.empty() ? what.subject : what.to;
  const numbered_pattern here = to_pattern(to);
  local = here.pattern;
  if (!protocol::has_wildcards(local)) return std::nullopt;
  std::string destination;
  int wildcard = 0;
  for (const std::string_view token : protocol::subject_tokens(what.subject)) {
    if (!destination.empty()) destination += '.';
    if (token != "*") {
      destination.append(token);
      continue;
    }
    ++wildcard;
    const auto at = std::ranges::find(here.which, wildcard);
    destination.append("$").append(
        std::to_string(at == here.which.end() ? wildcard : static_cast<int>(at - here.which.begin()) + 1));
  }
  auto made = routing::subject_transform::create(local, destination);
  if (!made) return std::nullopt;
  return *std::move(made);
}

}  // namespace

account_setup::account_setup(account_registry& accounts, timer_queue& timers, std::function<time_point()> now,
                             routing::describe_requester describe)
    : accounts_(accounts), timers_(timers), now_(std::move(now)), describe_(std::move(describe)) {}

account_setup::~account_setup() {
  for (auto& [name, one] : links_) one.imports.reset();
}

account_setup::links& account_setup::links_of(account_state& account) {
  links& out = links_[account.name()];
  if (!out.imports) {
    out.responses =
        std::make_unique<routing::response_routes>(account.interest, timers_, now_, account.interest.draw());
    out.imports = std::make_unique<routing::account_imports>(account.interest, describe_);
  }
  return out;
}

void account_setup::adopt(const security_options& what) {
  accounts_.set_system(what.no_system_account        ? std::string_view()
                       : what.system_account.empty() ? default_system_account_name
                                                     : std::string_view(what.system_account));
  std::vector<std::string> wanted = {std::string(global_account_name), std::string(default_system_account_name)};
  for (const account_options& one : what.accounts) {
    wanted.push_back(one.name);
    links_of(accounts_.obtain(one.name));
  }
  links_of(accounts_.global());
  if (account_state* system = accounts_.system_if_any()) links_of(*system);
  std::vector<std::string> retired;
  accounts_.for_each([&](account_state& one) {
    if (std::ranges::find(wanted, one.name()) == wanted.end()) retired.push_back(one.name());
  });
  // What refers to retired accounts goes first.
  for (const std::string& name : retired) {
    if (const auto found = links_.find(name); found != links_.end()) found->second.imports->adopt({}, {});
    for (auto& [other, one] : links_) one.responses->forget_account(accounts_.find(name)->interest);
  }
  account_options global{.name = std::string(global_account_name)};
  global.mappings = what.mappings;
  const auto configured = [&](std::string_view name) -> const account_options* {
    const auto found = std::ranges::find(what.accounts, name, &account_options::name);
    return found == what.accounts.end() ? nullptr : &*found;
  };
  accounts_.for_each([&](account_state& one) {
    if (std::ranges::find(retired, one.name()) != retired.end()) return;
    const account_options* const options = configured(one.name());
    static const account_options nothing;
    link(one, &one == &accounts_.global() ? global : options != nullptr ? *options : nothing, what);
  });
}

void account_setup::link(account_state& account, const account_options& options, const security_options& all) {
  account.limits = options.limits;
  account.interest.adopt_mappings(make_map(options.mappings));
  std::vector<routing::stream_import> streams;
  std::vector<routing::service_import> services;
  for (const import_options& one : options.imports) {
    account_state* const from = accounts_.find(one.account);
    if (from == nullptr) continue;
    if (!one.service) {
      routing::stream_import made{.from = &from->interest, .subject = one.subject, .local = one.subject};
      if (!one.prefix.empty()) {
        made.prefix = one.prefix.ends_with('.') ? one.prefix : one.prefix + ".";
        made.local = made.prefix + one.subject;
      } else if (!one.to.empty() && one.to != one.subject) {
        const std::string to = to_pattern(one.to).which.empty() || one.to.find('$') != std::string::npos ||
                                       one.to.find("{{") != std::string::npos
                                   ? one.to
                                   : numbered(one.to);
        if (auto transform = routing::subject_transform::create(one.subject, to)) {
          made.local = transform->destination_pattern();
          made.transform = *std::move(transform);
        }
      }
      streams.push_back(std::move(made));
      continue;
    }
    routing::service_import made{
        .from = &from->interest, .routes = links_of(*from).responses.get(), .subject = one.subject, .local = {}};
    made.transform = to_service(one, made.local);
    made.share = one.share;
    made.threshold = default_threshold;
    const auto exporter = std::ranges::find(all.accounts, one.account, &account_options::name);
    if (exporter != all.accounts.end())
      for (const export_options& offered : exporter->exports) {
        if (!offered.service || !protocol::is_subset(one.subject, offered.subject)) continue;
        made.expected = to_routing(offered.responses);
        if (offered.threshold > nanoseconds(0)) made.threshold = offered.threshold;
        break;
      }
    services.push_back(std::move(made));
  }
  links_of(account).imports->adopt(std::move(streams), std::move(services));
}

}  // namespace tern::server
