#include "server/transport/proxy_header.hpp"

#include "base/numbers.hpp"
#include "runtime/address.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace tern::server {
namespace {

constexpr std::string_view signature_1 = "PROXY ";
constexpr std::string_view signature_2("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr std::size_t line_max = 107;  // of version 1, with its end
constexpr std::size_t head_2 = 16;

proxy_header malformed(std::string why) { return {.what = proxy_header::state::malformed, .problem = std::move(why)}; }

std::optional<std::uint16_t> port_of(std::string_view text) {
  const auto number = parse_signed_decimal(text);
  if (!number || *number < 0 || *number > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(*number);
}

proxy_header read_version_1(std::string_view bytes) {
  const std::size_t end = bytes.substr(0, line_max).find('\n');
  if (end == std::string_view::npos) {
    if (bytes.size() >= line_max) return malformed("PROXY v1 line too long");
    return {.what = proxy_header::state::incomplete};
  }
  if (bytes[end - 1] != '\r') return malformed("PROXY v1 line not ended by CRLF");
  std::string_view line = bytes.substr(signature_1.size(), end - 1 - signature_1.size());
  proxy_header out{.what = proxy_header::state::present, .size = end + 1};
  std::array<std::string_view, 6> words;
  std::size_t count = 0;
  while (!line.empty() && count < words.size()) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    words[count++] = line.substr(0, blank);
    line.remove_prefix(std::min(line.size(), blank + 1));
  }
  if (count > 0 && words[0] == "UNKNOWN") return out;
  if (count != 5) return malformed("PROXY v1 line with the wrong number of parts");
  using runtime::address_kind;
  const address_kind kind = words[0] == "TCP4"   ? address_kind::v4
                            : words[0] == "TCP6" ? address_kind::v6
                                                 : address_kind::none;
  if (kind == address_kind::none) return malformed("PROXY v1 with an unknown protocol");
  const std::string source(words[1]), target(words[2]);
  const auto source_port = port_of(words[3]), target_port = port_of(words[4]);
  if (runtime::kind_of_address(source) != kind || runtime::kind_of_address(target) != kind)
    return malformed("PROXY v1 with a bad address");
  if (!source_port || !target_port) return malformed("PROXY v1 with a bad port");
  out.client = runtime::endpoint{.host = source, .port = *source_port};
  return out;
}

std::uint16_t number_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[at]) << 8 |
                                    static_cast<unsigned char>(bytes[at + 1]));
}

proxy_header read_version_2(std::string_view bytes) {
  if (bytes.size() < head_2) return {.what = proxy_header::state::incomplete};
  const auto version_and_command = static_cast<unsigned char>(bytes[12]);
  const auto family = static_cast<unsigned char>(bytes[13]);
  const std::size_t length = number_at(bytes, 14);
  if (version_and_command >> 4 != 2) return malformed("PROXY v2 with an unknown version");
  const int command = version_and_command & 15;
  if (command > 1) return malformed("PROXY v2 with an unknown command");
  if (head_2 + length > proxy_header_bytes_max) return malformed("PROXY v2 header too long");
  const int transport = family & 15;
  const int network = family >> 4;
  const bool local = command == 0;
  if (!local && (network > 2 || (network != 0 && transport != 1)))
    return malformed("PROXY v2 with an unsupported address family");
  const std::size_t address = network == 1 ? 4 : 16;
  if (!local && network != 0 && length < 2 * address + 4) return malformed("PROXY v2 with too short addresses");
  if (bytes.size() < head_2 + length) return {.what = proxy_header::state::incomplete};
  proxy_header out{.what = proxy_header::state::present, .size = head_2 + length};
  if (local || network == 0) return out;
  out.client = runtime::endpoint{.host = runtime::address_text(bytes.substr(head_2, address)),
                                 .port = number_at(bytes, head_2 + 2 * address)};
  return out;
}

bool begins(std::string_view bytes, std::string_view signature) {
  return bytes.substr(0, signature.size()) == signature.substr(0, std::min(bytes.size(), signature.size()));
}

}  // namespace

proxy_header read_proxy_header(std::string_view bytes) {
  if (bytes.empty()) return {.what = proxy_header::state::incomplete};
  for (const auto& [signature, read] :
       {std::pair(signature_1, &read_version_1), std::pair(signature_2, &read_version_2)}) {
    if (!begins(bytes, signature)) continue;
    return bytes.size() < signature.size() ? proxy_header{.what = proxy_header::state::incomplete} : read(bytes);
  }
  return {};
}

}  // namespace tern::server
