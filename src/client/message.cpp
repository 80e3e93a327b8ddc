#include <tern/client/message.hpp>

#include "protocol/ack_subject.hpp"
#include "protocol/headers.hpp"

namespace tern::client {

std::optional<std::string_view> message::header(std::string_view name) const {
  if (headers_size_ == 0) return std::nullopt;
  return protocol::header_view(header_block()).get(name);
}

client::headers message::headers() const {
  client::headers parsed;
  if (headers_size_ == 0) return parsed;
  for (const auto& [name, value] : protocol::header_view(header_block())) parsed.add(name, value);
  return parsed;
}

int message::status() const { return headers_size_ == 0 ? 0 : protocol::header_view(header_block()).status(); }

std::string_view message::status_text() const {
  return headers_size_ == 0 ? std::string_view() : protocol::header_view(header_block()).description();
}

std::optional<jetstream_metadata> message::jetstream() const {
  const auto parsed = protocol::parse_ack_subject(reply());
  if (!parsed) return std::nullopt;
  return jetstream_metadata{.domain = parsed->domain,
                            .stream = parsed->stream,
                            .consumer = parsed->consumer,
                            .delivered = parsed->delivered,
                            .stream_sequence = parsed->stream_sequence,
                            .consumer_sequence = parsed->consumer_sequence,
                            .timestamp = parsed->timestamp,
                            .pending = parsed->pending};
}

void message::assign(std::string_view subject, std::string_view reply, std::string_view header_block,
                     std::string_view payload) {
  const std::size_t size = subject.size() + reply.size() + header_block.size() + payload.size();
  bytes_.resize_and_overwrite(size, [&](char* out, std::size_t) {
    out = std::copy(subject.begin(), subject.end(), out);
    out = std::copy(reply.begin(), reply.end(), out);
    out = std::copy(header_block.begin(), header_block.end(), out);
    std::copy(payload.begin(), payload.end(), out);
    return size;
  });
  subject_size_ = static_cast<std::uint32_t>(subject.size());
  reply_size_ = static_cast<std::uint32_t>(reply.size());
  headers_size_ = static_cast<std::uint32_t>(header_block.size());
}

}  // namespace tern::client
