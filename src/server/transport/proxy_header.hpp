// The PROXY protocol, versions 1 and 2: how a load balancer says whom it speaks for (core 1.7). A function of bytes.
#pragma once

#include "runtime/transport.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tern::server {

struct proxy_header {
  enum class state {
    absent,      // the bytes begin with something else
    incomplete,  // so far they may be a header
    present,
    malformed,
  };
  state what = state::absent;
  std::size_t size = 0;                     // of a header that is present
  std::optional<runtime::endpoint> client;  // not with UNKNOWN and LOCAL: the socket's own address holds
  std::string problem;                      // of a malformed one
};

// The longest header that is taken: a version 2 header may carry further values, which are passed over.
inline constexpr std::size_t proxy_header_bytes_max = 16 + 4096;

proxy_header read_proxy_header(std::string_view bytes);

}  // namespace tern::server
