#include "runtime/address.hpp"

#include <arpa/inet.h>
#include <array>

namespace tern::runtime {

address_kind kind_of_address(const std::string& text) {
  std::array<unsigned char, 16> bytes{};
  if (inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) return address_kind::v4;
  return inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1 ? address_kind::v6 : address_kind::none;
}

std::string address_text(std::string_view bytes) {
  if (bytes.size() != 4 && bytes.size() != 16) return {};
  char text[INET6_ADDRSTRLEN] = "";
  return inet_ntop(bytes.size() == 4 ? AF_INET : AF_INET6, bytes.data(), text, sizeof text) != nullptr ? text : "";
}

}  // namespace tern::runtime
