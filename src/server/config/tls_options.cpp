#include "server/config/tls_options.hpp"

#include "base/ascii.hpp"
#include "base/go_duration.hpp"
#include "runtime/host/files.hpp"
#include "server/config/config_reader.hpp"
#include "server/config/option_table.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

namespace tern::server {
namespace {

bool is_key_digest(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

// One run over a block.
class tls_reader {
 public:
  tls_reader(tls_options& into, config_findings& findings) : into_(into), findings_(findings) {}

  bool read(const config_value& block);

 private:
  void complain(const config_value& at, std::string text) {
    ok_ = false;
    findings_.errors.push_back(at.place.text() + ": " + std::move(text));
  }
  void read_key(const std::string& key, const config_entry& entry);
  bool read_text_key(const std::string& key, const config_entry& entry);
  bool read_bool_key(const std::string& key, const config_entry& entry);
  void read_list(const config_entry& entry, std::vector<std::string>& to,
                 const std::function<std::string(const std::string&)>& complaint);
  void read_certificates(const config_entry& entry);
  void read_timeout(const config_entry& entry);
  void read_version(const config_entry& entry);
  void read_pins(const config_entry& entry);
  void read_handshake_first(const config_entry& entry);
  void check(const config_value& block);

  tls_options& into_;
  config_findings& findings_;
  bool allow_insecure_ = false;
  bool ok_ = true;
};

bool tls_reader::read_text_key(const std::string& key, const config_entry& entry) {
  struct rule {
    std::string_view name;
    std::string tls_options::* member;
    std::string_view wanted;
  };
  static constexpr rule rules[] = {
      {"cert_file", &tls_options::certificate_file, "expected 'cert_file' to be filename"},
      {"key_file", &tls_options::key_file, "expected 'key_file' to be filename"},
      {"ca_file", &tls_options::authority_file, "expected 'ca_file' to be filename"},
      {"ocsp_staple_file", &tls_options::staple_file, "expected 'ocsp_staple_file' to be filename"},
  };
  const auto* const found = std::ranges::find(rules, std::string_view(key), &rule::name);
  if (found == std::end(rules)) return false;
  if (entry.value.is_text())
    into_.*found->member = entry.value.text;
  else
    complain(entry.value, "error parsing tls config, " + std::string(found->wanted));
  return true;
}

bool tls_reader::read_bool_key(const std::string& key, const config_entry& entry) {
  bool* const to = key == "verify"                             ? &into_.verify
                   : key == "verify_and_map"                   ? &into_.verify_and_map
                   : key == "verify_cert_and_check_known_urls" ? &into_.check_known_urls
                   : key == "insecure"                         ? &into_.insecure
                   : key == "allow_insecure_cipher_suites"     ? &allow_insecure_
                                                               : nullptr;
  if (to == nullptr) return false;
  if (entry.value.what != config_value::kind::boolean) {
    complain(entry.value, "error parsing tls config, expected '" + key + "' to be a boolean");
    return true;
  }
  *to = entry.value.boolean;
  if (to == &into_.verify_and_map && *to) into_.verify = true;
  if (to == &into_.check_known_urls && *to) complain(entry.value, key + " not supported in this context");
  return true;
}

void tls_reader::read_list(const config_entry& entry, std::vector<std::string>& to,
                           const std::function<std::string(const std::string&)>& complaint) {
  if (entry.value.what != config_value::kind::array)
    return complain(entry.value, "interface conversion: interface {} is " + std::string(entry.value.type_name()) +
                                     ", not []interface {}");
  if (entry.value.elements.empty())
    return complain(entry.value, "error parsing tls config, '" + entry.key + "' cannot be empty");
  to.clear();
  for (const config_value& element : entry.value.elements) {
    if (!element.is_text()) {
      complain(element, "interface conversion: interface {} is " + std::string(element.type_name()) + ", not string");
    } else if (const std::string text = complaint(element.text); !text.empty()) {
      complain(element, text);
    } else {
      to.push_back(element.text);
    }
  }
}

void tls_reader::read_certificates(const config_entry& entry) {
  if (entry.value.what != config_value::kind::array)
    return complain(entry.value,
                    "error parsing certificates config: unsupported type " + std::string(entry.value.type_name()));
  for (const config_value& one : entry.value.elements) {
    if (!one.is_map()) {
      complain(one, "error parsing certificates config: unsupported type " + std::string(one.type_name()));
      continue;
    }
    std::string certificate, key;
    bool known = true;
    for (const config_entry& part : one.entries) {
      const std::string name = lower_case(part.key);
      std::string* const to = name == "cert_file" ? &certificate : name == "key_file" ? &key : nullptr;
      if (to == nullptr) {
        known = false;
        complain(part.value, "error parsing tls certs config, unknown field \"" + part.key + "\"");
      } else if (!part.value.is_text()) {
        known = false;
        complain(part.value,
                 "error parsing certificates config: unsupported type " + std::string(part.value.type_name()));
      } else {
        *to = part.value.text;
      }
    }
    if (!known) continue;
    if (certificate.empty() || key.empty()) {
      complain(one.entries.empty() ? one : one.entries.front().value,
               "error parsing certificates config: both 'cert_file' and 'cert_key' options are required");
      continue;
    }
    into_.certificates.emplace_back(std::move(certificate), std::move(key));
  }
}

// Seconds, with a fraction perhaps, or a duration.
void tls_reader::read_timeout(const config_entry& entry) {
  const config_value& value = entry.value;
  constexpr double seconds_max = 365.0 * 24 * 3600;
  if (value.is_text()) {
    const auto read = parse_go_duration(value.text);
    if (!read)
      return complain(value, "error parsing tls config, 'timeout' time: invalid duration \"" + value.text + "\"");
    into_.timeout = *read;
  } else if (value.what == config_value::kind::integer || value.what == config_value::kind::floating) {
    const double seconds =
        value.what == config_value::kind::integer ? static_cast<double>(value.integer) : value.floating;
    into_.timeout = nanoseconds(static_cast<std::int64_t>(std::clamp(seconds, 0.0, seconds_max) * 1e9));
  } else {
    return complain(value, "error parsing tls config, 'timeout' wrong type");
  }
  if (into_.timeout <= nanoseconds(0)) into_.timeout = tls_options{}.timeout;
}

void tls_reader::read_version(const config_entry& entry) {
  const config_value& value = entry.value;
  if (!value.is_text()) {
    std::string text = std::to_string(value.floating);
    while (text.ends_with('0')) text.pop_back();
    return complain(value, "error parsing tls config: 'min_version' wrong type: " +
                               (value.what == config_value::kind::floating ? text : std::string(value.type_name())));
  }
  if (value.text == "1.2")
    into_.oldest = runtime::tls_version::v1_2;
  else if (value.text == "1.3")
    into_.oldest = runtime::tls_version::v1_3;
  else if (value.text == "1.0" || value.text == "1.1")
    complain(value, "error parsing tls config: unsupported TLS version: TLS " + value.text);
  else
    complain(value, "error parsing tls config: unknown version: " + value.text);
}

void tls_reader::read_pins(const config_entry& entry) {
  if (entry.value.what != config_value::kind::array)
    return complain(
        entry.value,
        "error parsing tls config, expected 'pinned_certs' to be a list of hex-encoded sha256 of DER encoded "
        "SubjectPublicKeyInfo");
  for (const config_value& element : entry.value.elements) {
    if (!element.is_text() || !is_key_digest(element.text))
      complain(element, "error parsing tls config, 'pinned_certs' key " + element.text +
                            " does not look like hex-encoded sha256 of DER encoded SubjectPublicKeyInfo");
    else
      into_.pinned_keys.push_back(lower_case(element.text));
  }
}

void tls_reader::read_handshake_first(const config_entry& entry) {
  const config_value& value = entry.value;
  if (value.what == config_value::kind::boolean) {
    into_.first = value.boolean ? handshake_first::always : handshake_first::never;
    return;
  }
  if (!value.is_text())
    return complain(
        value, "field \"" + entry.key + "\" should be a boolean or a string, got " + std::string(value.type_name()));
  const std::string word = lower_case(value.text);
  if (word == "true" || word == "on") {
    into_.first = handshake_first::always;
  } else if (word == "false" || word == "off") {
    into_.first = handshake_first::never;
  } else if (word == "auto" || word == "auto_fallback") {
    into_.first = handshake_first::with_fallback;
  } else if (const auto read = parse_go_duration(value.text)) {
    into_.first = handshake_first::with_fallback;
    if (*read > nanoseconds(0)) into_.first_fallback = *read;
  } else {
    complain(value, "field \"" + entry.key + "\"'s value \"" + value.text + "\" is invalid");
  }
}

void tls_reader::read_key(const std::string& key, const config_entry& entry) {
  if (read_text_key(key, entry) || read_bool_key(key, entry)) return;
  if (key == "certs" || key == "certificates") return read_certificates(entry);
  if (key == "timeout") return read_timeout(entry);
  if (key == "min_version") return read_version(entry);
  if (key == "pinned_certs") return read_pins(entry);
  if (key == "handshake_first" || key == "first" || key == "immediate") return read_handshake_first(entry);
  if (key == "cipher_suites")
    return read_list(entry, into_.cipher_suites, [](const std::string& name) {
      return runtime::is_known_cipher_suite(name) ? "" : "unrecognized cipher " + name;
    });
  if (key == "curve_preferences")
    return read_list(entry, into_.curves, [](const std::string& name) {
      return runtime::is_known_curve(name) ? "" : "unrecognized curve preference " + name;
    });
  if (key == "connection_rate_limit") {
    if (entry.value.what != config_value::kind::integer)
      return complain(entry.value, "error parsing tls config, 'connection_rate_limit' wrong type");
    into_.connection_rate_limit = entry.value.integer;
    return;
  }
  if (const option_info* const known = find_option("tls", key); known != nullptr)
    return complain(entry.value, refusal_text(*known, entry.key));
  if (!entry.used_as_variable) complain(entry.value, "error parsing tls config, unknown field \"" + entry.key + "\"");
}

void tls_reader::check(const config_value& block) {
  if (into_.certificate_file.empty() != into_.key_file.empty())
    return complain(block, into_.key_file.empty() ? "missing 'key_file' in TLS configuration"
                                                  : "missing 'cert_file' in TLS configuration");
  std::string insecure;
  for (const std::string& name : into_.cipher_suites)
    if (runtime::is_insecure_cipher_suite(name)) insecure.append(insecure.empty() ? "" : ", ").append(name);
  if (!insecure.empty() && !allow_insecure_)
    return complain(block,
                    "insecure cipher suites configured without 'allow_insecure_cipher_suites' option set: " + insecure);
  if (auto loaded = load_tls_files(into_); !loaded) return complain(block, loaded.error().context());
  if (into_.insecure)
    findings_.without_effect.push_back(block.place.text() +
                                       ": option \"insecure\" has no effect on connections that come in");
}

bool tls_reader::read(const config_value& block) {
  if (!block.is_map()) {
    complain(block, "interface conversion: interface {} is " + std::string(block.type_name()) +
                        ", not map[string]interface {}");
    return false;
  }
  for (const config_entry& entry : block.entries) read_key(lower_case(entry.key), entry);
  if (ok_) check(block);
  return ok_;
}

}  // namespace

bool read_tls_block(const config_value& block, tls_options& into, config_findings& findings) {
  into = {};
  return tls_reader(into, findings).read(block);
}

result<void> apply_tls_flags(const tls_flags& flags, std::optional<tls_options>& to) {
  if (!flags.enabled && !flags.verify && flags.certificate_file.empty() && flags.key_file.empty() &&
      flags.authority_file.empty())
    return {};
  if (flags.certificate_file.empty())
    return fail(errc::config_error, "TLS Server certificate must be present and valid");
  if (flags.key_file.empty()) return fail(errc::config_error, "TLS Server private key must be present and valid");
  tls_options asked;
  asked.certificate_file = flags.certificate_file;
  asked.key_file = flags.key_file;
  asked.authority_file = flags.authority_file;
  asked.verify = flags.verify;
  if (auto loaded = load_tls_files(asked); !loaded) return loaded;
  to = std::move(asked);
  return {};
}

result<void> load_tls_files(tls_options& what) {
  runtime::tls_settings settings;
  settings.role = runtime::tls_role::server;
  settings.demand_peer_certificate = what.verify;
  settings.oldest = what.oldest;
  settings.cipher_suites = what.cipher_suites;
  settings.curves = what.curves;
  settings.pinned_keys = what.pinned_keys;
  std::vector<std::pair<std::string, std::string>> pairs = what.certificates;
  if (!what.certificate_file.empty()) pairs.insert(pairs.begin(), {what.certificate_file, what.key_file});
  for (const auto& [certificate, key] : pairs) {
    auto chain = runtime::host::read_text_file(certificate);
    auto secret = chain ? runtime::host::read_text_file(key) : result<std::string>();
    if (!chain || !secret)
      return fail(errc::config_error,
                  "error parsing X509 certificate/key pair: " + (!chain ? chain.error() : secret.error()).context());
    settings.identities.push_back({*std::move(chain), *std::move(secret)});
  }
  if (!what.authority_file.empty()) {
    auto trusted = runtime::host::read_text_file(what.authority_file);
    if (!trusted) return fail(errc::config_error, trusted.error().context());
    settings.trusted_pem = *std::move(trusted);
    if (settings.trusted_pem.empty()) return fail(errc::config_error, "failed to parse root ca certificate");
  }
  if (!what.staple_file.empty()) {
    auto staple = runtime::host::read_text_file(what.staple_file);
    if (!staple) return fail(errc::config_error, staple.error().context());
    settings.staple = *std::move(staple);
  }
  auto made = runtime::tls_context::make(settings);
  if (!made) return std::unexpected(std::move(made).error());
  what.context = *std::move(made);
  return {};
}

}  // namespace tern::server
