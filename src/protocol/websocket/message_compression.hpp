// permessage-deflate (RFC 7692) without context from message to message, as the peer speaks it. Compression states are
// large and live only as long as a message.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tern::protocol {

// One message as the payload of a compressed frame.
void append_deflated(std::string& out, std::span<const std::string_view> pieces);

// The payload of one compressed message, which comes in pieces and leaves in pieces. One thread.
class message_inflater {
 public:
  message_inflater();
  ~message_inflater();

  struct progress {
    std::size_t consumed = 0, produced = 0;
    bool failed = false;  // no deflate stream
  };
  // Until the input is used up or the output is full.
  progress inflate(std::string_view from, std::span<char> to);
  // Behind the last piece, until it produces less than there was room for.
  progress finish(std::span<char> to);

 private:
  struct state;
  std::unique_ptr<state> state_;
  std::size_t tail_given_ = 0;
};

}  // namespace tern::protocol
