// Files that nats-server 2.15.1 has encrypted with `key: "secret"`: stream S with one message, consumer C that has it.
#include "storage/archive/peer_keys.hpp"

#include "storage/archive/peer_block.hpp"
#include "storage/archive/peer_consumer_state.hpp"

#include <gtest/gtest.h>

namespace tern::storage::archive {
namespace {

std::string bytes_of(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string out;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2)
    out.push_back(static_cast<char>(digit(hex[at]) << 4 | digit(hex[at + 1])));
  return out;
}

struct sealed_files {
  const char* title;
  peer_keys::cipher kind;
  const char* block_key;
  const char* block;
  const char* consumer_key;
  const char* consumer;
};

const sealed_files samples[] = {
    {"ChaCha20", peer_keys::cipher::chacha,
     "99ca4a0ab1eda9d8c0e4a78d28e1c234bfc55326e066eb7d48ce7f423e383aeec835a725d8aaf61e86936fc8431088904c90f3b40b5ebdec"
     "4bdce87383d599de6d5fe6f76eb5500d",
     "7f19fbb07fe56cecadb86e67659b66207d6eed0c5691724fb7bd99625a2751ac99a3ce61",
     "ad9997cbe7a5b3162900b36d4aa17f46cce0c3117e584be21e3bfdac9f98d43c4dd90edad2c1e9419b40e0c5f5ac6361b0c0375e74688963"
     "b44dab42bbd9268ccb5aa63105e0b6aa",
     "227fe17b7d2ffa86ad5bd10dadf05ce03609a00aa74ac4f843c73ef49db92f1e166c5b0097e9e3ca7c776e1fc71fcba0fa4ab37b869a278"
     "5"},
    {"AES", peer_keys::cipher::aes,
     "ade5c540b72f4b21983fa422399aef2712241b00c821912b72a99bd502a6323ca7661fcdf2e0fa2b7fa5f3291dedd7eaf24a34dc99c54ab7"
     "1f3df0d60111c1ed",
     "657e955b3264b3f5af95631807be38c91edc3c0b8ed6b607936b1fe1c88e581837abca89",
     "e2956ae1ceca7c8c3aebf05904f721162cf25dcc5a16a808714830c2f7c27162d09115cbcb4933aa5d56ae236d573e50ab0b45f59cf757a7"
     "dea33aa4b02f6fde",
     "7622a49fec5201a6651a3384825a2638418c8c67be36ec7be27e0f5f98cee24813ddea0a4df59ead0aa3defae671f387"},
};

TEST(peer_keys, the_peers_blocks_and_consumers_open_with_its_key) {
  const peer_keys keys("secret", "$G");
  for (const sealed_files& each : samples) {
    SCOPED_TRACE(each.title);
    const auto key = keys.open(bytes_of(each.block_key), "S:1");
    ASSERT_TRUE(key) << key.error().message();
    EXPECT_EQ(key->kind, each.kind);
    std::string block = bytes_of(each.block);
    ASSERT_TRUE(peer_keys::decrypt_block(*key, block));
    peer_block_reader reader(block, block_key("S", 1));
    ASSERT_EQ(reader.next(), peer_block_reader::item::record);
    EXPECT_EQ(reader.record().number, 1U);
    EXPECT_EQ(reader.record().subject, "s");
    EXPECT_EQ(reader.record().payload, "hello");
    EXPECT_EQ(reader.next(), peer_block_reader::item::end);

    const auto consumer_key = keys.open(bytes_of(each.consumer_key), "S.C");
    ASSERT_TRUE(consumer_key);
    const auto state = decode_peer_consumer(peer_keys::unseal(*consumer_key, bytes_of(each.consumer)).value());
    ASSERT_TRUE(state);
    EXPECT_EQ(state->delivered_stream, 1U);
    EXPECT_EQ(state->pending.size(), 1U);
  }
}

TEST(peer_keys, another_key_account_or_context_and_damage_are_refused) {
  for (const sealed_files& each : samples) {
    const std::string file = bytes_of(each.block_key);
    EXPECT_FALSE(peer_keys("Secret", "$G").open(file, "S:1"));
    EXPECT_FALSE(peer_keys("secret", "A").open(file, "S:1"));
    EXPECT_FALSE(peer_keys("secret", "$G").open(file, "S:2"));
    EXPECT_FALSE(peer_keys("secret", "$G").open(file.substr(0, 40), "S:1"));
    const peer_keys keys("secret", "$G");
    const auto key = keys.open(bytes_of(each.consumer_key), "S.C").value();
    std::string sealed = bytes_of(each.consumer);
    for (std::size_t at = 0; at < sealed.size(); at += 7) {
      std::string damaged = sealed;
      damaged[at] = static_cast<char>(damaged[at] ^ 1);
      EXPECT_FALSE(peer_keys::unseal(key, damaged)) << at;
    }
    EXPECT_FALSE(peer_keys::unseal(key, sealed.substr(0, 10)));
  }
}

}  // namespace
}  // namespace tern::storage::archive
