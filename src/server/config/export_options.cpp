// `exports` and `imports` of an account (core 3.4).
#include "base/go_duration.hpp"
#include "base/numbers.hpp"
#include "protocol/subject.hpp"
#include "server/config/account_options.hpp"
#include "server/config/permission_options.hpp"

#include <algorithm>

namespace tern::server {
namespace {

void read_latency(const config_value& from, export_options& to, block_errors& errors) {
  latency_options latency;
  if (from.is_text()) {
    latency.subject = from.text;
  } else if (from.is_map()) {
    for (const config_entry& entry : from.entries) {
      const std::string key = lower_case(entry.key);
      if (key == "subject") {
        errors.take(entry.value, latency.subject);
      } else if (key == "sampling") {
        std::int64_t percent = entry.value.integer;
        if (entry.value.is_text()) {
          if (lower_case(entry.value.text) == "headers") {
            latency.sampling = 0;
            continue;
          }
          std::string_view digits = entry.value.text;
          if (digits.ends_with('%')) digits.remove_suffix(1);
          const auto read = parse_signed_decimal(digits);
          if (!read) return errors.at(entry.value, "Failed to parse latency sample \"" + entry.value.text + "\"");
          percent = *read;
        }
        if (percent < 1 || percent > 100)
          return errors.at(entry.value, "Latency sampling value \"" + std::to_string(percent) +
                                            "\" is not between 1 and 100 percent");
        latency.sampling = static_cast<int>(percent);
      } else {
        errors.unknown(entry);
      }
    }
  } else {
    return errors.at(from, "Expected latency entry to be a map/struct or a string");
  }
  if (!protocol::is_valid_config_literal(latency.subject))
    return errors.at(from, "Latency subject \"" + latency.subject + "\" is not a valid publish subject");
  to.latency = latency;
}

void read_response_type(const config_value& from, export_options& to, block_errors& errors) {
  std::string text;
  if (!errors.take(from, text)) return;
  const std::string word = lower_case(text);
  if (word == "single" || word == "singleton")
    to.responses = response_type::singleton;
  else if (word == "stream")
    to.responses = response_type::streamed;
  else if (word == "chunk" || word == "chunked")
    to.responses = response_type::chunked;
  else
    errors.at(from, "Unknown response type: \"" + text + "\"");
}

void read_threshold(const config_value& from, export_options& to, block_errors& errors) {
  if (!from.is_text()) return errors.at(from, "Expected response threshold to be a parseable time duration");
  const auto read = parse_go_duration(from.text);
  if (!read)
    return errors.at(from, "Expected response threshold to be a parseable time duration, got \"" + from.text + "\"");
  to.threshold = *read;
}

void read_export(const config_value& from, account_options& account, block_errors& errors) {
  if (!from.is_map()) return errors.at(from, "Export Items should be a map with type entry");
  export_options out;
  const config_entry *kind = nullptr, *response = nullptr, *threshold = nullptr, *latency = nullptr;
  for (const config_entry& entry : from.entries) {
    const std::string key = lower_case(entry.key);
    if (key == "stream" || key == "service") {
      if (kind != nullptr)
        return errors.at(entry.value, key == "stream"
                                          ? "Detected stream \"" + entry.value.text + "\" but already saw a service"
                                          : "Detected service \"" + entry.value.text + "\" but already saw a stream");
      kind = &entry;
      out.service = key == "service";
      if (!errors.take(entry.value, out.subject)) return;
    } else if (key == "response" || key == "response_type") {
      response = &entry;
      read_response_type(entry.value, out, errors);
    } else if (key == "threshold" || key == "response_threshold" || key == "response_max_time" ||
               key == "response_time") {
      threshold = &entry;
      read_threshold(entry.value, out, errors);
    } else if (key == "accounts") {
      std::vector<std::string> names;
      if (errors.take(entry.value, names)) out.accounts = std::move(names);
    } else if (key == "latency") {
      latency = &entry;
      read_latency(entry.value, out, errors);
    } else if (key == "account_token_position") {
      errors.take(entry.value, out.account_token_position);
    } else if (key == "allow_trace") {
      errors.take(entry.value, out.allow_trace);
    } else {
      errors.unknown(entry);
    }
  }
  if (kind == nullptr) return errors.at(from, "Export Items should be a map with type entry");
  if (!out.service) {
    if (response != nullptr) return errors.at(response->value, "Detected response directive on non-service");
    if (threshold != nullptr) return errors.at(threshold->value, "Detected response directive on non-service");
    if (latency != nullptr) return errors.at(latency->value, "Detected latency directive on non-service");
  }
  account.exports.push_back(std::move(out));
}

// `{account: X, subject: foo}`
bool read_origin(const config_value& from, import_options& to, block_errors& errors) {
  if (!from.is_map()) return errors.at(from, "Expected account and subject of an import to be a map"), false;
  for (const config_entry& entry : from.entries) {
    const std::string key = lower_case(entry.key);
    if (key == "account")
      errors.take(entry.value, to.account);
    else if (key == "subject")
      errors.take(entry.value, to.subject);
    else
      errors.unknown(entry);
  }
  if (to.account.empty() || to.subject.empty()) return errors.at(from, "Expect an account name and a subject"), false;
  return true;
}

void read_import(const config_value& from, account_options& account, block_errors& errors) {
  if (!from.is_map()) return errors.at(from, "Import Items should be a map with type entry");
  import_options out;
  bool known = false;
  for (const config_entry& entry : from.entries) {
    const std::string key = lower_case(entry.key);
    if (key == "stream" || key == "service") {
      if (known)
        return errors.at(entry.value, key == "stream" ? "Detected stream but already saw a service"
                                                      : "Detected service but already saw a stream");
      known = true;
      out.service = key == "service";
      if (!read_origin(entry.value, out, errors)) return;
    } else if (key == "prefix") {
      errors.take(entry.value, out.prefix);
    } else if (key == "to") {
      errors.take(entry.value, out.to);
    } else if (key == "share") {
      errors.take(entry.value, out.share);
    } else if (key == "allow_trace") {
      errors.take(entry.value, out.allow_trace);
    } else {
      errors.unknown(entry);
    }
  }
  if (!known) return errors.at(from, "Import Items should be a map with type entry");
  if (!out.service && !out.prefix.empty() && !out.to.empty())
    return errors.at(from, "Stream import can not have a 'prefix' and a 'to' property");
  account.imports.push_back(std::move(out));
}

}  // namespace

void read_exports(const config_value& from, account_options& to, block_errors& errors) {
  if (from.what != config_value::kind::array)
    return errors.at(from, "Exports should be an array, got " + std::string(from.type_name()));
  for (const config_value& one : from.elements) read_export(one, to, errors);
}

void read_imports(const config_value& from, account_options& to, block_errors& errors) {
  if (from.what != config_value::kind::array)
    return errors.at(from, "Imports should be an array, got " + std::string(from.type_name()));
  for (const config_value& one : from.elements) read_import(one, to, errors);
}

}  // namespace tern::server
