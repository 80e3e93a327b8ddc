#include "message_view.hpp"

#include <tern/codec/json.hpp>

#include <map>
#include <optional>
#include <vector>

namespace tern::command {
namespace {

struct stream_place {
  std::string stream;
  std::string consumer;
  std::uint64_t stream_seq = 0;
  std::uint64_t consumer_seq = 0;
  std::uint64_t delivered = 0;
  std::uint64_t pending = 0;
  time_point time{};
};

struct message_record {
  std::string subject;
  std::optional<std::string> reply;
  std::map<std::string, std::vector<std::string>> headers;
  std::optional<std::string> payload;
  std::optional<codec::json_bytes> payload_base64;
  std::optional<stream_place> jetstream;
  static constexpr codec::member_option json_members[] = {{"headers", {.omit = codec::omit_when::empty}}};
};

std::optional<stream_place> place_of(const client::message& message) {
  const auto known = message.jetstream();
  if (!known) return std::nullopt;
  stream_place out;
  out.stream = known->stream;
  out.consumer = known->consumer;
  out.stream_seq = known->stream_sequence;
  out.consumer_seq = known->consumer_sequence;
  out.delivered = known->delivered;
  out.pending = known->pending;
  out.time = known->timestamp;
  return out;
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t more = lead < 0x80                   ? 0
                             : lead >= 0xc2 && lead < 0xe0 ? 1
                             : (lead & 0xf0) == 0xe0       ? 2
                             : lead >= 0xf0 && lead < 0xf5 ? 3
                                                           : text.size();
    if (more >= text.size() - at) return false;
    for (std::size_t next = 1; next <= more; ++next)
      if ((static_cast<unsigned char>(text[at + next]) & 0xc0) != 0x80) return false;
    const auto second = more == 0 ? 0 : static_cast<unsigned char>(text[at + 1]);
    const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
    const bool surrogate = lead == 0xed && second >= 0xa0;
    const bool too_large = lead == 0xf4 && second >= 0x90;
    if (overlong || surrogate || too_large) return false;
    at += more + 1;
  }
  return true;
}

std::string describe_headers(const client::message& message) {
  std::string out;
  for (const auto& [name, value] : message.headers()) out.append(name).append(": ").append(value).append("\n");
  return out;
}

std::string message_as_json(const client::message& message) {
  message_record out;
  out.subject = message.subject();
  if (!message.reply().empty()) out.reply = message.reply();
  for (const auto& [name, value] : message.headers()) out.headers[name].push_back(value);
  if (is_utf8(message.payload()))
    out.payload = message.payload();
  else
    out.payload_base64 = codec::json_bytes{std::string(message.payload())};
  out.jetstream = place_of(message);
  return codec::to_json(out);
}

std::string describe_message(const client::message& message, std::uint64_t number, message_style style) {
  if (style == message_style::raw) return std::string(message.payload()) + "\n";
  if (style == message_style::json) return message_as_json(message) + "\n";
  std::string out = "[#" + std::to_string(number) + "] Received on \"" + std::string(message.subject()) + "\"";
  if (const auto place = message.jetstream()) {
    out += " from stream " + std::string(place->stream) + " sequence " + std::to_string(place->stream_sequence);
  } else if (!message.reply().empty()) {
    out += " with reply \"" + std::string(message.reply()) + "\"";
  }
  out += '\n';
  if (message.has_headers()) out.append(describe_headers(message)).append("\n");
  if (style == message_style::headers_only) return out;
  if (message.payload().empty()) out += "nil body";
  return out.append(message.payload()).append("\n\n");
}

}  // namespace tern::command
