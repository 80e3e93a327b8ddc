/// One received message: subject, reply subject, headers and payload in a single block of memory.
///
///     auto subscription = connection.subscribe("orders.*", [](message&& order) {
///       std::cout << order.subject() << ": " << order.payload() << '\n';
///     });
///
/// All views live as long as the message stays where it is: they end when it is moved or destroyed. Headers are parsed
/// only when asked for. Thread safety: a plain value. Source: core 2.3, jetstream 14, service 4.4.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <tern/base/time.hpp>
#include <tern/client/headers.hpp>

namespace tern::client {

/// What the ack subject of a JetStream delivery tells about it. Views into the message.
struct jetstream_metadata {
  std::string_view domain;  ///< empty without one
  std::string_view stream;
  std::string_view consumer;
  std::uint64_t delivered = 0;  ///< 1 on the first delivery
  std::uint64_t stream_sequence = 0;
  std::uint64_t consumer_sequence = 0;
  time_point timestamp{};     ///< when the stream stored it
  std::uint64_t pending = 0;  ///< messages behind it that wait for this consumer
};

class message {
 public:
  message() = default;
  message(const message&) = default;
  message& operator=(const message&) = default;
  /// The one moved from is empty.
  message(message&& other) noexcept { swap(other); }
  message& operator=(message&& other) noexcept {
    message taken(std::move(other));
    swap(taken);
    return *this;
  }
  message(std::string_view subject, std::string_view reply, std::string_view payload) {
    assign(subject, reply, {}, payload);
  }

  std::string_view subject() const { return part(0, subject_size_); }
  std::string_view reply() const { return part(subject_size_, reply_size_); }  ///< empty: no answer is wanted
  std::string_view payload() const {
    const std::size_t before = std::size_t{subject_size_} + reply_size_ + headers_size_;
    return part(before, bytes_.size() - before);
  }

  bool has_headers() const { return headers_size_ != 0; }
  /// The first value of that header; the name is compared exactly.
  std::optional<std::string_view> header(std::string_view name) const;
  /// All of them, parsed now. A block that does not parse has none.
  client::headers headers() const;
  /// The header block as it came: `NATS/1.0\r\n...\r\n\r\n`, or nothing.
  std::string_view header_block() const { return part(std::size_t{subject_size_} + reply_size_, headers_size_); }

  /// The number of a status message (`NATS/1.0 503`), else 0; and the words behind it.
  int status() const;
  std::string_view status_text() const;

  /// Where the message stands in its stream, read from the reply subject; nothing for a message without a stream.
  std::optional<jetstream_metadata> jetstream() const;

  /// Takes other bytes and keeps the memory. `header_block` is a whole block or empty.
  void assign(std::string_view subject, std::string_view reply, std::string_view header_block,
              std::string_view payload);

 private:
  void swap(message& other) noexcept {
    bytes_.swap(other.bytes_);
    std::swap(subject_size_, other.subject_size_);
    std::swap(reply_size_, other.reply_size_);
    std::swap(headers_size_, other.headers_size_);
  }
  std::string_view part(std::size_t from, std::size_t size) const {
    return std::string_view(bytes_).substr(from, size);
  }

  std::string bytes_;  // subject, reply, header block, payload
  std::uint32_t subject_size_ = 0;
  std::uint32_t reply_size_ = 0;
  std::uint32_t headers_size_ = 0;
};

}  // namespace tern::client
