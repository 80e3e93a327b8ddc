#include "protocol/websocket/upgrade.hpp"

#include <gtest/gtest.h>

namespace tern::protocol {
namespace {

using state = upgrade_parse::state;

const std::string good =
    "GET /any?x=1 HTTP/1.1\r\nHost: h:80\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nOrigin: http://h\r\n"
    "Cookie: a=b; jwt=\"x.y\"\r\nCookie: c=d=e\r\nX-Forwarded-For: 9.8.7.6, 1.1.1.1\r\n"
    "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n\r\n";

std::string without(const std::string& header) {
  std::string out = good;
  const std::size_t at = out.find(header);
  return out.erase(at, out.find("\r\n", at) + 2 - at);
}

TEST(upgrade, reads_what_a_browser_sends_core_8) {
  const auto read = parse_upgrade_request(good + "rest");
  ASSERT_EQ(read.what, state::complete);
  EXPECT_EQ(read.size, good.size());
  EXPECT_EQ(read.request.path, "/any");
  EXPECT_EQ(read.request.host, "h:80");
  EXPECT_EQ(read.request.origin, "http://h");
  EXPECT_EQ(read.request.forwarded_for, "9.8.7.6");
  EXPECT_TRUE(read.request.deflate);
  EXPECT_EQ(read.request.cookies.at("jwt"), "x.y");
  EXPECT_EQ(read.request.cookies.at("c"), "d=e");
  EXPECT_FALSE(check_upgrade_request(read.request));
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_EQ(parse_upgrade_request(good.substr(0, size)).what, state::incomplete) << size;
}

TEST(upgrade, says_what_is_missing_core_8) {
  const auto refusal = [](const std::string& bytes) {
    const auto read = parse_upgrade_request(bytes);
    EXPECT_EQ(read.what, state::complete) << bytes;
    const auto out = check_upgrade_request(read.request);
    return out ? std::to_string(out->status) + " " + out->reason : "none";
  };
  EXPECT_EQ(refusal("POST" + good.substr(3)), "405 request method must be GET");
  EXPECT_EQ(refusal(without("Upgrade: ")), "400 invalid value for header 'Upgrade'");
  EXPECT_EQ(refusal(without("Connection: ")), "400 invalid value for header 'Connection'");
  EXPECT_EQ(refusal(without("Sec-WebSocket-Key")), "400 key missing");
  EXPECT_EQ(refusal(without("Sec-WebSocket-Version")), "400 invalid version");
  std::string key = good;
  key.replace(key.find("dGhl"), 24, "abc");
  EXPECT_EQ(refusal(key), "400 invalid websocket key");
}

TEST(upgrade, what_is_no_http_is_malformed) {
  for (const char* text :
       {"FOO\r\n\r\n", "CONNECT {\"verbose\":false}\r\nPING\r\n\r\n", "\x16\x03\x01\x02\x03\r\n\r\n"})
    EXPECT_EQ(parse_upgrade_request(text).what, state::malformed) << text;
  EXPECT_EQ(parse_upgrade_request("GET / HTTP/1.1\r\nX: " + std::string(upgrade_bytes_max, 'a')).what,
            state::malformed);
}

TEST(upgrade, an_offer_with_a_smaller_window_of_ours_is_passed_over) {
  std::string bytes = good;
  bytes.replace(bytes.find("client_max_window_bits"), 22, "server_max_window_bits=10");
  EXPECT_FALSE(parse_upgrade_request(bytes).request.deflate);
}

TEST(upgrade, both_sides_agree) {
  EXPECT_EQ(websocket_accept_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  const upgrade_call call{.host = "h", .key = "dGhlIHNhbXBsZSBub25jZQ==", .deflate = true, .headers = {{"X-A", "b"}}};
  const auto request = parse_upgrade_request(upgrade_request_text(call));
  ASSERT_EQ(request.what, state::complete);
  ASSERT_FALSE(check_upgrade_request(request.request));
  const std::string text = upgrade_answer(request.request, true, {{"X-Foo", "bar"}});
  EXPECT_NE(text.find("X-Foo: bar\r\n"), std::string::npos);
  const auto answer = parse_upgrade_answer(text + "more", call.key);
  ASSERT_EQ(answer.what, state::complete);
  EXPECT_EQ(answer.size, text.size());
  EXPECT_TRUE(answer.accepted);
  EXPECT_TRUE(answer.deflate);
  EXPECT_FALSE(parse_upgrade_answer(text, "AAAAAAAAAAAAAAAAAAAAAA==").accepted);
  EXPECT_EQ(parse_upgrade_answer(upgrade_refusal_answer(403, "now"), call.key).status, 403);
}

}  // namespace
}  // namespace tern::protocol
