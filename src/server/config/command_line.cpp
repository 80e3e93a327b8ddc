#include "server/config/command_line.hpp"

#include "base/numbers.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace tern::server {
namespace {

using setter = std::function<void(options&)>;

struct flag {
  std::vector<std::string_view> names;
  bool is_boolean = false;
  // Notes what the value says; false when it does not fit.
  std::function<bool(command_line&, const std::string&)> take;
};

std::optional<bool> parse_go_bool(std::string_view text) {
  for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"})
    if (text == yes) return true;
  for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"})
    if (text == no) return false;
  return std::nullopt;
}

template <class Set>
flag text(std::vector<std::string_view> names, Set set) {
  return {std::move(names), false, [set](command_line& into, const std::string& value) {
            into.settings.emplace_back([set, value](options& what) { set(what, value); });
            return true;
          }};
}

template <class Set>
flag number(std::vector<std::string_view> names, Set set) {
  return {std::move(names), false, [set](command_line& into, const std::string& value) {
            const auto read = parse_signed_decimal(value);
            if (!read) return false;
            into.settings.emplace_back([set, number = *read](options& what) { set(what, number); });
            return true;
          }};
}

template <class Set>
flag boolean(std::vector<std::string_view> names, Set set) {
  return {std::move(names), true, [set](command_line& into, const std::string& value) {
            const auto read = parse_go_bool(value);
            if (!read) return false;
            into.settings.emplace_back([set, on = *read](options& what) { set(what, on); });
            return true;
          }};
}

flag action(std::vector<std::string_view> names, command_line::action what) {
  return {std::move(names), true, [what](command_line& into, const std::string& value) {
            const auto read = parse_go_bool(value);
            if (!read) return false;
            if (*read) into.what = what;
            return true;
          }};
}

const std::vector<flag>& flags() {
  static const std::vector<flag> all = [] {
    std::vector<flag> out;
    out.push_back(text({"a", "addr", "net"}, [](options& to, const std::string& value) { to.host = value; }));
    out.push_back(number({"p", "port"}, [](options& to, std::int64_t value) { to.port = static_cast<int>(value); }));
    out.push_back(
        text({"n", "name", "server_name"}, [](options& to, const std::string& value) { to.server_name = value; }));
    out.push_back(text({"P", "pid"}, [](options& to, const std::string& value) { to.pid_file = value; }));
    out.push_back(
        number({"m", "http_port"}, [](options& to, std::int64_t value) { to.http_port = static_cast<int>(value); }));
    out.push_back(
        number({"ms", "https_port"}, [](options& to, std::int64_t value) { to.https_port = static_cast<int>(value); }));
    out.push_back(boolean({"tls"}, [](options& to, bool on) { to.tls_from_flags.enabled = on; }));
    out.push_back(boolean({"tlsverify"}, [](options& to, bool on) { to.tls_from_flags.verify = on; }));
    out.push_back(
        text({"tlscert"}, [](options& to, const std::string& value) { to.tls_from_flags.certificate_file = value; }));
    out.push_back(text({"tlskey"}, [](options& to, const std::string& value) { to.tls_from_flags.key_file = value; }));
    out.push_back(
        text({"tlscacert"}, [](options& to, const std::string& value) { to.tls_from_flags.authority_file = value; }));
    out.push_back(
        text({"client_advertise"}, [](options& to, const std::string& value) { to.client_advertise = value; }));
    out.push_back(
        text({"ports_file_dir"}, [](options& to, const std::string& value) { to.ports_file_directory = value; }));
    out.push_back(text({"l", "log"}, [](options& to, const std::string& value) { to.log_file = value; }));
    out.push_back(boolean({"s", "syslog"}, [](options& to, bool on) { to.syslog = on; }));
    out.push_back(
        text({"r", "remote_syslog"}, [](options& to, const std::string& value) { to.remote_syslog = value; }));
    out.push_back(boolean({"T", "logtime"}, [](options& to, bool on) { to.log_time = on; }));
    out.push_back(boolean({"logtime_utc"}, [](options& to, bool on) { to.log_time_utc = on; }));
    out.push_back(boolean({"D", "debug"}, [](options& to, bool on) { to.debug = on; }));
    out.push_back(boolean({"V", "trace"}, [](options& to, bool on) { to.trace = on; }));
    out.push_back(boolean({"VV"}, [](options& to, bool on) { to.trace = to.trace_verbose = on; }));
    out.push_back(boolean({"DV"}, [](options& to, bool on) { to.debug = to.trace = on; }));
    out.push_back(boolean({"DVV"}, [](options& to, bool on) { to.debug = to.trace = to.trace_verbose = on; }));
    out.push_back(number({"log_size_limit"}, [](options& to, std::int64_t value) { to.log_size_limit = value; }));
    out.push_back(
        number({"max_traced_msg_len"}, [](options& to, std::int64_t value) { to.max_traced_message = value; }));
    out.push_back(text({"user"}, [](options& to, const std::string& value) { to.security.user = value; }));
    out.push_back(text({"pass"}, [](options& to, const std::string& value) { to.security.password = value; }));
    out.push_back(text({"auth"}, [](options& to, const std::string& value) { to.security.token = value; }));
    out.push_back(boolean({"js", "jetstream"}, [](options& to, bool on) { to.jetstream.enabled = on; }));
    out.push_back(text({"sd", "store_dir"}, [](options& to, const std::string& value) {
      to.store_directory = value;
      to.jetstream.store_directory = value;
    }));
    out.push_back({{"c", "config"}, false, [](command_line& into, const std::string& value) {
                     into.config_file = value;
                     return true;
                   }});
    out.push_back({{"sl", "signal"}, false, [](command_line& into, const std::string& value) {
                     into.what = command_line::action::send_signal;
                     into.signal_command = value;
                     return true;
                   }});
    out.push_back(action({"t", "check-config"}, command_line::action::test_config));
    out.push_back({{"explain"}, false, [](command_line& into, const std::string& value) {
                     into.what = command_line::action::explain_option;
                     into.option = value;
                     return true;
                   }});
    out.push_back(action({"v", "version"}, command_line::action::show_version));
    out.push_back(action({"h", "help"}, command_line::action::show_help));
    return out;
  }();
  return all;
}

// Flags of the peer for what is not built here: silence would be worse than a refusal.
constexpr std::string_view refused[] = {"cluster",           "cluster_listen",  "cluster_name", "no_advertise",
                                        "cluster_advertise", "connect_retries", "profile",      "help_tls"};

}  // namespace

result<command_line> parse_command_line(std::span<const std::string> arguments) {
  command_line out;
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    const std::string& argument = arguments[at];
    if (argument.size() < 2 || argument[0] != '-') {
      if (argument == "version")
        out.what = command_line::action::show_version;
      else if (argument == "help")
        out.what = command_line::action::show_help;
      else
        return fail(errc::invalid_argument, "unrecognized command: \"" + argument + "\"");
      continue;
    }
    std::string name = argument.substr(argument[1] == '-' ? 2 : 1);
    if (name.empty() || name[0] == '-' || name[0] == '=')
      return fail(errc::invalid_argument, "bad flag syntax: " + argument);
    std::optional<std::string> value;
    if (const std::size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    }
    if (name == "routes")
      return fail(errc::invalid_options, "solicited routes require cluster capabilities, e.g. --cluster");
    if (std::ranges::find(refused, name) != std::end(refused))
      return fail(errc::invalid_options, "flag -" + name + " is not supported by this version of ternd");
    const auto found = std::ranges::find_if(
        flags(), [&name](const flag& one) { return std::ranges::find(one.names, name) != one.names.end(); });
    if (found == flags().end()) return fail(errc::invalid_argument, "flag provided but not defined: -" + name);
    if (!value && found->is_boolean) value = "true";
    if (!value) {
      if (at + 1 == arguments.size()) return fail(errc::invalid_argument, "flag needs an argument: -" + name);
      value = arguments[++at];
    }
    if (!found->take(out, *value)) {
      return fail(errc::invalid_argument, "invalid " + std::string(found->is_boolean ? "boolean value" : "value") +
                                              " \"" + *value + "\" for " + (found->is_boolean ? "" : "flag ") + "-" +
                                              name + ": parse error");
    }
  }
  return out;
}

std::string usage_text(const std::string& program) {
  return "\nUsage: " + program + R"( [options]

Server options:
    -a, --addr, --net <host>         Bind to host address (default: 0.0.0.0)
    -p, --port <port>                Use port for clients, -1 for a free one (default: 4222)
    -n, --name, --server_name <name> Server name (default: the server id)
    -P, --pid <file>                 File to store the process id
    -m, --http_port <port>           Use port for http monitoring
    -c, --config <file>              Configuration file
    -t, --check-config               Test configuration and exit
        --explain <option>           Tell about an option of the configuration file and exit
    -sl,--signal <signal>[=<pid>]    Send a signal to a running server (ldm, stop, quit, term, reopen, reload);
                                     <pid> is a process id or the path of a pid file
        --client_advertise <host:port>  What clients are told as the server's address
        --ports_file_dir <dir>       Write a ports file into this directory (<program>_<pid>.ports)

TLS options:
        --tls                        Enable TLS (needs a certificate and a key)
        --tlscert <file>             Server certificate file
        --tlskey <file>              Private key of the server certificate
        --tlsverify                  Demand client certificates
        --tlscacert <file>           Issuers of client certificates
    -ms,--https_port <port>          Use port for https monitoring

Logging options:
    -l, --log <file>                 File to redirect log output
    -s, --syslog                     Log to the system's log
    -r, --remote_syslog <url>        Log to a syslog server (udp://localhost:514)
    -T, --logtime                    Timestamp log entries (default: true)
        --logtime_utc                Timestamps in UTC instead of local time
    -D, --debug                      Debugging output
    -V, --trace                      Trace the protocol
    -VV                              Trace, also what the server's own clients do
    -DV, -DVV                        Debug and trace
        --log_size_limit <bytes>     Size at which the log file is rotated
        --max_traced_msg_len <len>   Longest traced payload (default: unlimited)

JetStream options:
    -js, --jetstream                 Enable JetStream
    -sd, --store_dir <dir>           Set the storage directory

Common options:
    -h, --help                       Show this message
    -v, --version                    Show version
)";
}

}  // namespace tern::server
