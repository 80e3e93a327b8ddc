#include "auth/permission_template.hpp"

#include "base/ascii.hpp"
#include "protocol/subject.hpp"

#include <algorithm>
#include <utility>

namespace tern::auth {
namespace {

std::vector<std::string> values_of_tag(const std::vector<std::string>& tags, std::string_view name) {
  const std::string begin = std::string(name) + ":";
  std::vector<std::string> out;
  for (const std::string& tag : tags) {
    if (lower_case(tag).starts_with(begin)) out.push_back(tag.substr(begin.size()));
  }
  return out;
}

class expansion {
 public:
  expansion(const user_claims& user, const account_claims& account) : user_(user), account_(account) {}

  result<std::vector<std::string>> subjects(const std::vector<std::string>& templates, bool denied) const {
    std::vector<std::string> out;
    for (const std::string& one : templates) {
      auto made = expand(one, denied);
      if (!made) return made;
      std::ranges::move(*made, std::back_inserter(out));
    }
    return out;
  }

 private:
  // Empty: the tag is not there. What is denied must not be forgotten for that.
  result<std::vector<std::string>> values(std::string_view operation) const {
    const std::string name = lower_case(operation);
    if (name == "name()") return std::vector{user_.name};
    if (name == "subject()") return std::vector{user_.sub};
    if (name == "account-name()") return std::vector{account_.name};
    if (name == "account-subject()") return std::vector{account_.sub};
    const auto argument = [&name](std::string_view begin) -> std::optional<std::string> {
      if (!name.starts_with(begin) || !name.ends_with(")")) return std::nullopt;
      return name.substr(begin.size(), name.size() - begin.size() - 1);
    };
    if (const auto tag = argument("tag(")) return values_of_tag(user_.nats.tags, *tag);
    if (const auto tag = argument("account-tag(")) return values_of_tag(account_.nats.tags, *tag);
    return fail(errc::invalid_argument, "template operation \"" + std::string(operation) + "\" is not defined");
  }

  // Each text so far goes on with each value; what stands between is appended to all.
  result<std::vector<std::string>> expand(const std::string& text, bool denied) const {
    if (text.find("{{") == std::string::npos) return std::vector{text};
    std::vector<std::string> out(1);
    std::size_t at = 0;
    for (std::size_t open = text.find("{{"); open != std::string::npos; open = text.find("{{", at)) {
      const std::size_t close = text.find("}}", open);
      if (close == std::string::npos) break;
      std::string operation = text.substr(open + 2, close - open - 2);
      std::erase(operation, ' ');
      const auto found = values(operation);
      if (!found) return found;
      if (found->empty() && denied) return fail(errc::invalid_argument, "a tag of a denied subject is not defined");
      if (out.size() * found->size() > template_subjects_max)
        return fail(errc::limit_exceeded, "a template would make too many subjects");
      std::vector<std::string> next;
      for (const std::string& begun : out)
        for (const std::string& value : *found) next.push_back(begun + text.substr(at, open - at) + value);
      out = std::move(next);
      at = close + 2;
    }
    const auto is_none = [](const std::string& subject) { return !protocol::is_valid_config_subject(subject); };
    for (std::string& subject : out) subject += text.substr(at);
    if (denied && std::ranges::any_of(out, is_none))
      return fail(errc::invalid_argument, "a denied subject would not be one");
    std::erase_if(out, is_none);
    return out;
  }

  const user_claims& user_;
  const account_claims& account_;
};

// An allow list that has lost all its entries must not become "everything".
result<void> apply(subject_permission& rules, const expansion& expand) {
  auto allow = expand.subjects(rules.allow, false);
  if (!allow) return std::unexpected(allow.error());
  auto deny = expand.subjects(rules.deny, true);
  if (!deny) return std::unexpected(deny.error());
  const bool lost_all = !rules.allow.empty() && allow->empty();
  rules = {.allow = *std::move(allow), .deny = *std::move(deny)};
  if (lost_all) rules.deny.emplace_back(">");
  return {};
}

}  // namespace

result<user_rights> apply_template(const user_rights& scope, const user_claims& user, const account_claims& account) {
  user_rights out = scope;
  const expansion expand(user, account);
  for (subject_permission* rules : {&out.pub, &out.sub}) {
    if (auto applied = apply(*rules, expand); !applied) return std::unexpected(applied.error());
  }
  return out;
}

}  // namespace tern::auth
