#include <tern/codec/reflect.hpp>

#include <gtest/gtest.h>

#include <tern/codec/json.hpp>

namespace tern::codec {
namespace {

enum class colour { red, green };

}  // namespace

template <>
struct enum_words<colour> {
  static constexpr std::pair<colour, std::string_view> words[] = {{colour::red, "red"}, {colour::green, "GREEN"}};
  static constexpr bool ignore_case = true;
};

namespace {

struct inner {
  int left = 0;
  bool right = false;
};

struct outer {
  std::string name;
  std::optional<inner> maybe;
  std::vector<inner> many;
  std::map<std::string, int> counts;
  colour export_ = colour::red;
  std::chrono::nanoseconds wait{};
};

struct sixty_four {
  int a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24,
      a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47,
      a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63;
};

struct nothing {};

struct renamed {
  std::string id;
  inner part;
  static constexpr member_option json_members[] = {{"id", {.name = "orderId", .required = true}},
                                                   {"part", {.flatten = true}}};
};

class account {
 public:
  account() = default;
  explicit account(std::string holder) : holder_(std::move(holder)) {}
  std::string holder_;
  int balance = 7;
};
TERN_DESCRIBE(account, (holder_, "who"), balance)

struct tree {
  int value = 0;
  std::vector<tree> children;
};

TEST(reflect, names_the_members_of_an_aggregate) {
  EXPECT_EQ(member_names<outer>(),
            (std::vector<std::string_view>{"name", "maybe", "many", "counts", "export", "wait"}));
  EXPECT_TRUE(member_names<nothing>().empty());
}

TEST(reflect, takes_up_to_64_members) {
  const auto names = member_names<sixty_four>();
  ASSERT_EQ(names.size(), 64u);
  EXPECT_EQ(names.front(), "a0");
  EXPECT_EQ(names.back(), "a63");
  sixty_four record{};
  record.a63 = 5;
  EXPECT_EQ(read_json<sixty_four>(to_json(record))->a63, 5);
}

TEST(reflect, renames_and_flattens) {
  EXPECT_EQ(member_names<renamed>(), (std::vector<std::string_view>{"orderId", "left", "right"}));
  EXPECT_EQ(to_json(renamed{"a", {3, true}}), R"({"orderId":"a","left":3,"right":true})");
  const auto read = read_json<renamed>(R"({"right":true,"orderId":"b","left":4})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->part.left, 4);
  EXPECT_TRUE(read->part.right);
}

TEST(reflect, lists_classes_by_macro) {
  EXPECT_EQ(to_json(account("ada")), R"({"who":"ada","balance":7})");
  EXPECT_EQ(read_json<account>(R"({"who":"bob"})")->holder_, "bob");
}

TEST(reflect, describes_recursive_records) {
  const auto read = read_json<tree>(R"({"value":1,"children":[{"value":2,"children":[{"value":3}]}]})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->children.at(0).children.at(0).value, 3);
}

TEST(reflect, maps_enumerations_to_words) {
  EXPECT_EQ(to_word(colour::green), "GREEN");
  EXPECT_EQ(from_word<colour>("green"), colour::green);
  EXPECT_EQ(from_word<colour>("blue"), std::nullopt);
}

TEST(reflect, describes_local_types) {
  struct local {
    int one = 1;
    std::string two = "2";
  };
  EXPECT_EQ(to_json(local{}), R"({"one":1,"two":"2"})");
}

}  // namespace
}  // namespace tern::codec
