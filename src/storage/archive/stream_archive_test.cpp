#include "storage/archive/stream_archive.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tern::storage::archive {
namespace {

std::string tar_file(const std::string& name, const std::string& content, char kind = '0') {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  char size[16];
  std::snprintf(size, sizeof size, "%011zo", content.size());
  header.replace(124, 11, size);
  header[156] = kind;
  header.replace(257, 5, "ustar");
  unsigned sum = 8 * ' ';
  for (const char each : header) sum += static_cast<unsigned char>(each);
  std::snprintf(size, sizeof size, "%06o", sum);
  header.replace(148, 6, size);
  return header + content + std::string((512 - content.size() % 512) % 512, '\0');
}

TEST(archive_reader, gives_entries_as_they_were_however_the_bytes_come) {
  std::mt19937_64 random(1);
  std::string bytes;
  append_archive_magic(bytes);
  append_archive_entry(bytes, {.name = "state.json", .time = 5, .payload = "{}"});
  append_archive_entry(bytes, {.name = "a.b", .time = -7, .number = 300, .headers = "H", .payload = "payload"});
  append_archive_entry(bytes, {});
  for (int round = 0; round < 50; ++round) {
    archive_reader reader(1'000);
    std::vector<std::string> seen;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t take = std::min<std::size_t>(1 + random() % 9, bytes.size() - at);
      reader.push(std::string_view(bytes).substr(at, take));
      at += take;
      archive_entry entry;
      for (auto more = reader.next(entry); more.value(); more = reader.next(entry)) {
        seen.push_back(std::string(entry.name) + "|" + std::to_string(entry.time) + "|" + std::to_string(entry.number) +
                       "|" + std::string(entry.headers) + "|" + std::string(entry.payload) +
                       (entry.is_end() ? "end" : ""));
      }
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"state.json|5|0||{}", "a.b|-7|300|H|payload", "|0|0||end"}));
  }
}

TEST(archive_reader, refuses_other_files_large_entries_and_impossible_numbers) {
  archive_entry entry;
  archive_reader other(100);
  other.push("NATSARC2........");
  EXPECT_FALSE(other.next(entry));
  std::string bytes;
  append_archive_magic(bytes);
  append_archive_entry(bytes, {.name = "m", .number = 1, .payload = std::string(101, 'x')});
  archive_reader large(100);
  large.push(bytes);
  EXPECT_EQ(large.next(entry).error().code(), errc::limit_exceeded);
  archive_reader endless(100);
  endless.push("NATSARC1" + std::string(60, '\xff'));
  EXPECT_FALSE(endless.next(entry));
}

TEST(tar_reader, gives_files_with_short_and_long_names) {
  const std::string long_name(150, 'n');
  const std::string record = " path=" + long_name + "\n";
  const std::string pax = std::to_string(record.size() + 3) + record;
  const std::string bytes = tar_file("meta.inf", "{}") + tar_file("pax", pax, 'x') + tar_file("short", "content") +
                            tar_file("empty", "") + std::string(1024, '\0');
  tar_reader reader(1'000);
  std::vector<std::string> seen;
  for (const char each : bytes) {
    reader.push({&each, 1});
    tar_reader::file file;
    for (auto more = reader.next(file); more.value(); more = reader.next(file))
      seen.push_back(std::string(file.name) + "=" + std::string(file.content));
  }
  EXPECT_TRUE(reader.ended());
  EXPECT_EQ(seen, (std::vector<std::string>{"meta.inf={}", long_name + "=content", "empty="}));
}

TEST(tar_reader, refuses_links_damage_and_large_files) {
  const auto outcome = [](std::string bytes) {
    tar_reader reader(100);
    tar_reader::file file;
    reader.push(bytes);
    return reader.next(file).has_value();
  };
  EXPECT_FALSE(outcome(tar_file("link", "", '2')));
  EXPECT_FALSE(outcome(tar_file("big", std::string(101, 'x'))));
  std::string damaged = tar_file("name", "x");
  damaged[3] = 'z';
  EXPECT_FALSE(outcome(damaged));
  EXPECT_FALSE(outcome(std::string(600, 'g')));
}

}  // namespace
}  // namespace tern::storage::archive
