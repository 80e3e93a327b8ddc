// Whose accounts and users are tokens (core 3.5): operators, and where the tokens of their accounts come from. Plain
// values; server/security/operator_authority makes something of them.
#pragma once

#include <tern/base/error.hpp>

#include <map>
#include <string>
#include <vector>

namespace tern::server {

struct options;
struct config_entry;
struct config_findings;

struct operator_options {
  std::vector<std::string> tokens;        // of the operators themselves
  std::vector<std::string> trusted_keys;  // public keys in their place
  bool memory_resolver = false;
  std::map<std::string, std::string> preload;  // account key to token
  std::vector<std::string> pinned_accounts;    // empty: any account
  std::string default_sentinel;                // of clients that bring no token
  bool in_use() const { return !tokens.empty() || !trusted_keys.empty(); }
  friend bool operator==(const operator_options&, const operator_options&) = default;
};

void read_operator_option(const config_entry& entry, options& into, config_findings& findings);
void read_trusted_keys_option(const config_entry& entry, options& into, config_findings& findings);
void read_resolver_option(const config_entry& entry, options& into, config_findings& findings);
void read_resolver_preload_option(const config_entry& entry, options& into, config_findings& findings);
void read_pinned_accounts_option(const config_entry& entry, options& into, config_findings& findings);
void read_default_sentinel_option(const config_entry& entry, options& into, config_findings& findings);

struct security_options;
// What may not stand beside an operator, with the peer's texts.
result<void> check_operators(const security_options& what);

}  // namespace tern::server
