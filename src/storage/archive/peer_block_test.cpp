#include "storage/archive/peer_block.hpp"

#include "storage/archive/peer_consumer_state.hpp"
#include "storage/archive/peer_directory.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tern::storage::archive {
namespace {

highway_hash::key counting_key() {
  return {0x0706050403020100, 0x0f0e0d0c0b0a0908, 0x1716151413121110, 0x1f1e1d1c1b1a1918};
}

TEST(highway_hash, has_the_published_values) {
  std::string bytes;
  const std::uint64_t expected[] = {0x907A56DE22C26E53, 0x7EAB43AAC7CDDD78, 0xB8D0569AB0B53D62, 0x5C6BEFAB8A463D80,
                                    0xF205A46893007EDA, 0x2B8A1668E4A94541, 0xBD4CCC325BEFCA6F, 0x4D02AE1738F59482};
  for (const std::uint64_t each : expected) {
    EXPECT_EQ(highway_hash(counting_key()).update(bytes).finish(), each) << bytes.size();
    bytes.push_back(static_cast<char>(bytes.size()));
  }
}

TEST(highway_hash, does_not_depend_on_how_the_bytes_come) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    std::string bytes(random() % 200, '\0');
    for (auto& each : bytes) each = static_cast<char>(random());
    highway_hash pieces(counting_key());
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t take = std::min<std::size_t>(random() % 40, bytes.size() - at);
      pieces.update(std::string_view(bytes).substr(at, take));
      at += take;
    }
    EXPECT_EQ(pieces.finish(), highway_hash(counting_key()).update(bytes).finish());
  }
}

peer_record message(std::uint64_t number, std::string_view subject, std::string_view headers,
                    std::string_view payload) {
  return {.number = number,
          .time = 1'700'000'000'000'000'000 + static_cast<std::int64_t>(number),
          .subject = subject,
          .headers = headers,
          .payload = payload};
}

struct collected final : peer_block_merger::sink {
  std::vector<std::uint64_t> numbers;
  std::vector<std::string> payloads;
  int damages = 0;
  result<void> message(const peer_record& what) override {
    numbers.push_back(what.number);
    payloads.emplace_back(what.payload);
    return {};
  }
  void damaged(std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t) override { ++damages; }
};

TEST(peer_block, reads_what_it_writes_with_and_without_headers_and_compressed) {
  const auto key = block_key("ORDERS", 3);
  std::string block;
  ASSERT_TRUE(append_peer_record(block, message(7, "orders.new", "", "one"), key));
  ASSERT_TRUE(
      append_peer_record(block, message(8, "orders.new", "NATS/1.0\r\nA: b\r\n\r\n", std::string(5'000, 'x')), key));
  for (const std::string& bytes : {block, decompress_peer_block(compress_peer_block(block)).value()}) {
    peer_block_reader reader(bytes, key);
    ASSERT_EQ(reader.next(), peer_block_reader::item::record);
    EXPECT_EQ(reader.record().number, 7U);
    EXPECT_EQ(reader.record().subject, "orders.new");
    EXPECT_EQ(reader.record().payload, "one");
    ASSERT_EQ(reader.next(), peer_block_reader::item::record);
    EXPECT_EQ(reader.record().headers, "NATS/1.0\r\nA: b\r\n\r\n");
    EXPECT_EQ(reader.record().payload.size(), 5'000U);
    EXPECT_EQ(reader.next(), peer_block_reader::item::end);
  }
}

TEST(peer_block, a_damaged_record_costs_itself_alone) {
  const auto key = block_key("S", 1);
  std::string block;
  std::vector<std::size_t> starts;
  for (std::uint64_t number = 1; number <= 20; ++number) {
    starts.push_back(block.size());
    ASSERT_TRUE(
        append_peer_record(block, message(number, "s.a", number % 2 == 0 ? "NATS/1.0\r\n\r\n" : "", "payload"), key));
  }
  for (std::size_t bit = 0; bit < block.size() * 8; bit += 5) {
    std::string damaged = block;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    const auto hit = static_cast<std::size_t>(std::ranges::upper_bound(starts, bit / 8) - starts.begin());
    peer_block_merger merger("S");
    collected found;
    ASSERT_TRUE(merger.add(1, damaged, found));
    // The checksum leaves the lengths inside out: moved borders of subject and headers go unnoticed, at the peer too.
    const std::size_t place = bit / 8 - starts[hit - 1];
    if (found.damages == 0 && (place == 3 || place == 20 || place == 21 || (place >= 25 && place < 29))) continue;
    EXPECT_EQ(found.damages, 1) << bit;
    EXPECT_EQ(found.numbers.size(), 19U) << bit;
    EXPECT_EQ(std::ranges::count(found.numbers, hit), 0);
  }
}

TEST(peer_block, tombstones_remove_what_stands_in_earlier_blocks_and_keep_the_last_sequence) {
  std::string first, second;
  for (std::uint64_t number = 1; number <= 5; ++number)
    ASSERT_TRUE(append_peer_record(first, message(number, "s", "", "p"), block_key("S", 1)));
  ASSERT_TRUE(
      append_peer_record(second, {.what = peer_record::kind::tombstone, .number = 3, .time = 5}, block_key("S", 2)));
  ASSERT_TRUE(
      append_peer_record(second, {.what = peer_record::kind::erased, .number = 6, .time = 6}, block_key("S", 2)));
  ASSERT_TRUE(
      append_peer_record(second, {.what = peer_record::kind::tombstone, .number = 9, .time = 7}, block_key("S", 2)));
  peer_block_merger merger("S");
  collected found;
  ASSERT_TRUE(merger.add(1, first, found));
  ASSERT_TRUE(merger.add(2, second, found));
  EXPECT_EQ(found.numbers, (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(merger.take_removals(), (std::vector<std::uint64_t>{3}));
  EXPECT_EQ(merger.last(), 9U);
}

TEST(peer_consumer_state, comes_back_as_it_was_to_the_second) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    peer_consumer_state state;
    state.floor_consumer = random() % 1'000;
    state.floor_stream = random() % 1'000;
    state.delivered_consumer = state.floor_consumer + random() % 100;
    state.delivered_stream = state.floor_stream + random() % 100;
    for (int left = static_cast<int>(random() % 20); left > 0; --left) {
      const std::uint64_t number = state.floor_stream + 1 + random() % 100;
      state.pending[number] = {state.floor_consumer + 1 + random() % 100,
                               static_cast<std::int64_t>(random() % 2'000'000'000) * 1'000'000'000};
      if (random() % 2 == 0) state.redelivered[number] = 1 + random() % 5;
    }
    const auto read = decode_peer_consumer(encode_peer_consumer(state));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, state);
  }
}

TEST(peer_consumer_state, refuses_zeros_other_versions_and_cut_files) {
  EXPECT_FALSE(decode_peer_consumer(std::string(40, '\0')));
  EXPECT_FALSE(decode_peer_consumer(std::string("\x16\x07\0\0\0\0\0\0", 8)));
  const std::string whole = encode_peer_consumer({.delivered_consumer = 9,
                                                  .delivered_stream = 9,
                                                  .floor_consumer = 1,
                                                  .floor_stream = 1,
                                                  .pending = {{4, {3, 5'000'000'000}}},
                                                  .redelivered = {{4, 2}}});
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(decode_peer_consumer(whole.substr(0, size))) << size;
}

}  // namespace
}  // namespace tern::storage::archive
