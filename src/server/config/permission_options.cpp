#include "server/config/permission_options.hpp"

#include "base/ascii.hpp"
#include "base/go_duration.hpp"
#include "protocol/subject.hpp"

#include <algorithm>

namespace tern::server {
namespace {

// A queue may stand behind the subject of a subscription, and only there.
void check_subjects(const std::vector<std::string>& subjects, bool with_queue, block_errors& errors) {
  for (const std::string& text : subjects) {
    const std::size_t blank = with_queue ? text.find_first_of(" \t") : std::string::npos;
    const std::string_view subject = std::string_view(text).substr(0, blank);
    if (!protocol::is_valid_config_subject(subject)) errors.plain("subject \"" + text + "\" is not a valid subject");
  }
}

void read_subjects(const config_value& from, auth::subject_permission& to, bool with_queue, block_errors& errors) {
  if (!from.is_map()) {
    if (errors.take(from, to.allow)) check_subjects(to.allow, with_queue, errors);
    return;
  }
  for (const config_entry& entry : from.entries) {
    const std::string key = lower_case(entry.key);
    if (key != "allow" && key != "deny") {
      if (!entry.used_as_variable)
        errors.at(entry.value, "Unknown field name \"" + entry.key +
                                   "\" parsing subject permissions, only 'allow' or 'deny' are permitted");
      continue;
    }
    auto& list = key == "allow" ? to.allow : to.deny;
    if (errors.take(entry.value, list)) check_subjects(list, with_queue, errors);
  }
}

void read_responses(const config_value& from, std::optional<auth::response_permission>& to, block_errors& errors) {
  if (from.what == config_value::kind::boolean) {
    if (from.boolean) to.emplace();
    return;
  }
  if (!from.is_map()) {
    errors.at(from, "error parsing response permissions, expected a boolean or a map, got " + shown(from));
    return;
  }
  auth::response_permission rights;
  for (const config_entry& entry : from.entries) {
    const std::string key = lower_case(entry.key);
    if (key == "max" || key == "max_msgs" || key == "max_messages" || key == "max_responses") {
      std::int64_t max = 0;
      if (errors.take(entry.value, max) && max != 0) rights.max = max;
    } else if (key == "expires" || key == "expiration" || key == "ttl") {
      const auto read = entry.value.is_text() ? parse_go_duration(entry.value.text) : result<nanoseconds>();
      if (!entry.value.is_text())
        errors.at(entry.value, "error parsing expires, expected a string but got " + shown(entry.value));
      else if (!read)
        errors.at(entry.value, "error parsing expires: time: invalid duration \"" + entry.value.text + "\"");
      else if (*read != nanoseconds(0))
        rights.expires = *read;
    } else if (!entry.used_as_variable) {
      errors.at(entry.value, "Unknown field \"" + entry.key + "\" parsing permissions");
    }
  }
  to = rights;
}

}  // namespace

std::optional<auth::permission_settings> read_permissions(const config_value& block, block_errors& errors) {
  if (!block.is_map()) {
    errors.at(block, "Expected permissions to be a map/struct, got " + shown(block));
    return std::nullopt;
  }
  auth::permission_settings out;
  for (const config_entry& entry : block.entries) {
    const std::string key = lower_case(entry.key);
    if (key == "publish" || key == "pub" || key == "import")
      read_subjects(entry.value, out.publish, false, errors);
    else if (key == "subscribe" || key == "sub" || key == "export")
      read_subjects(entry.value, out.subscribe, true, errors);
    else if (key == "allow_responses" || key == "publish_allow_responses")
      read_responses(entry.value, out.responses, errors);
    else if (!entry.used_as_variable)
      errors.at(entry.value, "Unknown field \"" + entry.key + "\" parsing permissions");
  }
  return out;
}

}  // namespace tern::server
