// What parsing a piece of input led to, and the records that both parsers hand out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tern::protocol {

enum class parse_outcome : std::uint8_t {
  more,     // all input is taken, the next piece may come
  paused,   // a handler asked for a pause: taken() bytes are consumed, give the rest again later
  stopped,  // a handler asked to stop; it knows why
  // The peer broke the protocol; the connection must be closed (core 2):
  unknown_operation,      // -ERR 'Unknown Protocol Operation', Protocol Violation
  bad_argument,           // no -ERR, Protocol Violation
  control_line_too_long,  // -ERR 'maximum control line exceeded', Maximum Control Line Exceeded
  payload_too_large,      // -ERR 'Maximum Payload Violation', Maximum Message Payload Exceeded
};

// What a handler says to each event.
enum class verdict : std::uint8_t {
  go_on,
  pause,  // after this operation; not allowed from on_publish_start
  stop,
  bad_argument,       // ends parsing with the outcome of this name
  payload_too_large,  // likewise
};

// Fields of the log line about a broken protocol.
struct parse_fault {
  int state = 0;         // the peer's number of the parser state
  std::size_t at = 0;    // offset in the piece of input
  std::string snippet;   // the input from there, at most 32 bytes
  std::string argument;  // of a bad argument: the operation and what followed it

  // `Client parser ERROR, state=N, i=N: proto='"..."...'`, with `kind` "Client".
  std::string log_line(std::string_view kind) const;
};

// The control line of a PUB, HPUB, MSG or HMSG.
struct message_head {
  std::string_view line;  // the arguments as they were sent; a server's parser only
  std::string_view subject;
  std::string_view sid;  // messages only
  std::string_view reply;
  std::size_t header_size = 0;
  std::size_t total_size = 0;  // header included
  bool with_header = false;    // HPUB or HMSG, also when header_size is 0
};

// A whole message. All views hold until the handler returns.
struct message_frame : message_head {
  std::string_view body;  // header and payload; the two bytes behind it in memory are CR LF
  // Set when the body came in pieces: owns the body and its CR LF. The handler may move it away.
  std::string* buffer = nullptr;

  std::string_view header() const { return body.substr(0, header_size); }
  std::string_view payload() const { return body.substr(header_size); }
  std::string_view body_and_crlf() const { return {body.data(), body.size() + 2}; }
};

}  // namespace tern::protocol
