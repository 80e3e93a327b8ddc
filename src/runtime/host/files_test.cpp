#include "runtime/host/files.hpp"

#include "runtime/host/process.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace tern::runtime::host {
namespace {

TEST(host_files, text_is_written_whole_and_read_back) {
  const scratch_directory scratch;
  const std::string path = scratch.path() + "/a.conf";
  const std::string text(100'000, 'x');
  ASSERT_TRUE(write_text_file(path, text));
  EXPECT_EQ(read_text_file(path), text);
  ASSERT_TRUE(write_text_file(path, "short"));
  EXPECT_EQ(read_text_file(path), "short");
  EXPECT_EQ(list_directory(scratch.path()), std::vector<std::string>{"a.conf"});  // nothing is left beside it
  ASSERT_TRUE(remove_file(path));
  ASSERT_TRUE(remove_file(path));
}

TEST(host_files, failures_read_as_gos) {
  const auto missing = read_text_file("/no/such/file.conf");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code(), errc::not_found);
  EXPECT_EQ(missing.error().message(), "open /no/such/file.conf: no such file or directory");
  EXPECT_EQ(go_error_text(EACCES), "permission denied");
  EXPECT_EQ(go_error_text(EADDRINUSE), "address already in use");
  const scratch_directory scratch;
  EXPECT_EQ(read_text_file(scratch.path()).error().message(), "read " + scratch.path() + ": is a directory");
}

TEST(host_files, the_pid_file_is_the_number_alone) {  // core 4.6
  const scratch_directory scratch;
  ASSERT_TRUE(write_pid_file(scratch.path() + "/pid"));
  EXPECT_EQ(read_text_file(scratch.path() + "/pid"), std::to_string(process_id()));
  EXPECT_FALSE(write_pid_file(scratch.path() + "/no/pid").has_value());
}

TEST(host_files, directories_are_made_and_removed_with_their_owner) {
  std::string gone;
  {
    const scratch_directory scratch;
    gone = scratch.path();
    EXPECT_TRUE(is_directory(gone));
    ASSERT_TRUE(make_directories(gone + "/x/y/z"));
    ASSERT_TRUE(make_directories(gone + "/x/y/z/"));
    EXPECT_TRUE(is_directory(gone + "/x/y/z"));
    EXPECT_FALSE(is_regular_file(gone + "/x"));
    ASSERT_TRUE(write_text_file(gone + "/x/file", ""));
    EXPECT_TRUE(is_regular_file(gone + "/x/file"));
    EXPECT_FALSE(make_directories(gone + "/x/file/below").has_value());
  }
  EXPECT_FALSE(is_directory(gone));
}

}  // namespace
}  // namespace tern::runtime::host
