// Round trips of random records, and of texts with a byte changed.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include <tern/codec/json.hpp>

namespace tern::codec {
namespace {

struct branch {
  std::int16_t small = 0;
  std::optional<double> real;
  std::vector<branch> children;
  friend bool operator==(const branch&, const branch&) = default;
};

struct record {
  std::string text;
  std::int64_t number = 0;
  std::uint64_t large = 0;
  bool flag = false;
  std::map<std::string, std::vector<std::string>> lists;
  std::optional<branch> tree;
  json_bytes bytes;
  time_point at{};
  nanoseconds wait{};
  friend bool operator==(const record&, const record&) = default;
};

class generator {
 public:
  explicit generator(std::uint32_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  std::uint64_t word() {
    // All magnitudes, so that the edges of every width turn up.
    return random_() >> below(64);
  }
  std::string text() {
    static constexpr std::string_view pieces[] = {"a",
                                                  "\"",
                                                  "\\",
                                                  "\n",
                                                  "\x01",
                                                  "/",
                                                  "\x7f",
                                                  "\xC3\xBC",
                                                  "\xE2\x82\xAC",
                                                  "\xF0\x9F\x90\xA6",
                                                  "\xEF\xBF\xBD",
                                                  " ",
                                                  "{",
                                                  "null",
                                                  "\\u0041"};
    std::string out;
    for (std::uint64_t left = below(20); left > 0; --left) out += pieces[below(std::size(pieces))];
    return out;
  }
  branch tree(int depth) {
    branch made{static_cast<std::int16_t>(word()), std::nullopt, {}};
    if (below(2) == 0)
      made.real =
          std::ldexp(static_cast<double>(static_cast<std::int64_t>(word())), static_cast<int>(below(200)) - 100);
    if (depth > 0) {
      for (std::uint64_t left = below(3); left > 0; --left) made.children.push_back(tree(depth - 1));
    }
    return made;
  }
  record make() {
    record made;
    made.text = text();
    made.number = static_cast<std::int64_t>(below(2) == 0 ? word() : 0 - word());
    made.large = word();
    made.flag = below(2) == 0;
    for (std::uint64_t left = below(4); left > 0; --left) {
      auto& list = made.lists[text()];
      for (std::uint64_t more = below(4); more > 0; --more) list.push_back(text());
    }
    if (below(2) == 0) made.tree = tree(4);
    for (std::uint64_t left = below(9); left > 0; --left) made.bytes.value += static_cast<char>(random_());
    made.at = from_unix_nanoseconds(static_cast<std::int64_t>(below(4'000'000'000'000'000'000)));
    made.wait = nanoseconds(static_cast<std::int64_t>(word()));
    return made;
  }

 private:
  std::mt19937_64 random_;
};

TEST(json_property, what_is_written_is_read_back_the_same) {
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    generator random(seed);
    const record value = random.make();
    const std::string text = to_json(value);
    const auto read = read_json<record>(text, peer_strict);
    ASSERT_TRUE(read) << seed << ' ' << read.error().context() << ' ' << text;
    ASSERT_EQ(*read, value) << seed << ' ' << text;
  }
}

TEST(json_property, a_changed_byte_is_read_or_refused_and_checked_alike) {
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    generator random(seed);
    std::string text = to_json(random.make());
    text[random.below(text.size())] = static_cast<char>(random.below(256));
    const bool well_formed = check_json(text).has_value();
    // A record may refuse what is well formed, never the other way round.
    if (read_json<record>(text)) {
      EXPECT_TRUE(well_formed) << seed;
    }
    EXPECT_EQ(read_json<raw_json>(text).has_value(), well_formed) << seed;
  }
}

TEST(json_property, every_prefix_is_refused) {
  const std::string text = to_json(generator(7).make());
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(read_json<record>(std::string_view(text).substr(0, size))) << size;
  }
}

}  // namespace
}  // namespace tern::codec
