#include "server/config/option_pages.hpp"

#include "server/config/command_line.hpp"
#include "server/config/option_table.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace tern::server {
namespace {

// A heading stands before the option with which it begins.
struct section {
  std::string_view block, first, heading, text;
};

constexpr section sections[] = {
    {"", "listen", "Clients", ""},
    {"", "max_connections", "Limits", ""},
    {"", "ping_interval", "Timers", ""},
    {"", "no_fast_producer_stall", "Behaviour", ""},
    {"", "debug", "Log", "What the lines look like: [logging](../operations/logging.md)."},
    {"", "pid_file", "Files", ""},
    {"", "http", "Monitoring", "What is answered: [monitoring](monitoring.md)."},
    {"", "jetstream", "JetStream at the top of the file", ""},
    {"", "authorization", "Security at the top of the file", ""},
    {"", "websocket", "Listeners", ""},
    {"jetstream", "enabled", "Block `jetstream`",
     "What `sync_interval` promises: [the guide](../guide/server.md#what-an-acknowledgement-promises). Here its "
     "default "
     "differs from\n`nats-server`'s two minutes: [differences](differences.md)."},
    {"jetstream.limits", "max_ack_pending", "Block `jetstream { limits }`", ""},
    {"authorization", "user", "Block `authorization`", ""},
    {"authorization.users[]", "user", "Users", ""},
    {"authorization.auth_callout", "issuer", "Block `authorization { auth_callout }`", ""},
    {"permissions", "publish", "Block `permissions`", ""},
    {"permissions.*", "allow", "`publish` and `subscribe` of `permissions`", ""},
    {"permissions.allow_responses", "max", "`allow_responses` of `permissions`", ""},
    {"accounts.*", "nkey", "Block `accounts { NAME }`", ""},
    {"accounts.*.msg_trace", "dest", "Block `msg_trace` of an account", ""},
    {"accounts.*.limits", "max_connections", "Block `limits` of an account", ""},
    {"accounts.*.jetstream", "max_memory", "Block `jetstream` of an account", ""},
    {"accounts.*.exports[]", "stream", "Exports", ""},
    {"accounts.*.exports[].latency", "sampling", "`latency` of an export", ""},
    {"accounts.*.imports[]", "stream", "Imports", ""},
    {"accounts.*.imports[].*", "account", "`stream` and `service` of an import", ""},
    {"mappings", "*", "Block `mappings`", ""},
    {"mappings.*[]", "destination", "A destination of `mappings`", ""},
    {"resolver", "type", "Block `resolver`", ""},
    {"tls", "cert_file", "Block `tls`", ""},
    {"tls.certs[]", "cert_file", "`certs` of `tls`", ""},
    {"websocket", "listen", "Block `websocket`", ""},
    {"websocket.authorization", "user", "Block `websocket { authorization }`", ""},
    {"proxies", "trusted", "Block `proxies`", ""},
    {"proxies.trusted[]", "key", "`trusted` of `proxies`", ""},
};

constexpr std::string_view introduction =
    R"(# Configuration

Written by `tools/generate_option_pages` from the option table (`src/server/config/option_table*.cpp`); change that.

`ternd -c FILE` reads the language of `nats-server`: `key: value`, `key = value` or `key value`; maps in braces, arrays in
brackets; `#` and `//` comments; `include "other.conf"`; variables (`$NAME`) from the file or the environment; sizes like `1G`
(1,000,000,000) and `64MB` (64 × 1,048,576); durations like `"2s"` and `"1h30m"`. Keys do not regard case.

`ternd -c FILE --check-config` (or `-t`) checks a file without starting, `ternd --explain OPTION` tells about an option what
stands here.

An unknown key is an error, and so is an option of a part that is not built: a server that ignored `tls` or `authorization`
would admit whom it must not. All complaints come at once, each with file, line and column. A duration may be a plain number
of seconds as with `nats-server`; `-t` then complains, the server starts.

A [reload](../operations/reload.md) is all or nothing. The column *reload* tells whether it applies a changed value ("yes"), or
fails because of it ("no").
)";

const section* section_at(const option_info& what) {
  const auto* const found = std::ranges::find_if(
      sections, [&what](const section& one) { return one.block == what.block && one.first == what.name(); });
  return found == std::end(sections) ? nullptr : found;
}

std::string quoted_names(std::string_view names) {
  std::string out;
  while (!names.empty()) {
    const std::size_t blank = names.find(' ');
    out.append(out.empty() ? "" : ", ").append("`").append(names.substr(0, blank)).append("`");
    names.remove_prefix(blank == std::string_view::npos ? names.size() : blank + 1);
  }
  return out;
}

std::string in_table(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '|') out += '\\';
    out += letter;
  }
  return out;
}

std::string with_path(const option_info& what) {
  return what.block.empty() ? quoted_names(what.names)
                            : "`" + std::string(what.block) + "`: " + quoted_names(what.names);
}

void append_honoured(std::string& out) {
  for (const option_info& one : option_table()) {
    if (const section* begins = section_at(one)) {
      out.append("\n## ").append(begins->heading).append("\n\n");
      if (!begins->text.empty()) out.append(begins->text).append("\n\n");
      out.append("| option | type | default | reload | meaning |\n|---|---|---|---|---|\n");
    }
    if (one.status != option_status::honoured) continue;
    out.append("| ").append(quoted_names(one.names)).append(" | ").append(in_table(one.type)).append(" | ");
    out.append(in_table(one.fallback)).append(one.fallback.empty() ? "| " : " | ");
    out.append(one.reload == option_reload::applied ? "yes" : "no").append(" | ").append(in_table(one.text));
    out.append(one.text.empty() ? "|\n" : " |\n");
  }
}

// Blocks of which nothing is honoured, and whose own option is in the list above: one line each.
void append_refused_blocks(std::string& out) {
  const auto table = option_table();
  for (std::size_t at = 0; at < table.size();) {
    const std::string_view block = table[at].block;
    std::size_t end = at;
    std::string names;
    bool refused = !block.empty();
    for (; end < table.size() && table[end].block == block; ++end) {
      refused = refused && table[end].status == option_status::refused;
      names.append(names.empty() ? "" : ", ").append(quoted_names(table[end].names));
    }
    if (refused) out.append("- `").append(block).append("`: ").append(names).append("\n");
    at = end;
  }
}

bool in_refused_block(const option_info& what) {
  return !what.block.empty() && std::ranges::all_of(option_table(), [&what](const option_info& one) {
    return one.block != what.block || one.status == option_status::refused;
  });
}

std::string escaped_for_man(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '`') continue;
    if (letter == '\\' || letter == '-') out += '\\';
    if (out.empty() && (letter == '.' || letter == '\'')) out += "\\&";
    out += letter;
  }
  return out;
}

std::string man_names(std::string_view names) {
  std::string out;
  while (!names.empty()) {
    const std::size_t blank = names.find(' ');
    out.append(out.empty() ? "" : ", ").append("\\fB").append(escaped_for_man(names.substr(0, blank))).append("\\fR");
    names.remove_prefix(blank == std::string_view::npos ? names.size() : blank + 1);
  }
  return out;
}

}  // namespace

std::string configuration_page() {
  std::string out(introduction);
  append_honoured(out);
  out.append(
      "\n## Taken and without effect\n\nThe value is checked, and a warning at the start names file, line and "
      "column.\n\n| option | why |\n|---|---|\n");
  for (const option_info& one : option_table())
    if (one.status == option_status::without_effect)
      out.append("| ").append(with_path(one)).append(" | ").append(in_table(one.text)).append(" |\n");
  out.append("\n## Refused\n\nThe start fails and says why.\n\n| option | why, and what instead |\n|---|---|\n");
  for (const option_info& one : option_table())
    if (one.status == option_status::refused && !in_refused_block(one))
      out.append("| ").append(with_path(one)).append(" | ").append(in_table(one.text)).append(" |\n");
  out.append("\nWithin them:\n\n");
  append_refused_blocks(out);
  return out;
}

std::string configuration_man_page() {
  std::string out = ".TH TERND.CONF 5 \"\" \"tern " TERN_VERSION
                    "\" \"File Formats\"\n.SH NAME\nternd.conf \\- configuration of ternd\n"
                    ".SH DESCRIPTION\nThe language of nats\\-server: \\fIkey: value\\fR, \\fIkey = value\\fR or "
                    "\\fIkey value\\fR, maps "
                    "in braces, arrays in brackets, \\fB#\\fR and \\fB//\\fR comments, \\fBinclude\\fR, variables.\n"
                    "A key that is not known ends the start, and so does an option of a part that is not built.\n";
  std::string_view block = "?";
  for (const option_info& one : option_table()) {
    if (in_refused_block(one)) continue;
    if (one.block != block) {
      block = one.block;
      out.append(".SH ").append(block.empty() ? "TOP OF THE FILE" : escaped_for_man(block)).append("\n");
    }
    out.append(".TP\n").append(man_names(one.names)).append(" (").append(escaped_for_man(one.type)).append(")\n");
    std::string text;
    if (one.status == option_status::refused) text = "Refused: ";
    if (one.status == option_status::without_effect) text = "No effect: ";
    text.append(one.text);
    if (!one.fallback.empty()) text.append(text.empty() ? "" : ". ").append("Default: ").append(one.fallback);
    if (one.status == option_status::honoured)
      text.append(text.empty() ? "" : ". ")
          .append(one.reload == option_reload::applied ? "Applied by a reload" : "Not to be changed by a reload");
    out.append(escaped_for_man(text)).append(".\n");
  }
  return out.append(".SH SEE ALSO\n.BR ternd (8)\n");
}

std::string command_line_man_page() {
  std::string usage;
  for (const char letter : usage_text("ternd")) {
    if (letter == '\\' || letter == '-') usage += '\\';
    usage += letter;
  }
  return ".TH TERND 8 \"\" \"tern " TERN_VERSION
         "\" \"System Administration\"\n.SH NAME\nternd \\- messaging server that speaks the NATS protocol\n"
         ".SH SYNOPSIS\n.B ternd\n[\\fIoptions\\fR]\n.SH OPTIONS\nOne dash or two; \\fB\\-x value\\fR or "
         "\\fB\\-x=value\\fR. A flag wins over the configuration file.\n.nf\n" +
         usage +
         ".fi\n.SH SIGNALS\n.TP\nSIGINT, SIGTERM\nStops in order.\n.TP\nSIGHUP\nReloads the configuration.\n.TP\n"
         "SIGUSR1\nOpens the log file anew.\n.TP\nSIGUSR2\nLame duck mode: clients are asked to leave, then it stops.\n"
         ".SH FILES\n.I /etc/tern/ternd.conf\n.SH SEE ALSO\n.BR ternd.conf (5)\n";
}

}  // namespace tern::server
