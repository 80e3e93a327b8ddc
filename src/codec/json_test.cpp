#include <tern/codec/json.hpp>

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include <tern/codec/codec.hpp>

namespace tern::codec {
namespace {

enum class flavour { plain, sweet };

}  // namespace

template <>
struct enum_words<flavour> {
  static constexpr std::pair<flavour, std::string_view> words[] = {{flavour::plain, "plain"},
                                                                   {flavour::sweet, "sweet"}};
};

namespace {

struct limits {
  std::int64_t max_age = 0;
  std::int32_t max_size = -1;
};

struct record {
  std::string name;
  std::int64_t signed_number = 0;
  std::uint64_t unsigned_number = 0;
  double real = 0;
  bool flag = false;
  std::optional<std::string> note;
  std::vector<std::string> words;
  std::map<std::string, std::int64_t> counts;
  limits config;
  flavour taste = flavour::plain;
  nanoseconds wait{};
  std::optional<time_point> at;
  json_bytes data;
  raw_json raw;
};

struct sparse {
  std::int64_t max_messages = -1;
  std::string text;
  bool flag = false;
  limits nested;
  std::vector<int> list;
  static constexpr omit_when json_omit = omit_when::empty;
  static constexpr member_option json_members[] = {{"max_messages", {.omit = omit_when::default_value}},
                                                   {"nested", {.omit = omit_when::default_value}}};
};

struct needs {
  std::string id;
  std::optional<int> maybe;
};

template <class T = record>
std::string problem(std::string_view text, const read_options& options = {}) {
  const auto read = read_json<T>(text, options);
  return read ? "no error" : read.error().context();
}

TEST(json_writer, escapes_control_characters_quotes_and_backslashes) {
  std::string out;
  write_json_string(out, std::string_view("a\"\\\b\f\n\r\t\x01\x1f\0/\x7f", 13));
  EXPECT_EQ(out, "\"a\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\\u0000/\x7f\"");
}

TEST(json_writer, keeps_utf8_and_replaces_other_bytes) {
  EXPECT_EQ(to_json(std::string("gr\xC3\xBC\xC3\x9F \xF0\x9F\x90\xA6")), "\"gr\xC3\xBC\xC3\x9F \xF0\x9F\x90\xA6\"");
  EXPECT_EQ(to_json(std::string("\xFF\xC0\x80\xED\xA0\x80\xF4\x90\x80\x80\xE2\x82")),
            "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF"
            "\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(json_writer, writes_integers_exactly_and_doubles_shortest) {
  EXPECT_EQ(to_json(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(to_json(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(to_json(std::int8_t{-5}), "-5");
  EXPECT_EQ(to_json(0.1), "0.1");
  EXPECT_EQ(to_json(1.0), "1");
  EXPECT_EQ(to_json(std::numeric_limits<double>::infinity()), "null");
}

TEST(json_writer, writes_members_in_order_and_leaves_out_absent_ones) {
  record value;
  value.name = "n";
  value.at = from_unix_nanoseconds(1'000'000'007);
  value.data.value = "hi";
  EXPECT_EQ(to_json(value),
            R"({"name":"n","signed_number":0,"unsigned_number":0,"real":0,"flag":false,"words":[],"counts":{},)"
            R"("config":{"max_age":0,"max_size":-1},"taste":"plain","wait":0,"at":"1970-01-01T00:00:01.000000007Z",)"
            R"("data":"aGk=","raw":null})");
}

TEST(json_writer, leaves_out_empty_and_default_members_when_told) {
  EXPECT_EQ(to_json(sparse{}), "{}");
  sparse value;
  value.max_messages = 0;
  value.nested.max_age = 1;
  value.list = {0};
  EXPECT_EQ(to_json(value), R"({"max_messages":0,"nested":{"max_age":1,"max_size":-1},"list":[0]})");
}

TEST(json_reader, reads_every_kind_of_member) {
  const auto read = read_json<record>(
      R"({"name":"a\u00fc\n\"","signed_number":-9223372036854775808,"unsigned_number":18446744073709551615,"real":-1.5e3,)"
      R"("flag":true,"note":"x","words":["a","b"],"counts":{"k":1,"l":2},"config":{"max_age":7,"max_size":2147483647},)"
      R"("taste":"sweet","wait":5000000000,"at":"1970-01-01T02:00:00+02:00","data":"aGk=","raw": { "a" : [ 1 ] } })");
  ASSERT_TRUE(read) << read.error().context();
  EXPECT_EQ(read->name, "a\xC3\xBC\n\"");
  EXPECT_EQ(read->signed_number, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(read->unsigned_number, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(read->real, -1500);
  EXPECT_TRUE(read->flag);
  EXPECT_EQ(read->note, "x");
  EXPECT_EQ(read->words, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(read->counts.at("l"), 2);
  EXPECT_EQ(read->config.max_size, 2147483647);
  EXPECT_EQ(read->taste, flavour::sweet);
  EXPECT_EQ(read->wait, std::chrono::seconds(5));
  EXPECT_EQ(to_unix_nanoseconds(*read->at), 0);
  EXPECT_EQ(read->data.value, "hi");
  EXPECT_EQ(read->raw.text, R"({ "a" : [ 1 ] })");
}

TEST(json_reader, names_the_path_of_a_wrong_value) {
  EXPECT_EQ(problem(R"({"config":{"max_age":"x"}})"), "config.max_age: expected integer");
  EXPECT_EQ(problem(R"({"words":["a",3]})"), "words[1]: expected string");
  EXPECT_EQ(problem(R"({"counts":{"k":true}})"), "counts.k: expected integer");
  EXPECT_EQ(problem(R"({"flag":1})"), "flag: expected boolean");
  EXPECT_EQ(problem(R"({"config":[]})"), "config: expected object");
  EXPECT_EQ(problem(R"({"words":{}})"), "words: expected array");
  EXPECT_EQ(problem("[]"), "expected object");
  EXPECT_EQ(problem(R"({"taste":"sour"})"), R"(taste: unknown word "sour")");
  EXPECT_EQ(problem(R"({"at":"yesterday"})"), "at: expected RFC 3339 time");
  EXPECT_EQ(problem(R"({"data":"***"})"), "data: expected base64");
}

// JetStream 1.5: floats, wrong types and numbers out of range are refused.
TEST(json_reader, refuses_floats_and_numbers_out_of_range_for_integers) {
  EXPECT_EQ(problem(R"({"signed_number":1.0})"), "signed_number: expected integer");
  EXPECT_EQ(problem(R"({"signed_number":1e3})"), "signed_number: expected integer");
  EXPECT_EQ(problem(R"({"signed_number":9223372036854775808})"), "signed_number: integer out of range");
  EXPECT_EQ(problem(R"({"unsigned_number":18446744073709551616})"), "unsigned_number: integer out of range");
  EXPECT_EQ(problem(R"({"unsigned_number":-1})"), "unsigned_number: integer out of range");
  EXPECT_EQ(problem(R"({"config":{"max_size":2147483648}})"), "config.max_size: integer out of range");
  EXPECT_EQ(problem(R"({"real":1e999})"), "real: number out of range");
  EXPECT_EQ(problem(R"({"signed_number":01})"), problem(R"({"signed_number":0x1})"));
  EXPECT_EQ(read_json<record>(R"({"signed_number":-0})")->signed_number, 0);
  EXPECT_EQ(read_json<record>(R"({"real":123456789012345678901234567890})")->real, 123456789012345678901234567890.0);
}

TEST(json_reader, refuses_malformed_text_in_members_that_are_ignored_too) {
  for (const char* text : {R"({"x":tru})",
                           R"({"x":nul})",
                           R"({"x":nulll})",
                           R"({"x":01})",
                           R"({"x":1.})",
                           R"({"x":.5})",
                           R"({"x":+1})",
                           R"({"x":1e})",
                           R"({"x":-})",
                           R"({"x":[1,]})",
                           R"({"x":[1 2]})",
                           R"({"x":{"a":1,}})",
                           R"({"x":{"a"}})",
                           R"({"x":{a:1}})",
                           R"({"x":{"a":1 "b":2}})",
                           R"({"x":"\q"})",
                           R"({"x":"\u12"})",
                           R"({"x":"\ud800"})",
                           R"({"x":[})",
                           R"({"x":1,})",
                           R"({"x":1]})",
                           R"({,})",
                           R"({"x" 1})",
                           R"({"x":})",
                           R"({"x":"a)",
                           R"({"x":1)",
                           R"({"\q":1})",
                           "{",
                           "}",
                           "{]",
                           "[}",
                           "{\"x\":\"\x01\"}",
                           "{\"x\":\"\xFF\"}",
                           "{\"x\":1}}",
                           "{} {}",
                           "{},{}",
                           "{}]",
                           "{}],[{}",
                           "{}x",
                           "",
                           " ",
                           "nul",
                           "{\"x\":1}\x01",
                           "{\"x\":truex}",
                           "{\"x\":\"a\"b}",
                           "{\"x\":1,\"x\"}",
                           "{\"x\":[[[1,2],3],]}",
                           "// {}",
                           "{'x':1}",
                           "{\"x\":NaN}",
                           "{\"x\":Infinity}",
                           "{\"x\":1 /* */}"}) {
    EXPECT_FALSE(read_json<record>(text)) << text;
    EXPECT_FALSE(check_json(text)) << text;
  }
}

TEST(json_reader, accepts_what_is_well_formed) {
  for (const char* text :
       {" {} ", "\t{\"x\":[],\"y\":{},\"z\":[{}]}\r\n", R"({"x":-0.0e-5,"y":12345678901234567890123})",
        R"({"\u0078":null})", R"({"x":"\ud83d\udc26\/"})", R"({"":0})"}) {
    EXPECT_TRUE(read_json<record>(text)) << text;
    EXPECT_TRUE(check_json(text)) << text;
  }
}

TEST(json_reader, takes_null_as_absent) {
  const auto read = read_json<record>(R"({"name":null,"signed_number":null,"note":null,"words":null,"config":null})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->config.max_size, -1);
  record before;
  before.signed_number = 5;
  before.note = "kept?";
  ASSERT_TRUE(read_json_into(R"({"signed_number":null,"note":null})", before));
  EXPECT_EQ(before.signed_number, 5);
  EXPECT_EQ(before.note, std::nullopt);
  EXPECT_TRUE(read_json<record>("null"));
}

TEST(json_reader, lets_the_last_of_duplicate_keys_win) {
  const auto read = read_json<record>(R"({"name":"a","words":["x","y"],"name":"b","words":["z"]})");
  EXPECT_EQ(read->name, "b");
  EXPECT_EQ(read->words, (std::vector<std::string>{"z"}));
}

TEST(json, null_elements_are_empty_ones_unless_everything_must_be_there) {
  const auto read = read_json<record>(R"({"words":["a",null],"counts":{"k":null}})");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->words, (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(read->counts.at("k"), 0);
  EXPECT_FALSE(read_json<std::vector<std::string>>("[null]", payload_options));
}

// JetStream 1.5: names match in any case; an unknown one is named in the peer's words.
TEST(json_reader, matches_names_as_the_peer_does) {
  EXPECT_EQ(read_json<record>(R"({"NAME":"a"})", peer_strict)->name, "a");
  EXPECT_EQ(read_json<record>(R"({"NAME":"a"})")->name, "");
  const auto read = read_json<record>(R"({"config":{"max_age":1,"x\"y":2}})", peer_strict);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().context(), R"(json: unknown field "x\"y")");
  EXPECT_TRUE(is_unknown_field(read.error()));
  EXPECT_TRUE(read_json<record>(R"({"config":{"x":2}})", peer_lenient));
  EXPECT_FALSE(is_unknown_field(read_json<record>(R"({"name":1})").error()));
}

TEST(json_reader, bounds_the_depth) {
  const std::string deep = R"({"x":)" + std::string(63, '[') + std::string(63, ']') + "}";
  const std::string deeper = R"({"x":)" + std::string(64, '[') + std::string(64, ']') + "}";
  EXPECT_TRUE(read_json<record>(deep));
  EXPECT_EQ(problem(deeper), "nested too deeply");
  EXPECT_FALSE(check_json(std::string(100'000, '[')));
  EXPECT_FALSE(check_json(std::string(100'000, '[') + std::string(100'000, ']')));
}

// Service 13: a member that is not optional must be there; the error names it.
TEST(json_codec, requires_members_that_are_not_optional) {
  EXPECT_EQ(json_codec::decode<needs>("{}").error().context(), "id: missing");
  EXPECT_EQ(json_codec::decode<needs>(R"({"id":null})").error().context(), "id: missing");
  EXPECT_EQ(json_codec::decode<needs>(R"({"id":"a","other":1})")->id, "a");
  EXPECT_FALSE(strict_json_codec::decode<needs>(R"({"id":"a","other":1})"));
  std::string out;
  ASSERT_TRUE(json_codec::encode(out, needs{"b", 3}));
  EXPECT_EQ(out, R"({"id":"b","maybe":3})");
  static_assert(codec_for<json_codec, needs> && codec_for<raw_codec, std::string>);
}

TEST(json_reader, reads_roots_of_any_kind) {
  EXPECT_EQ(read_json<int>(" 42 ").value(), 42);
  EXPECT_EQ(read_json<std::string>(R"("x")").value(), "x");
  EXPECT_EQ(read_json<std::vector<needs>>("[]").value().size(), 0u);
  EXPECT_EQ((read_json<std::map<std::string, std::vector<int>>>(R"({"a":[1,2]})").value().at("a")),
            (std::vector<int>{1, 2}));
  EXPECT_EQ(read_json<raw_json>(" [1, 2 ] ").value().text, "[1, 2 ]");
  EXPECT_EQ(read_json<raw_json>(" 1.50 ").value().text, "1.50");
}

TEST(json_walk, visits_a_document_without_a_record) {
  std::string seen;
  const auto walked = walk_json(R"({"a":[1,"two",null],"b":{"c":true},"d":2.5})", [&](json_reader& reader) {
    if (!reader.enter_object()) return false;
    std::string_view key;
    while (reader.next_key(key)) {
      seen.append(key).append("=");
      if (reader.kind() == json_kind::array) {
        if (!reader.enter_array()) return false;
        while (reader.next_element()) {
          std::string_view text;
          if (!reader.raw(text)) return false;
          seen.append(text).append(";");
        }
      } else if (!reader.skip()) {
        return false;
      }
    }
    return !reader.failed();
  });
  ASSERT_TRUE(walked) << walked.error().context();
  EXPECT_EQ(seen, "a=1;\"two\";null;b=d=");
}

TEST(json_walk, tells_what_the_visitor_refused) {
  const auto walked = walk_json("3", [](json_reader& reader) { return reader.fail("expected word"); });
  EXPECT_EQ(walked.error().context(), "expected word");
}

TEST(base64, goes_both_ways) {
  for (const auto& [plain, coded] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xFB\xFF", "+/8="}}) {
    EXPECT_EQ(to_base64(plain), coded);
    EXPECT_EQ(from_base64(coded).value(), plain);
  }
  EXPECT_EQ(from_base64("-_8").value(), "\xFB\xFF");
  EXPECT_FALSE(from_base64("A"));
  EXPECT_FALSE(from_base64("Zg=a"));
}

}  // namespace
}  // namespace tern::codec
