#include "server/config/account_options.hpp"

#include "auth/nkey.hpp"
#include "base/numbers.hpp"
#include "protocol/subject.hpp"
#include "server/config/authorization_options.hpp"
#include "server/config/options.hpp"
#include "server/config/permission_options.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace tern::server {
namespace {

bool is_reserved(std::string_view name) { return name == global_account_name; }

// `enabled`, a boolean, or limits.
void read_account_jetstream(const config_value& from, account_options& to, block_errors& errors) {
  if (from.what == config_value::kind::boolean) {
    if (from.boolean) to.jetstream.emplace();
    return;
  }
  if (from.is_text()) {
    const std::string word = lower_case(from.text);
    if (word == "enabled" || word == "enable")
      to.jetstream.emplace();
    else if (word != "disabled" && word != "disable")
      errors.at(from, "Expected 'enabled' or 'disabled' for string value, got '" + from.text + "'");
    return;
  }
  if (!from.is_map()) return errors.at(from, "Expected map, bool or string to define JetStream");
  jetstream::account_limits limits;
  struct rule {
    std::string_view names;
    std::int64_t jetstream::account_limits::* member;
  };
  static constexpr rule rules[] = {
      {" max_memory max_mem mem memory ", &jetstream::account_limits::max_memory},
      {" max_store max_file max_disk store disk ", &jetstream::account_limits::max_storage},
      {" max_streams streams ", &jetstream::account_limits::max_streams},
      {" max_consumers consumers ", &jetstream::account_limits::max_consumers},
      {" memory_max_stream_bytes mem_max_stream_bytes ", &jetstream::account_limits::memory_max_stream_bytes},
      {" disk_max_stream_bytes store_max_stream_bytes ", &jetstream::account_limits::storage_max_stream_bytes},
      {" max_ack_pending ", &jetstream::account_limits::max_ack_pending},
  };
  for (const config_entry& entry : from.entries) {
    const std::string key = lower_case(entry.key);
    if (key == "max_bytes_required" || key == "max_stream_bytes" || key == "max_bytes") {
      errors.take(entry.value, limits.max_bytes_required);
      continue;
    }
    if (key == "cluster_traffic") continue;  // of clusters; without effect on one server
    const auto* const found =
        std::ranges::find_if(rules, [&](const rule& one) { return one.names.contains(" " + key + " "); });
    if (found != std::end(rules))
      errors.take(entry.value, limits.*found->member);
    else
      errors.unknown(entry);
  }
  to.jetstream = limits;
}

void read_account_limits(const config_value& from, account_limits_options& to, block_errors& errors) {
  if (!from.is_map()) return errors.at(from, "Expected account limits to be a map/struct");
  for (const config_entry& entry : from.entries) {
    const std::string key = lower_case(entry.key);
    std::int64_t* const into = key == "max_connections" || key == "max_conn"     ? &to.max_connections
                               : key == "max_subscriptions" || key == "max_subs" ? &to.max_subscriptions
                               : key == "max_payload" || key == "max_pay"        ? &to.max_payload
                               : key == "max_leafnodes" || key == "max_leafs"    ? &to.max_leafnodes
                                                                                 : nullptr;
    if (into != nullptr)
      errors.take(entry.value, *into);
    else if (!entry.used_as_variable)
      errors.at(entry.value, "Unknown field \"" + entry.key + "\" parsing account limits");
  }
}

void read_message_trace(const config_value& from, account_options& to, block_errors& errors) {
  if (from.is_text()) {
    to.trace_destination = from.text;
    return;
  }
  if (!from.is_map())
    return errors.at(from, "Expected account message trace \"msg_trace\" to be a string or a map/struct");
  for (const config_entry& entry : from.entries) {
    const std::string key = lower_case(entry.key);
    if (key == "dest") {
      errors.take(entry.value, to.trace_destination);
    } else if (key == "sampling") {
      std::int64_t percent = entry.value.integer;
      if (entry.value.is_text()) {
        std::string_view digits = entry.value.text;
        if (digits.ends_with('%')) digits.remove_suffix(1);
        percent = parse_signed_decimal(digits).value_or(-1);
      }
      if (percent < 0 || percent > 100)
        errors.at(entry.value,
                  "Ttrace destination sampling value " + std::to_string(percent) + " is invalid, needs to be [1..100]");
      else
        to.trace_sampling = static_cast<int>(percent == 0 ? 100 : percent);
    } else if (!entry.used_as_variable) {
      errors.at(entry.value, "Unknown field \"" + entry.key + "\" parsing account message trace map/struct");
    }
  }
}

void read_account(const config_entry& block, options& into, block_errors& errors) {
  account_options account;
  account.name = block.key;
  if (!block.value.is_map()) return errors.at(block.value, "Expected map entries for accounts");
  for (const config_entry& entry : block.value.entries) {
    const std::string key = lower_case(entry.key);
    if (key == "nkey") {
      if (errors.take(entry.value, account.nkey) && !auth::is_public_key(auth::key_kind::account, account.nkey))
        errors.at(entry.value, "Not a valid public nkey for an account: \"" + account.nkey + "\"");
    } else if (key == "users") {
      read_users(entry.value, account.name, into.security.users, errors);
    } else if (key == "imports") {
      read_imports(entry.value, account, errors);
    } else if (key == "exports") {
      read_exports(entry.value, account, errors);
    } else if (key == "jetstream") {
      read_account_jetstream(entry.value, account, errors);
    } else if (key == "default_permissions") {
      account.default_permissions = read_permissions(entry.value, errors);
    } else if (key == "mappings" || key == "maps") {
      read_mappings(entry.value, account.mappings, errors);
    } else if (key == "limits") {
      read_account_limits(entry.value, account.limits, errors);
    } else if (key == "msg_trace" || key == "trace_dest") {
      read_message_trace(entry.value, account, errors);
    } else {
      errors.unknown(entry);
    }
  }
  into.security.accounts.push_back(std::move(account));
}

void read_destination(const config_value& from, std::string_view source, routing::mapping& to, block_errors& errors) {
  routing::mapping::destination one;
  bool weighed = false;
  for (const config_entry& entry : from.entries) {
    const std::string key = lower_case(entry.key);
    if (key == "dest" || key == "destination") {
      if (!errors.take(entry.value, one.subject)) return;
      if (!one.subject.empty() && one.subject.find(' ') != std::string::npos)
        return errors.at(entry.value, "Subject \"" + one.subject + "\" is not a valid subject");
    } else if (key == "weight") {
      std::int64_t weight = 0;
      if (entry.value.what == config_value::kind::integer) {
        weight = entry.value.integer;
      } else if (entry.value.is_text()) {
        std::string_view digits = entry.value.text;
        if (digits.ends_with('%')) digits.remove_suffix(1);
        const auto read = parse_signed_decimal(digits);
        if (!read) return errors.at(entry.value, "Invalid weight \"" + entry.value.text + "\" for mapping destination");
        weight = *read;
      } else {
        return errors.at(entry.value, "Unknown entry type for weight of mapping destination");
      }
      if (weight < 0 || weight > 100)
        return errors.at(entry.value, "Invalid weight " + std::to_string(weight) + " for mapping destination");
      one.weight = static_cast<int>(weight);
      weighed = true;
    } else if (key == "cluster") {
      errors.take(entry.value, one.cluster);
    } else {
      errors.at(entry.value, "Unknown field \"" + entry.key + "\" for mapping destination");
      return;
    }
  }
  if (!weighed) return errors.at(from, "Missing weight for mapping destination of \"" + std::string(source) + "\"");
  to.destinations.push_back(std::move(one));
}

}  // namespace

void read_mappings(const config_value& from, std::vector<routing::mapping>& to, block_errors& errors) {
  if (!from.is_map()) return errors.at(from, "Expected account mappings to be a map/struct");
  for (const config_entry& entry : from.entries) {
    routing::mapping mapping{.source = entry.key, .destinations = {}};
    if (!protocol::is_valid_config_subject(entry.key)) {
      errors.at(entry.value, "Subject \"" + entry.key + "\" is not a valid subject");
      continue;
    }
    if (entry.value.is_text()) {
      mapping.destinations.push_back({.subject = entry.value.text});
    } else if (entry.value.what == config_value::kind::array) {
      for (const config_value& one : entry.value.elements) {
        if (one.is_map())
          read_destination(one, entry.key, mapping, errors);
        else
          errors.at(one, "Expected an entry for the mapping destination");
      }
    } else if (entry.value.is_map()) {
      read_destination(entry.value, entry.key, mapping, errors);
    } else {
      errors.at(entry.value, "Unknown entry type for mapping");
      continue;
    }
    if (auto made = check_mapping(mapping); !made) errors.at(entry.value, made.error().context());
    to.push_back(std::move(mapping));
  }
}

void read_accounts_option(const config_entry& entry, options& into, config_findings& findings) {
  block_errors errors(findings);
  into.security.accounts_configured = true;
  const config_value& block = entry.value;
  const auto known = [&into](std::string_view name) {
    return std::ranges::find(into.security.accounts, name, &account_options::name) != into.security.accounts.end();
  };
  if (block.what == config_value::kind::array) {
    for (const config_value& one : block.elements) {
      if (!one.is_text()) {
        errors.at(one, "Expected account name to be a string");
        continue;
      }
      if (is_reserved(one.text)) {
        errors.at(one, "\"" + one.text + "\" is a Reserved Account");
        continue;
      }
      if (known(one.text)) {
        errors.at(one, "Duplicate Account Entry: " + one.text);
        continue;
      }
      into.security.accounts.push_back({.name = one.text});
    }
    return;
  }
  if (!block.is_map()) return errors.at(block, "Expected accounts to be an array or map");
  for (const config_entry& one : block.entries) {
    if (is_reserved(one.key))
      errors.at(one.value, "\"" + one.key + "\" is a Reserved Account");
    else
      read_account(one, into, errors);
  }
  if (!findings.errors.empty()) return;
  if (auto checked = check_accounts(into.security); !checked) errors.at(block, checked.error().context());
}

void read_mappings_option(const config_entry& entry, options& into, config_findings& findings) {
  block_errors errors(findings);
  read_mappings(entry.value, into.security.mappings, errors);
}

}  // namespace tern::server
