#include "runtime/host/log.hpp"

#include "runtime/clock.hpp"
#include "runtime/host/files.hpp"
#include "runtime/host/process.hpp"

#include <gtest/gtest.h>

#include <cstdio>

namespace tern::runtime::host {
namespace {

time_point some_time() { return *parse_rfc3339("2026-01-02T03:04:05.000006789Z"); }

TEST(log_line, is_nats_servers) {  // core 4.7
  EXPECT_EQ(format_log_line(log_level::info, "Starting", some_time(), 42, true, true),
            "[42] 2026/01/02 03:04:05.000006 [INF] Starting");
  EXPECT_EQ(format_log_line(log_level::error, "Oh", some_time(), 42, false, true), "[42] [ERR] Oh");
}

TEST(log_line, every_level_has_its_three_letters) {
  const std::pair<log_level, std::string_view> labels[] = {{log_level::trace, "TRC"}, {log_level::debug, "DBG"},
                                                           {log_level::info, "INF"},  {log_level::warn, "WRN"},
                                                           {log_level::error, "ERR"}, {log_level::fatal, "FTL"}};
  for (const auto& [level, label] : labels) EXPECT_EQ(log_label(level), label);
}

class log_file : public ::testing::Test {
 protected:
  std::string directory() const { return scratch_.path(); }
  std::string text() const { return read_text_file(path).value_or("(no file)"); }
  std::string head() const { return "[" + std::to_string(process_id()) + "] "; }
  std::unique_ptr<process_log> open(log_options options) {
    options.file = path;
    auto log = open_log(options, time);
    EXPECT_TRUE(log.has_value());
    return std::move(*log);
  }

 private:
  scratch_directory scratch_;

 protected:
  const std::string path = scratch_.path() + "/server.log";
  paused_clock time{some_time()};
};

TEST_F(log_file, lines_are_appended_and_visible_at_once) {
  auto log = open({.utc = true});
  log->info("one");
  log->warn("two");
  EXPECT_EQ(text(), head() + "2026/01/02 03:04:05.000006 [INF] one\n" +  //
                        head() + "2026/01/02 03:04:05.000006 [WRN] two\n");
  log.reset();
  open({.utc = true})->error("three");
  EXPECT_TRUE(text().ends_with("[WRN] two\n" + head() + "2026/01/02 03:04:05.000006 [ERR] three\n"));
}

TEST_F(log_file, debug_and_trace_are_switched_apart) {
  const auto log = open({.time = false});
  log->debug("d");
  log->trace("t");
  EXPECT_FALSE(log->debug_enabled());
  EXPECT_EQ(text(), "");
  ASSERT_TRUE(log->configure({.file = path, .time = false, .debug = false, .trace = true}));
  log->debug("d");
  log->trace("t");
  EXPECT_EQ(text(), head() + "[TRC] t\n");
  ASSERT_TRUE(log->configure({.file = path, .time = false, .debug = true}));
  log->debug("d");
  log->trace("t");
  EXPECT_EQ(text(), head() + "[TRC] t\n" + head() + "[DBG] d\n");
  EXPECT_TRUE(log->debug_enabled());
  EXPECT_FALSE(log->trace_enabled());
}

TEST_F(log_file, reopening_follows_a_file_that_was_moved_away) {
  const auto log = open({.time = false});
  log->info("before");
  ASSERT_EQ(std::rename(path.c_str(), (path + ".1").c_str()), 0);
  log->info("still the moved one");
  ASSERT_TRUE(log->reopen());
  log->info("after");
  EXPECT_EQ(text(), head() + "[INF] after\n");
  EXPECT_EQ(read_text_file(path + ".1"), head() + "[INF] before\n" + head() + "[INF] still the moved one\n");
}

TEST_F(log_file, a_file_that_cannot_be_opened_leaves_the_old_one_in_use) {
  const auto log = open({.time = false});
  const auto refused = log->configure({.file = directory()});  // a directory
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), errc::io_error);
  log->info("here");
  EXPECT_EQ(text(), head() + "[INF] here\n");
  EXPECT_FALSE(open_log({.file = directory()}, time).has_value());
}

TEST_F(log_file, size_limit_moves_the_file_to_a_backup_and_keeps_the_newest_ones) {
  const auto log = open({.time = false, .utc = true, .size_limit = 200, .backups = 2});
  for (int i = 0; i < 40; ++i) {
    time.advance_to(time.now() + std::chrono::seconds(1));
    log->info("a line of some length, number " + std::to_string(i));
  }
  const auto names = list_directory(directory());
  ASSERT_TRUE(names.has_value());
  EXPECT_EQ(names->size(), 3u);  // the log and two backups
  EXPECT_TRUE((*names)[1].starts_with("server.log.2026.01.02.03.04."));
  EXPECT_TRUE(text().find("Rotated log, backup saved as \"" + path + ".2026.") != std::string::npos);
}

TEST(captured_log, keeps_what_is_at_least_of_its_level) {
  captured_log log(log_level::info);
  log.debug("hidden");
  log.info("seen");
  log.fatal("fatal");
  ASSERT_EQ(log.lines().size(), 2u);
  EXPECT_EQ(log.lines()[0].message, "seen");
  EXPECT_EQ(log.lines()[1].level, log_level::fatal);
  EXPECT_TRUE(log.contains("fat"));
  EXPECT_FALSE(log.contains("hidden"));
  log.clear();
  EXPECT_TRUE(log.lines().empty());
}

TEST(silent_log, has_nothing_enabled) {
  silent_log log;
  log.fatal("nobody hears it");
  EXPECT_FALSE(log.enabled(log_level::fatal));
}

}  // namespace
}  // namespace tern::runtime::host
