#include <tern/base/error.hpp>

#include <gtest/gtest.h>

namespace tern {
namespace {

TEST(error, its_line_has_context_and_hint) {
  EXPECT_EQ(error(errc::timeout, "").message(), "timeout");
  EXPECT_EQ(error(errc::timeout, "request a.b").message(), "request a.b");
  EXPECT_EQ(error(errc::disk_full, "write journal", "free some space").message(), "write journal (free some space)");
}

TEST(error, context_grows_as_it_travels_up) {
  EXPECT_EQ(error(errc::io_error, "open 3.seg").within("stream ORDERS").message(), "stream ORDERS: open 3.seg");
  EXPECT_EQ(error(errc::io_error, "").within("stream ORDERS").context(), "stream ORDERS");
}

TEST(error, every_code_has_a_text) {
  for (int code = static_cast<int>(errc::invalid_argument); code <= static_cast<int>(errc::cancelled); ++code) {
    EXPECT_NE(tern_category().message(code), "unknown error") << code;
  }
  EXPECT_EQ(tern_category().message(0), "unknown error");
  const std::error_code code = errc::closed;
  EXPECT_EQ(code, make_error_code(errc::closed));
  EXPECT_STREQ(code.category().name(), "tern");
}

TEST(error, a_failure_converts_to_any_result) {
  const result<int> none = fail(errc::not_found, "key a");
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code(), errc::not_found);
  EXPECT_EQ(none.error(), error(errc::not_found, "key a"));
  EXPECT_EQ(error(errc::api_error, "stream not found").with_api_code(10059).api_code(), 10059);
}

}  // namespace
}  // namespace tern
