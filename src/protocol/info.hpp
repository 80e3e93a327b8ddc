// The INFO record that a server sends (core 1.1).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tern/base/error.hpp>
#include <tern/codec/reflect.hpp>

namespace tern::protocol {

// The version whose behaviour Tern has; clients gate features by comparing it.
inline constexpr std::string_view compatible_version = "2.15.1";

struct server_info {
  std::string server_id;
  std::string server_name;
  std::string version;
  int proto = 1;
  std::string git_commit;
  std::string go;
  std::string host;
  int port = 0;
  bool headers = false;
  bool auth_required = false;
  bool tls_required = false;
  bool tls_verify = false;
  bool tls_available = false;
  std::int64_t max_payload = 0;
  bool jetstream = false;
  std::string ip;
  std::uint64_t client_id = 0;
  std::string client_ip;
  std::string nonce;
  std::string cluster;
  bool cluster_dynamic = false;
  std::string domain;
  std::vector<std::string> connect_urls;
  std::vector<std::string> ws_connect_urls;
  bool ldm = false;
  bool connect_info = false;
  std::string remote_account;
  bool acc_is_sys = false;
  int api_lvl = 0;
  std::string xkey;
  // Leaf nodes only.
  bool info_on_connect = false;
  std::vector<std::string> leafnode_urls;
  std::string compression;

  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
  static constexpr codec::member_option json_members[] = {{"server_id", {}}, {"server_name", {}}, {"version", {}},
                                                          {"proto", {}},     {"go", {}},          {"host", {}},
                                                          {"port", {}},      {"headers", {}},     {"max_payload", {}}};
};

// Appends `INFO {...} CRLF`.
void append_info(std::string& out, const server_info& info);
result<server_info> read_info(std::string_view json);

}  // namespace tern::protocol
