#include "server/transport/proxy_header.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tern::server {
namespace {

using state = proxy_header::state;

std::string version_2(std::string_view head, std::string_view rest) {
  return std::string("\r\n\r\n\0\r\nQUIT\n", 12).append(head).append(rest);
}

TEST(proxy_header, version_1_names_the_client_core_1_7) {
  const auto read = read_proxy_header("PROXY TCP4 10.1.2.3 10.0.0.1 5555 4222\r\nPING\r\n");
  ASSERT_EQ(read.what, state::present);
  EXPECT_EQ(read.size, 40u);
  EXPECT_EQ(read.client->text(), "10.1.2.3:5555");
  EXPECT_EQ(read_proxy_header("PROXY TCP6 ::1 ::2 1 2\r\n").client->text(), "[::1]:1");
  EXPECT_FALSE(read_proxy_header("PROXY UNKNOWN\r\n").client);
  EXPECT_FALSE(read_proxy_header("PROXY UNKNOWN ff 1 2 3 4 5 6\r\n").client);
}

TEST(proxy_header, version_2_names_the_client_core_1_7) {
  const std::string addresses("\x0a\x01\x02\x03\x0a\x00\x00\x01\x15\xb3\x10\x7e", 12);
  const auto read = read_proxy_header(version_2(std::string_view("\x21\x11\x00\x0c", 4), addresses + "PING\r\n"));
  ASSERT_EQ(read.what, state::present);
  EXPECT_EQ(read.size, 28u);
  EXPECT_EQ(read.client->text(), "10.1.2.3:5555");
  const auto local = read_proxy_header(version_2(std::string_view("\x20\x00\x00\x00", 4), ""));
  EXPECT_EQ(local.what, state::present);
  EXPECT_FALSE(local.client);
  // Further values behind the addresses are passed over.
  const auto more = read_proxy_header(version_2(std::string_view("\x21\x11\x00\x10", 4), addresses + "abcd"));
  EXPECT_EQ(more.size, 32u);
}

TEST(proxy_header, every_beginning_of_one_is_incomplete) {
  const std::string one = "PROXY TCP4 10.1.2.3 10.0.0.1 5555 4222\r\n";
  const std::string two = version_2(std::string_view("\x21\x11\x00\x0c", 4), std::string(12, 'a'));
  for (const std::string& whole : {one, two})
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_EQ(read_proxy_header(whole.substr(0, size)).what, state::incomplete) << size;
}

TEST(proxy_header, other_bytes_are_none) {
  for (const char* text : {"CONNECT {}\r\n", "PING\r\n", "PUB a 1\r\n", "\r\nPING\r\n", "\x16\x03\x01"})
    EXPECT_EQ(read_proxy_header(text).what, state::absent) << text;
}

TEST(proxy_header, broken_ones_are_malformed) {
  for (const std::string& text :
       {std::string("PROXY TCP4 1.2.3 x\r\n"), std::string("PROXY TCP4 10.1.2.3 10.0.0.1 5555 4222 extra\r\n"),
        std::string("PROXY TCP4 10.1.2.3 10.0.0.1 5555 4222\nPING\r\n"), std::string("PROXY FOO a b 1 2\r\n"),
        "PROXY " + std::string(200, 'a'), std::string("PROXY TCP4 10.1.2.3 10.0.0.1 70000 1\r\n"),
        version_2(std::string_view("\x31\x11\x00\x0c", 4), std::string(12, 'a')),
        version_2(std::string_view("\x22\x11\x00\x04", 4), "aaaa"),
        version_2(std::string_view("\x21\x11\x00\x04", 4), "aaaa"),
        version_2(std::string_view("\x21\x31\x00\x0c", 4), std::string(12, 'a')),
        version_2(std::string_view("\x21\x11\xff\xff", 4), "")})
    EXPECT_EQ(read_proxy_header(text).what, state::malformed) << text;
}

}  // namespace
}  // namespace tern::server
