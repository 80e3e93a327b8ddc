// What a client reads from a server (core 2): INFO, MSG, HMSG, PING, PONG, +OK and -ERR; incremental, total, and without
// copies where a whole operation stands in the piece of input.
//
// The handler is any class with these members, called in the order of the operations; each returns a verdict:
//
//     verdict on_info(std::string_view json);
//     verdict on_message(const message_frame& message);
//     verdict on_ping();  verdict on_pong();  verdict on_ok();
//     verdict on_error(std::string_view text);   // without the quotes
//
// One connection owns a parser; same thread. Invariants as those of server_parser.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "protocol/operation_state.hpp"
#include "protocol/parse_outcome.hpp"

namespace tern::protocol {

// A server's INFO may list many servers; nothing it sends has a longer line.
inline constexpr std::size_t server_line_max = 1024 * 1024;

class client_parser {
 public:
  template <class Handler>
  parse_outcome consume(std::string_view bytes, Handler& handler);

  std::size_t taken() const { return taken_; }
  const parse_fault& fault() const { return fault_; }
  bool at_operation_start() const { return state_ == operation_state::start; }

 private:
  std::size_t taken_ = 0;
  operation_state state_ = operation_state::start;
  std::string argument_;
  std::string body_;
  message_head head_;
  parse_fault fault_;
};

}  // namespace tern::protocol
