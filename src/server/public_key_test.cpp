#include "server/public_key.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tern::server {
namespace {

TEST(public_key, has_56_letters_of_base32_and_begins_with_its_kind_core_3_1) {
  std::array<unsigned char, 32> key{};
  for (std::size_t at = 0; at < key.size(); ++at) key[at] = static_cast<unsigned char>(at * 7);
  const std::string server = encode_public_key(key_prefix::server, key);
  EXPECT_EQ(server.size(), 56u);
  EXPECT_EQ(server[0], 'N');
  EXPECT_EQ(server.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"), std::string::npos);
  EXPECT_EQ(encode_public_key(key_prefix::curve, key)[0], 'X');
}

}  // namespace
}  // namespace tern::server
