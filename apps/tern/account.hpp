// account info, and the round trip to the server.
#pragma once

#include "session.hpp"

#include <cstdint>
#include <string>

namespace tern::command {

result<void> show_account(session& in);
// `times` round trips of PING and PONG.
result<void> measure_round_trip(session& in, std::uint64_t times);

}  // namespace tern::command
