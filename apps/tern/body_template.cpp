#include "body_template.hpp"

#include "base/numbers.hpp"
#include "text.hpp"

#include <optional>

namespace tern::command {
namespace {

constexpr std::uint64_t random_text_max = 1 << 20;  // a longer one is a typing mistake

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (true) {
    const auto begin = text.find_first_not_of(" \t");
    if (begin == text.npos) return out;
    text.remove_prefix(begin);
    const auto end = std::min(text.find_first_of(" \t"), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

}  // namespace

result<body_template::part> body_template::parse_placeholder(std::string_view inside) {
  std::vector<std::string_view> words = words_of(inside);
  std::string_view name = words.empty() ? std::string_view() : words.front();
  if (name.starts_with('.')) name.remove_prefix(1);
  static constexpr std::pair<std::string_view, kind> known[] = {{"Count", kind::count},
                                                                {"Time", kind::time},
                                                                {"TimeStamp", kind::timestamp},
                                                                {"Unix", kind::unix_seconds},
                                                                {"UnixNano", kind::unix_nanoseconds},
                                                                {"ID", kind::id},
                                                                {"Request", kind::request}};
  for (const auto& [word, what] : known)
    if (name == word && words.size() == 1) return part{what, {}, 0, 0};
  if (name == "Random" && words.size() == 3) {
    const auto shortest = parse_decimal(words[1]), longest = parse_decimal(words[2]);
    if (shortest && longest && *shortest <= *longest && *longest <= random_text_max)
      return part{kind::random, {}, *shortest, *longest};
  }
  return fail(
      errc::invalid_argument, "'{{" + std::string(inside) + "}}' is no placeholder",
      "Count, Time, TimeStamp, Unix, UnixNano, ID, Request and Random MIN MAX are; --no-templates sends the text "
      "as it is");
}

result<body_template> body_template::parse(std::string_view text) {
  body_template out;
  while (!text.empty()) {
    const auto open = text.find("{{");
    const auto close = open == text.npos ? open : text.find("}}", open + 2);
    if (open == text.npos) break;
    if (close == text.npos) {
      return fail(errc::invalid_argument, "a placeholder begins with {{ and has no end",
                  "--no-templates sends the text as it is");
    }
    if (open > 0) out.parts_.push_back({kind::text, std::string(text.substr(0, open)), 0, 0});
    auto placeholder = parse_placeholder(text.substr(open + 2, close - open - 2));
    if (!placeholder) return std::unexpected(std::move(placeholder).error());
    out.parts_.push_back(*std::move(placeholder));
    text.remove_prefix(close + 2);
  }
  if (!text.empty()) out.parts_.push_back({kind::text, std::string(text), 0, 0});
  return out;
}

body_template body_template::verbatim(std::string_view text) {
  body_template out;
  out.parts_.push_back({kind::text, std::string(text), 0, 0});
  return out;
}

std::string body_template::expand(const values& with, nuid_source& ids) const {
  std::string out;
  for (const part& one : parts_) {
    switch (one.what) {
      case kind::text:
        out += one.text;
        break;
      case kind::count:
        append_decimal(out, with.count);
        break;
      case kind::time:
        out += kitchen_time(with.now);
        break;
      case kind::timestamp:
        append_rfc3339(out, with.now);
        break;
      case kind::unix_seconds:
        append_signed_decimal(out, to_unix_nanoseconds(with.now) / 1'000'000'000);
        break;
      case kind::unix_nanoseconds:
        append_signed_decimal(out, to_unix_nanoseconds(with.now));
        break;
      case kind::id:
        out += ids.next();
        break;
      case kind::random:
        out += ids.random_text(one.shortest + ids.random() % (one.longest - one.shortest + 1));
        break;
      case kind::request:
        out += with.request;
        break;
    }
  }
  return out;
}

}  // namespace tern::command
