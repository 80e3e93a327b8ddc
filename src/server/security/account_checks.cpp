// The rules between accounts that a configuration must keep (core 3.4).
#include "protocol/subject.hpp"
#include "routing/subject_map.hpp"
#include "routing/subject_transform.hpp"
#include "server/security/account_setup.hpp"

#include <algorithm>
#include <set>

namespace tern::server {
namespace {

const account_options* find_account(const security_options& all, std::string_view name) {
  const auto found = std::ranges::find(all.accounts, name, &account_options::name);
  return found == all.accounts.end() ? nullptr : &*found;
}

bool exists(const security_options& all, std::string_view name) {
  return name == global_account_name || name == default_system_account_name || find_account(all, name) != nullptr;
}

// Whether the export lets this account import that subject.
bool authorizes(const export_options& offered, const import_options& wanted, const account_options& importer) {
  if (offered.service != wanted.service || !protocol::is_subset(wanted.subject, offered.subject)) return false;
  if (offered.accounts && std::ranges::find(*offered.accounts, importer.name) == offered.accounts->end()) return false;
  if (offered.account_token_position <= 0) return true;
  const auto position = static_cast<std::size_t>(offered.account_token_position - 1);
  return protocol::nth_token(wanted.subject, position) == importer.name;
}

std::string import_error(const import_options& what, const std::string& text) {
  return std::string("Error adding ") + (what.service ? "service" : "stream") + " import \"" + what.subject +
         "\": " + text;
}

result<void> check_exports(const account_options& account) {
  for (const export_options& one : account.exports) {
    const std::string begin =
        std::string("Error adding ") + (one.service ? "service" : "stream") + " export \"" + one.subject + "\": ";
    if (!protocol::is_valid_config_subject(one.subject))
      return fail(errc::config_error, begin + "sublist: invalid subject");
    if (one.account_token_position <= 0) continue;
    const auto position = static_cast<std::size_t>(one.account_token_position - 1);
    if (protocol::nth_token(one.subject, position) != "*")
      return fail(errc::config_error, begin + "sublist: invalid subject");
  }
  return {};
}

// The subject on this side, as a pattern or as the text of a transform.
std::string local_subject(const import_options& what) {
  return !what.to.empty() ? what.to : !what.prefix.empty() ? what.prefix + "." + what.subject : what.subject;
}

bool overlap(const std::string& local, const std::string& subject) {
  return protocol::is_valid_config_subject(local) && protocol::subjects_overlap(local, subject);
}

// Whether what `at` takes comes, import by import, from what `first` of the account `start` has brought there. Each
// import is looked at once.
bool forms_cycle(const security_options& all, const account_options& start, const import_options& first,
                 const import_options& at, std::set<const import_options*>& passed) {
  const account_options* const from = find_account(all, at.account);
  if (from == nullptr || !passed.insert(&at).second) return false;
  if (from == &start && overlap(local_subject(first), at.subject)) return true;
  return std::ranges::any_of(from->imports, [&](const import_options& next) {
    return next.service == first.service && overlap(local_subject(next), at.subject) &&
           forms_cycle(all, start, first, next, passed);
  });
}

result<void> check_transform(const import_options& what) {
  if (what.service) return {};
  if (!what.prefix.empty()) {
    std::string_view prefix = what.prefix;
    if (prefix.ends_with('.')) prefix.remove_suffix(1);
    if (protocol::has_wildcards(prefix))
      return fail(errc::config_error, import_error(what, "stream import prefix can not contain wildcard tokens"));
    if (!protocol::is_valid_config_subject(prefix))
      return fail(errc::config_error, import_error(what, "stream import prefix is not a valid subject"));
  }
  if (what.to.empty()) return {};
  const auto made = routing::subject_transform::create(what.subject, what.to, true);
  if (!made)
    return fail(errc::config_error,
                import_error(what, "failed to create mapping transform for stream import subject from \"" +
                                       what.subject + "\" to \"" + what.to + "\": " + made.error()));
  return {};
}

result<void> check_imports(const security_options& all, const account_options& account) {
  std::vector<const import_options*> services;
  for (const import_options& one : account.imports) {
    if (!exists(all, one.account))
      return fail(errc::config_error, "\"" + one.account + "\" account not defined for " +
                                          (one.service ? "service" : "stream") + " import");
    const account_options* const from = find_account(all, one.account);
    const bool allowed = from != nullptr && std::ranges::any_of(from->exports, [&](const export_options& offered) {
                           return authorizes(offered, one, account);
                         });
    if (!allowed)
      return fail(errc::config_error,
                  import_error(one, std::string(one.service ? "service" : "stream") + " import not authorized"));
    if (auto checked = check_transform(one); !checked) return checked;
    std::set<const import_options*> passed;
    if (forms_cycle(all, account, one, one, passed))
      return fail(errc::config_error, import_error(one, "import forms a cycle"));
    if (!one.service) continue;
    const std::string local = local_subject(one);
    for (const import_options* before : services) {
      if (local_subject(*before) != local || before->account != one.account) continue;
      return fail(errc::config_error, "Duplicate service import subject \"" + local +
                                          "\", previously used in import for account \"" + before->account +
                                          "\", subject \"" + before->subject + "\"");
    }
    services.push_back(&one);
  }
  return {};
}

}  // namespace

result<void> check_mapping(const routing::mapping& what) {
  if (auto made = routing::subject_map::create({what}); !made) return fail(errc::config_error, made.error());
  return {};
}

result<void> check_accounts(const security_options& what) {
  const auto check_mappings = [](const std::vector<routing::mapping>& mappings) -> result<void> {
    if (auto made = routing::subject_map::create(mappings); !made) return fail(errc::config_error, made.error());
    return {};
  };
  if (auto checked = check_mappings(what.mappings); !checked) return checked;
  for (const account_options& account : what.accounts) {
    if (auto checked = check_mappings(account.mappings); !checked) return checked;
    if (auto checked = check_exports(account); !checked) return checked;
  }
  for (const account_options& account : what.accounts)
    if (auto checked = check_imports(what, account); !checked) return checked;
  return {};
}

}  // namespace tern::server
