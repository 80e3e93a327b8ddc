// The one place that knows Beast's zlib.
#include "protocol/websocket/message_compression.hpp"

#include <boost/beast/zlib/deflate_stream.hpp>
#include <boost/beast/zlib/inflate_stream.hpp>

#include <array>
#include <utility>

namespace tern::protocol {
namespace {

namespace zlib = boost::beast::zlib;

constexpr int window_bits = 15;
constexpr int memory_level = 8;
constexpr int fastest = 1;
// Every compressed message ends with these, which do not travel (RFC 7692 7.2.1).
constexpr std::string_view tail("\x00\x00\xff\xff", 4);

}  // namespace

void append_deflated(std::string& out, std::span<const std::string_view> pieces) {
  // A quarter of a megabyte: one for each thread.
  thread_local const auto stream = std::make_unique<zlib::deflate_stream>();
  stream->reset(fastest, window_bits, memory_level, zlib::Strategy::normal);
  const std::size_t begin = out.size();
  std::array<char, 16 << 10> block;
  const auto run = [&](std::string_view piece, zlib::Flush how) {
    zlib::z_params parameters;
    parameters.next_in = piece.data();
    parameters.avail_in = piece.size();
    boost::system::error_code status;
    do {
      parameters.next_out = block.data();
      parameters.avail_out = block.size();
      stream->write(parameters, how, status);
      out.append(block.data(), block.size() - parameters.avail_out);
    } while (!status && parameters.avail_out == 0);
  };
  for (const std::string_view piece : pieces)
    if (!piece.empty()) run(piece, zlib::Flush::none);
  run({}, zlib::Flush::sync);
  if (out.size() - begin >= tail.size() && out.ends_with(tail)) out.resize(out.size() - tail.size());
}

struct message_inflater::state {
  zlib::inflate_stream stream;
};

message_inflater::message_inflater() : state_(std::make_unique<state>()) { state_->stream.reset(window_bits); }
message_inflater::~message_inflater() = default;

message_inflater::progress message_inflater::inflate(std::string_view from, std::span<char> to) {
  zlib::z_params parameters;
  parameters.next_in = from.data();
  parameters.avail_in = from.size();
  parameters.next_out = to.data();
  parameters.avail_out = to.size();
  boost::system::error_code status;
  state_->stream.write(parameters, zlib::Flush::sync, status);
  progress out{.consumed = from.size() - parameters.avail_in, .produced = to.size() - parameters.avail_out};
  // A final block before the end of the message is allowed; what follows it starts anew.
  if (status == zlib::error::end_of_stream)
    state_->stream.reset(window_bits);
  else if (status && status != zlib::error::need_buffers)
    out.failed = true;
  return out;
}

message_inflater::progress message_inflater::finish(std::span<char> to) {
  progress out = inflate(tail.substr(tail_given_), to);
  tail_given_ += out.consumed;
  return out;
}

}  // namespace tern::protocol
