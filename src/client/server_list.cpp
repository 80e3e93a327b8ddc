#include "client/server_list.hpp"

#include <algorithm>

#include "base/numbers.hpp"

namespace tern::client {
namespace {

constexpr std::uint16_t default_port = 4222;

std::uint16_t default_port_of(server_scheme scheme) {
  return scheme == server_scheme::ws ? 80 : scheme == server_scheme::wss ? 443 : default_port;
}

bool is_websocket(server_scheme scheme) { return scheme == server_scheme::ws || scheme == server_scheme::wss; }

int hex_digit(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

// %XX in credentials stands for the byte; a stray percent sign stands for itself.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

result<std::uint16_t> parse_port(std::string_view text, std::string_view url) {
  const auto number = parse_decimal(text);
  if (!number || *number == 0 || *number > 65'535) {
    return fail(errc::invalid_options, "server URL '" + std::string(url) + "': port must be 1 to 65535");
  }
  return static_cast<std::uint16_t>(*number);
}

// `host`, `host:port`, `[v6]`, `[v6]:port`.
result<runtime::endpoint> parse_host_port(std::string_view text, std::string_view url, server_scheme scheme) {
  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) {
      return fail(errc::invalid_options, "server URL '" + std::string(url) + "': missing ']'");
    }
    host = text.substr(1, close - 1);
    const auto rest = text.substr(close + 1);
    if (!rest.empty() && !rest.starts_with(':')) {
      return fail(errc::invalid_options, "server URL '" + std::string(url) + "': unexpected text after ']'");
    }
    if (!rest.empty()) port = rest.substr(1);
  } else if (const auto colon = text.rfind(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  if (host.empty()) return fail(errc::invalid_options, "server URL '" + std::string(url) + "': no host");
  runtime::endpoint at{.host = std::string(host), .port = default_port_of(scheme)};
  if (!port.empty()) {
    auto number = parse_port(port, url);
    if (!number) return std::unexpected(std::move(number).error());
    at.port = *number;
  }
  return at;
}

}  // namespace

result<server_address> parse_server_url(std::string_view url) {
  std::string_view rest = url;
  server_address address;
  if (const auto scheme_end = rest.find("://"); scheme_end != std::string_view::npos) {
    const auto scheme = rest.substr(0, scheme_end);
    rest.remove_prefix(scheme_end + 3);
    if (scheme == "inproc") {
      if (rest.empty()) return fail(errc::invalid_options, "server URL '" + std::string(url) + "': no name");
      address.at.host = std::string(rest);
      address.at.in_process = true;
      return address;
    }
    if (scheme == "unix") {
      if (!rest.starts_with('/')) return fail(errc::invalid_options, "server URL '" + std::string(url) + "': no path");
      address.at.host = std::string(rest);
      address.at.unix_socket = true;
      return address;
    }
    if (scheme == "tls") {
      address.scheme = server_scheme::tls;
    } else if (scheme == "ws") {
      address.scheme = server_scheme::ws;
    } else if (scheme == "wss") {
      address.scheme = server_scheme::wss;
    } else if (scheme != "nats" && scheme != "tcp") {
      return fail(errc::invalid_options, "server URL '" + std::string(url) + "': unknown scheme",
                  "use nats://host:port");
    }
  }
  if (const auto slash = rest.find('/'); is_websocket(address.scheme) && slash != std::string_view::npos) {
    address.path = rest.substr(slash);
    if (address.path.find_first_of(" \r\n") != std::string::npos) {
      return fail(errc::invalid_options, "server URL '" + std::string(url) + "': blanks in the path");
    }
    rest = rest.substr(0, slash);
  }
  while (rest.ends_with('/')) rest.remove_suffix(1);
  if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
    const auto credentials = rest.substr(0, at);
    rest.remove_prefix(at + 1);
    if (const auto colon = credentials.find(':'); colon != std::string_view::npos) {
      address.user = unescaped(credentials.substr(0, colon));
      address.password = unescaped(credentials.substr(colon + 1));
    } else {
      address.token = unescaped(credentials);
    }
  }
  auto endpoint = parse_host_port(rest, url, address.scheme);
  if (!endpoint) return std::unexpected(std::move(endpoint).error());
  address.at = *std::move(endpoint);
  return address;
}

result<server_list> server_list::make(const options::values& with, runtime::random& randomness) {
  if (with.urls.empty()) return fail(errc::invalid_options, "no server URL");
  server_list list;
  list.first_ = with.reconnect_first;
  list.longest_ = with.reconnect_longest;
  list.jitter_ = std::clamp(with.reconnect_jitter, 0.0, 1.0);
  for (const auto& url : with.urls) {
    auto address = parse_server_url(url);
    if (!address) return std::unexpected(std::move(address).error());
    if (address->user.empty() && address->token.empty()) {
      address->user = with.user;
      address->password = with.password;
      address->token = with.token;
    }
    list.servers_.push_back(*std::move(address));
  }
  list.defaults_ = list.servers_.front();
  if (!with.keep_server_order) {
    for (std::size_t i = list.servers_.size(); i > 2; --i) {  // the first one stays
      std::swap(list.servers_[i - 1], list.servers_[1 + randomness.next() % (i - 1)]);
    }
  }
  return list;
}

bool server_list::advance() {
  at_ = (at_ + 1) % servers_.size();
  if (++tried_ < servers_.size()) return false;
  tried_ = 0;
  ++rounds_;
  return true;
}

void server_list::connected() {
  tried_ = 0;
  rounds_ = 0;
}

void server_list::discovered(const std::vector<std::string>& connect_urls) {
  const server_address now = current();
  std::vector<server_address> told;
  for (const auto& url : connect_urls) {
    auto address = parse_server_url(url);
    if (!address) continue;
    address->scheme = now.scheme;  // servers tell others of the kind that they are asked as
    address->path = now.path;
    address->user = defaults_.user;
    address->password = defaults_.password;
    address->token = defaults_.token;
    address->discovered = true;
    told.push_back(*std::move(address));
  }
  const auto same_place = [](const server_address& a, const server_address& b) { return a.text() == b.text(); };
  const auto is_told = [&](const server_address& one) {
    return std::ranges::any_of(told, [&](const auto& other) { return same_place(one, other); });
  };
  std::erase_if(servers_, [&](const auto& one) { return one.discovered && !is_told(one) && !same_place(one, now); });
  for (auto& one : told) {
    if (std::ranges::none_of(servers_, [&](const auto& known) { return same_place(known, one); })) {
      servers_.push_back(std::move(one));
    }
  }
  const auto place = std::ranges::find_if(servers_, [&](const auto& one) { return same_place(one, now); });
  at_ = place == servers_.end() ? 0 : static_cast<std::size_t>(place - servers_.begin());
}

nanoseconds server_list::pause(runtime::random& randomness) const {
  nanoseconds pause = first_;
  for (std::uint64_t i = 0; i < rounds_ && pause < longest_; ++i) pause *= 2;
  pause = std::min(pause, longest_);
  // 53 random bits as a number in [-1, 1).
  const double spread = static_cast<double>(randomness.next() >> 11) * 0x1.0p-52 - 1.0;
  return nanoseconds(static_cast<std::int64_t>(static_cast<double>(pause.count()) * (1.0 + jitter_ * spread)));
}

}  // namespace tern::client
