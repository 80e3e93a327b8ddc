#include "server/system/service_reply.hpp"

#include "base/ascii.hpp"
#include "protocol/headers.hpp"
#include "protocol/info.hpp"
#include "server/server.hpp"

#include <snappy.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace tern::server {
namespace {

constexpr std::size_t snappy_piece_max = 64 << 10;  // of the framing format

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t value = ~std::uint32_t{0};
  for (const char byte : bytes) {
    value ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82f63b78u : 0u);
  }
  return ~value;
}

void append_little_endian(std::string& out, std::uint32_t value, int bytes) {
  for (int at = 0; at < bytes; ++at) out += static_cast<char>(value >> (8 * at));
}

// The framing format: a name, then pieces of at most 64 KiB, each with its masked CRC-32C.
std::string snappy_framed(std::string_view body) {
  std::string out("\xff\x06\x00\x00sNaPpY", 10);
  for (std::size_t at = 0; at < body.size(); at += snappy_piece_max) {
    const std::string_view piece = body.substr(at, snappy_piece_max);
    std::string compressed;
    snappy::Compress(piece.data(), piece.size(), &compressed);
    const std::uint32_t crc = crc32c(piece);
    out += '\0';  // a compressed piece
    append_little_endian(out, static_cast<std::uint32_t>(compressed.size() + 4), 3);
    append_little_endian(out, ((crc >> 15) | (crc << 17)) + 0xa282ead8u, 4);
    out += compressed;
  }
  return out;
}

std::string gzipped(std::string_view body) {
  z_stream stream{};
  constexpr int window_with_gzip_header = 15 + 16;
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, window_with_gzip_header, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return {};
  std::string out(deflateBound(&stream, body.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  stream.avail_in = static_cast<uInt>(body.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

bool holds(std::string_view text, std::string_view lower_word) {
  return std::ranges::search(text, lower_word, [](char a, char b) { return lower_case(a) == b; }).begin() != text.end();
}

}  // namespace

void append_server_info(json_builder& out, std::string_view key, server& from, std::uint64_t sequence) {
  // JetStream, snapshots in binary form, accounts of a cluster's log: what the peer shows with JetStream.
  constexpr int flags_with_jetstream = 7;
  const options& settings = from.settings();
  const bool jetstream = from.jetstream_services() != nullptr;
  out.begin_object(key).field("name", from.name()).field("host", settings.host).field("id", from.id());
  out.field_unless_empty("domain", settings.jetstream.domain).field("ver", protocol::compatible_version);
  if (!settings.tags.empty()) {
    out.begin_array("tags");
    for (const std::string& tag : settings.tags) out.element(tag);
    out.end_array();
  }
  if (!settings.metadata.empty()) {
    out.begin_object("metadata");
    for (const auto& [name, value] : settings.metadata) out.field(name, value);
    out.end_object();
  }
  out.begin_object("feature_flags");
  for (const auto& [flag, on] : feature_flags_of(settings)) out.field(flag, on);
  out.end_object();
  out.field("jetstream", jetstream).field("flags", jetstream ? flags_with_jetstream : 0);
  out.field("seq", sequence).field("time", from.loop().now()).end_object();
}

packing packing_for(std::string_view request_headers) {
  if (request_headers.empty()) return packing::none;
  const auto asked = protocol::header_view(request_headers).get("Accept-Encoding");
  if (!asked || asked->empty()) return packing::none;
  if (holds(*asked, "snappy") || holds(*asked, "s2")) return packing::snappy;
  if (holds(*asked, "gzip")) return packing::gzip;
  return packing::identity;
}

std::string packed(std::string_view body, packing how) {
  switch (how) {
    case packing::snappy:
      return snappy_framed(body);
    case packing::gzip:
      return gzipped(body);
    case packing::none:
    case packing::identity:
      break;
  }
  return std::string(body);
}

std::string_view packing_headers(packing how) {
  switch (how) {
    case packing::snappy:
      return "NATS/1.0\r\nContent-Encoding: snappy\r\n\r\n";
    case packing::gzip:
      return "NATS/1.0\r\nContent-Encoding: gzip\r\n\r\n";
    case packing::identity:
      return "NATS/1.0\r\nContent-Encoding: identity\r\n\r\n";
    case packing::none:
      break;
  }
  return {};
}

}  // namespace tern::server
