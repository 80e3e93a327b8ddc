#include "protocol/headers.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace tern::protocol {
namespace {

constexpr std::string_view block =
    "NATS/1.0\r\nA: 1\r\nX-Nats-Msg-Id: no\r\nNats-Msg-Id:   id 7 \r\nA: 2\r\nempty:\r\n\r\n";

// Core 2.3, jetstream 5.4: exact name at a line's start, blanks behind the colon dropped.
TEST(headers, looks_keys_up_exactly_at_line_starts) {
  const header_view view(block);
  EXPECT_EQ(view.get("Nats-Msg-Id"), "id 7 ");
  EXPECT_EQ(view.get("A"), "1");
  EXPECT_EQ(view.get("a"), std::nullopt);
  EXPECT_EQ(view.get("Msg-Id"), std::nullopt);
  EXPECT_EQ(view.get("Nats"), std::nullopt);
  EXPECT_EQ(view.get("empty"), "");
  EXPECT_EQ(view.get_non_empty("empty"), std::nullopt);
  EXPECT_EQ(view.get_ignoring_case("NATS-MSG-ID"), "id 7");
  EXPECT_EQ(view.get("NATS/1.0"), std::nullopt);
}

TEST(headers, iterates_in_order) {
  std::vector<header_field> fields(header_view(block).begin(), header_view(block).end());
  EXPECT_EQ(fields, (std::vector<header_field>{
                        {"A", "1"}, {"X-Nats-Msg-Id", "no"}, {"Nats-Msg-Id", "id 7"}, {"A", "2"}, {"empty", ""}}));
}

TEST(headers, reads_the_status_line) {
  EXPECT_EQ(header_view("NATS/1.0 503\r\n\r\n").status(), 503);
  EXPECT_EQ(header_view("NATS/1.0 503\r\n\r\n").description(), "");
  EXPECT_EQ(header_view("NATS/1.0 409 Message Size Exceeds MaxBytes\r\nA: b\r\n\r\n").status(), 409);
  EXPECT_EQ(header_view("NATS/1.0 409 Message Size Exceeds MaxBytes\r\nA: b\r\n\r\n").description(),
            "Message Size Exceeds MaxBytes");
  EXPECT_EQ(header_view("NATS/1.0100 Idle\r\n\r\n").status(), 0);
  EXPECT_EQ(header_view(block).status(), 0);
  EXPECT_EQ(header_view("NATS/1.0 12\r\n\r\n").status(), 0);
}

TEST(headers, removes_fields) {
  EXPECT_EQ(without_header(block, "A"), "NATS/1.0\r\nX-Nats-Msg-Id: no\r\nNats-Msg-Id:   id 7 \r\nempty:\r\n\r\n");
  EXPECT_EQ(without_header(block, "absent"), block);
  EXPECT_EQ(without_header("NATS/1.0\r\nA: 1\r\n\r\n", "A"), "");
  EXPECT_EQ(without_headers_with_prefix("NATS/1.0\r\nNats-Schedule: x\r\nB: 2\r\nNats-Schedule-TTL: 1\r\n\r\n",
                                        "Nats-Schedule"),
            "NATS/1.0\r\nB: 2\r\n\r\n");
}

TEST(headers, removes_the_status) {
  EXPECT_EQ(without_status("NATS/1.0 503\r\n\r\n"), "");
  EXPECT_EQ(without_status("NATS/1.0 503 x\r\nA: 1\r\n\r\n"), "NATS/1.0\r\nA: 1\r\n\r\n");
  EXPECT_EQ(without_status("NATS/1.0\r\n\r\n"), "NATS/1.0\r\n\r\n");
}

TEST(headers, appends_behind_the_last_field) {
  std::string empty;
  append_header(empty, "A", "1");
  EXPECT_EQ(empty, "NATS/1.0\r\nA: 1\r\n\r\n");
  append_header(empty, "B", "2");
  EXPECT_EQ(empty, "NATS/1.0\r\nA: 1\r\nB: 2\r\n\r\n");
  set_header(empty, "A", "3");
  EXPECT_EQ(empty, "NATS/1.0\r\nB: 2\r\nA: 3\r\n\r\n");
}

TEST(headers, builds_blocks) {
  EXPECT_EQ(header_builder().add("A", "1").add("B", "2").finish(), "NATS/1.0\r\nA: 1\r\nB: 2\r\n\r\n");
  EXPECT_EQ(status_block(503), "NATS/1.0 503\r\n\r\n");
  EXPECT_EQ(status_block(408, "Request Timeout", {{"Nats-Pending-Messages", "1"}}),
            "NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: 1\r\n\r\n");
}

// Any bytes are a legal block.
TEST(headers, survives_what_is_no_block) {
  for (const std::string_view text :
       {std::string_view(""), std::string_view("\r\n"), std::string_view("x"), std::string_view("NATS/1.0"),
        std::string_view("NATS/1.0\r\nA"), std::string_view("NATS/1.0\r\n:\r\nA:"), std::string_view("\0\r\nA:b", 7)}) {
    const header_view view(text);
    for (const auto& field : view) EXPECT_LE(field.second.size(), text.size());
    view.get("A");
    view.status();
    without_header(text, "A");
    without_status(text);
  }
  EXPECT_EQ(header_view("NATS/1.0\r\nA: b").get("A"), "b");
}

TEST(headers, knows_what_a_client_may_write) {
  EXPECT_TRUE(is_valid_header_key("Nats-Msg-Id"));
  for (const char* bad : {"", "a b", "a:", "a\r", "\x7f"}) EXPECT_FALSE(is_valid_header_key(bad)) << bad;
  EXPECT_TRUE(is_valid_header_value("any: thing"));
  EXPECT_FALSE(is_valid_header_value("a\r\nB: c"));
}

}  // namespace
}  // namespace tern::protocol
