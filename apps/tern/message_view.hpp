// How a received message is shown: as `nats sub` prints it, its bytes alone, or one JSON object a line.
#pragma once

#include <tern/client/message.hpp>

#include <cstdint>
#include <string>

namespace tern::command {

enum class message_style {
  full,          // headline, headers, payload
  headers_only,  // headline, headers
  raw,           // the payload and an end of line
  json
};

// `number` counts what was received, from 1.
std::string describe_message(const client::message& message, std::uint64_t number, message_style style);
// "A: b" lines; nothing without headers.
std::string describe_headers(const client::message& message);
// {"subject":...,"reply":...,"headers":{"A":["b"]},"payload":"text"}; a payload that is no UTF-8 is "payload_base64". A
// message of a stream has its place there too.
std::string message_as_json(const client::message& message);
bool is_utf8(std::string_view text);

}  // namespace tern::command
