#include "storage/archive/s2.hpp"

#include "storage/archive/crc32c.hpp"
#include "storage/segment/byte_order.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tern::storage::archive {
namespace {

std::string frame(unsigned char kind, std::string_view body) {
  std::string out;
  append_number(out, static_cast<std::uint32_t>(body.size() << 8 | kind));
  return out.append(body);
}

std::string checked(std::string_view decoded, std::string_view body) {
  std::string out;
  append_number(out, masked_crc32c(decoded));
  return out.append(body);
}

result<std::string> read_all(std::string_view stream, std::size_t step = std::string_view::npos) {
  s2_frame_reader reader;
  std::string all, block;
  while (!stream.empty()) {
    const std::size_t take = std::min(step, stream.size());
    reader.push(stream.substr(0, take));
    stream.remove_prefix(take);
    for (;;) {
      auto more = reader.next(block);
      if (!more) return std::unexpected(more.error());
      if (!*more) break;
      all += block;
    }
  }
  if (!reader.at_boundary()) return fail(errc::corrupted, "cut");
  return all;
}

std::string text_of(std::mt19937_64& random, std::size_t size) {
  std::string text;
  const unsigned letters = 1 + random() % 60;
  while (text.size() < size) {
    if (!text.empty() && random() % 3 == 0) {
      text += text.substr(random() % text.size(), random() % 200);
    } else {
      text += static_cast<char>(random() % letters);
    }
  }
  text.resize(size);
  return text;
}

TEST(crc32c, has_the_published_values) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
}

TEST(s2_block, decodes_literals_and_copies_of_each_size) {
  std::string out;
  // "abcd", a near copy of 4 from 4 back, a far copy of 6 from 2 back.
  ASSERT_TRUE(decode_s2_block(std::string("\x0e\x0c"
                                          "abcd"
                                          "\x01\x04"
                                          "\x16\x02\x00",
                                          11),
                              100, out));
  EXPECT_EQ(out, "abcdabcdcdcdcd");
}

TEST(s2_block, repeats_the_last_offset_where_the_near_copy_has_none) {
  std::string out;
  // "ab", a near copy of 4 from 2 back, then a repeat of 4 + 0 and one of 4 + 4 + 3.
  ASSERT_TRUE(decode_s2_block(std::string("\x15\x04"
                                          "ab"
                                          "\x01\x02"
                                          "\x01\x00"
                                          "\x15\x00\x03",
                                          11),
                              100, out));
  EXPECT_EQ(out, std::string("ababababababababababa"));
}

TEST(s2_block, knows_long_repeats) {
  std::string body(
      "\x00"
      "x"
      "\x02\x01\x00",
      5);                                          // "x", then one more
  body += std::string("\x19\x00\x10\x00", 4);      // 4 + 256 + 16
  body += std::string("\x1d\x00\x01\x00\x00", 5);  // 4 + 65536 + 1
  std::string block, out;
  append_varint(block, 2 + 276 + 65541);
  ASSERT_TRUE(decode_s2_block(block + body, 1 << 20, out));
  EXPECT_EQ(out, std::string(2 + 276 + 65541, 'x'));
}

TEST(s2_block, refuses_what_points_outside_or_is_longer_than_it_says) {
  std::string out = "kept";
  for (const std::string& bad : {std::string(),
                                 std::string("\x04\x0c"
                                             "ab"),
                                 std::string("\x05\x00"
                                             "a\x01\x02",
                                             5),
                                 std::string("\x01\x04"
                                             "ab"),
                                 std::string("\x08\x01\x00", 3),
                                 std::string("\x04\x00"
                                             "a\x0a\x00\x00",
                                             6),
                                 std::string("\x02\x00"
                                             "a")}) {
    EXPECT_FALSE(decode_s2_block(bad, 100, out)) << bad.size();
  }
  EXPECT_EQ(out, "kept");
  EXPECT_EQ(decode_s2_block(std::string("\xff\xff\x03", 3), 100, out).error().code(), errc::limit_exceeded);
}

TEST(s2_frames, what_is_written_in_any_pieces_is_read_in_any_pieces) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 60; ++round) {
    const std::string text = text_of(random, random() % 300'000);
    snappy_frame_writer writer;
    std::string stream;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t take = std::min<std::size_t>(1 + random() % 100'000, text.size() - at);
      writer.append(std::string_view(text).substr(at, take), stream);
      at += take;
      if (random() % 4 == 0) writer.flush(stream);
    }
    writer.flush(stream);
    if (text.empty()) continue;
    const auto read = read_all(stream, 1 + random() % 5'000);
    ASSERT_TRUE(read) << read.error().message();
    ASSERT_EQ(*read, text);
  }
}

TEST(s2_frames, take_both_identifiers_paddings_and_streams_one_behind_the_other) {
  const std::string stream = frame(0xff, "S2sTwO") + frame(0xfe, "padding") + frame(0x01, checked("one ", "one ")) +
                             frame(0x99, "index") + frame(0xff, "sNaPpY") + frame(0x01, checked("two", "two"));
  EXPECT_EQ(read_all(stream).value(), "one two");
}

TEST(s2_frames, refuse_unknown_kinds_wrong_checksums_and_data_before_the_identifier) {
  const std::string begin = frame(0xff, "S2sTwO");
  EXPECT_FALSE(read_all(frame(0x01, checked("x", "x"))));
  EXPECT_FALSE(read_all(begin + frame(0x02, "what")));
  EXPECT_FALSE(read_all(begin + frame(0x01, checked("x", "y"))));
  EXPECT_FALSE(read_all(begin + frame(0x01, "abc")));
  EXPECT_FALSE(read_all("HTTP/1.1 200 OK\r\n\r\n"));
  EXPECT_FALSE(read_all(frame(0xff, "sNaPpX")));
  EXPECT_FALSE(read_all(begin + frame(0x00, checked("abcd",
                                                    "\x04\x0c"
                                                    "abcd"))
                                    .substr(0, 9)));
}

TEST(s2_frames, any_flipped_bit_is_noticed_or_harmless) {
  std::mt19937_64 random(11);
  const std::string text = text_of(random, 5'000);
  snappy_frame_writer writer;
  std::string stream;
  writer.append(text, stream);
  writer.flush(stream);
  for (std::size_t bit = 0; bit < stream.size() * 8; bit += 3) {
    std::string damaged = stream;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    const auto read = read_all(damaged);
    EXPECT_TRUE(!read || *read == text || read->empty()) << bit;  // a data frame may become padding, which is skipped
  }
}

}  // namespace
}  // namespace tern::storage::archive
