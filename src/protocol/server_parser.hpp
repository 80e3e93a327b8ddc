// What a server reads from a client (core 2): incremental, total, and without copies where a whole operation stands in
// the piece of input.
//
//     parse_outcome outcome = parser.consume(bytes, connection);
//
// The handler is any class with these members, called in the order of the operations; each returns a verdict:
//
//     verdict on_connect(std::string_view json);
//     verdict on_publish_start(const message_head& head);   // the control line is read, the payload is not: limits,
//                                                           // HPUB without negotiated headers, pedantic check
//     verdict on_publish(const message_frame& message);
//     verdict on_subscribe(std::string_view subject, std::string_view queue, std::string_view sid);
//     verdict on_unsubscribe(std::string_view sid, std::uint64_t max);   // 0: at once (also for a max that is no number)
//     verdict on_ping();  verdict on_pong();  verdict on_ok();
//     verdict on_error(std::string_view text);              // a client's -ERR closes with Parse Error
//     verdict on_info(std::string_view json);
//     bool on_gated_operation(char first);                  // see close_gate(); false ends with `stopped`
//
// One connection owns a parser; same thread. Invariants: between two calls the state is that of the bytes so far, however
// they were cut; the argument buffer holds at most max_control_line + 1 bytes and the payload buffer at most what
// on_publish_start accepted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "protocol/operation_state.hpp"
#include "protocol/parse_outcome.hpp"

namespace tern::protocol {

inline constexpr std::size_t max_control_line_default = 4096;

class server_parser {
 public:
  explicit server_parser(std::size_t max_control_line = max_control_line_default)
      : max_control_line_(max_control_line) {}

  template <class Handler>
  parse_outcome consume(std::string_view bytes, Handler& handler);

  // Bytes of the last input that were consumed, when the outcome is not `more`.
  std::size_t taken() const { return taken_; }
  // Why the last outcome is an error.
  const parse_fault& fault() const { return fault_; }

  // While the gate is closed, each operation that does not begin with C or c is first shown to the handler (core 1.3:
  // authentication is required and CONNECT has not come). New parsers have it open.
  void close_gate() { gate_closed_ = true; }
  void open_gate() { gate_closed_ = false; }
  bool gate_closed() const { return gate_closed_; }

  void set_max_control_line(std::size_t bytes) { max_control_line_ = bytes; }
  // Nothing of an operation has been read.
  bool at_operation_start() const { return state_ == operation_state::start; }
  // Memory held, for accounting.
  std::size_t buffered() const { return argument_.capacity() + body_.capacity(); }

 private:
  std::size_t max_control_line_;
  std::size_t taken_ = 0;
  operation_state state_ = operation_state::start;
  bool gate_closed_ = false;
  std::string argument_;  // of an incomplete line, then what head_ points to
  std::string body_;
  message_head head_;     // while the body comes in
  parse_fault fault_;
};

}  // namespace tern::protocol
