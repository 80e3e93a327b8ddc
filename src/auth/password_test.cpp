#include "auth/password.hpp"

#include <gtest/gtest.h>

namespace tern::auth {
namespace {

TEST(password, hashes_of_every_prefix_are_recognised_and_compared_core_3_1) {
  for (const std::string hash : {"$2a$04$d8YFs6JHTHzyogY4FqfEY.TDmpwWXu6ZYrBhaUndCWRHvmvO74h3y",
                                 "$2b$04$9QUt0qO8IMayARCVyx0lkuYRLicjebmoldq6uCxPCmzT5dUYyP8nK",
                                 "$2y$04$9QUt0qO8IMayARCVyx0lkuYRLicjebmoldq6uCxPCmzT5dUYyP8nK"}) {
    EXPECT_TRUE(is_bcrypt(hash)) << hash;
    EXPECT_TRUE(bcrypt_matches(hash, "s3cret")) << hash;
    EXPECT_FALSE(bcrypt_matches(hash, "s3cre")) << hash;
    EXPECT_FALSE(bcrypt_matches(hash, "")) << hash;
    EXPECT_FALSE(bcrypt_matches(hash, std::string_view("s3cret\0x", 8))) << hash;
  }
  EXPECT_FALSE(is_bcrypt("secret"));
  EXPECT_FALSE(is_bcrypt("$2c$04$"));
  EXPECT_FALSE(bcrypt_matches("$2a$04$short", "x"));
}

TEST(password, secrets_are_equal_only_byte_for_byte) {
  EXPECT_TRUE(equal_secret("", ""));
  EXPECT_TRUE(equal_secret("abc", "abc"));
  EXPECT_FALSE(equal_secret("abc", "abd"));
  EXPECT_FALSE(equal_secret("abc", "abcd"));
}

}  // namespace
}  // namespace tern::auth
