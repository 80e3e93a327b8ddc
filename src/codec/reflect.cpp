#include <tern/codec/reflect.hpp>

#include "base/ascii.hpp"

#include <cassert>

namespace tern::codec::detail {

bool equal_ignoring_case(std::string_view left, std::string_view right) { return equal_in_any_case(left, right); }

namespace {

const member_rule* find_rule(std::span<const member_option> options, std::string_view member) {
  for (const member_option& option : options) {
    if (option.member == member) return &option.rule;
  }
  return nullptr;
}

std::string_view wire_name(std::string_view member, const member_rule& rule) {
  if (!rule.name.empty()) return rule.name;
  if (member.size() > 1 && member.back() == '_') member.remove_suffix(1);
  return member;
}

}  // namespace

record_type build_record(const void* sample, std::span<const member_source> members,
                         std::span<const member_option> options, omit_when otherwise) {
  record_type built{{}, sample, false};
  for (const member_source& member : members) {
    const member_rule* found = find_rule(options, member.name);
    const member_rule rule = found != nullptr ? *found : member_rule{.omit = otherwise};
    const auto offset =
        static_cast<std::uint32_t>(static_cast<const char*>(member.address) - static_cast<const char*>(sample));
    if (rule.flatten) {
      assert(member.type->kind == value_kind::record);
      for (member_type inner : member.type->record().members) {
        inner.offset += offset;
        built.members.push_back(inner);
      }
    } else {
      built.members.push_back({wire_name(member.name, rule), member.type, offset, rule.omit, rule.required});
    }
  }
  for (const member_type& member : built.members) built.has_required = built.has_required || member.required;
  assert(built.members.size() <= record_members_max);
  return built;
}

}  // namespace tern::codec::detail
