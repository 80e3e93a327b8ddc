// How answers and events of the system account look (core 6): the envelope, who the server is, and how a body is
// packed.
#pragma once

#include "server/monitoring/json_builder.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace tern::server {

class server;

// The object that names the server: its name, tags, version, a running number and the time.
void append_server_info(json_builder& out, std::string_view key, server& from, std::uint64_t sequence);

enum class packing : std::uint8_t {
  none,      // no header
  identity,  // asked for something that is not known
  snappy,
  gzip,
};
// What an `Accept-Encoding` header of the request asks for.
packing packing_for(std::string_view request_headers);
std::string packed(std::string_view body, packing how);
std::string_view packing_headers(packing how);  // a header block, or nothing

}  // namespace tern::server
