#include "routing/subject_transform.hpp"

#include "base/ascii.hpp"
#include "base/numbers.hpp"
#include "protocol/subject.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace tern::routing {
namespace {

constexpr std::string_view bad_subject = "invalid subject";
constexpr std::uint64_t count_max = 0x7fffffff;

std::string bad_destination(std::string_view why, std::string_view token) {
  return "invalid mapping destination: " + std::string(why) + " in " + std::string(token);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> tokens_of(std::string_view subject) {
  std::vector<std::string_view> out;
  for (const std::string_view token : protocol::subject_tokens(subject)) out.push_back(token);
  return out;
}

std::uint32_t fnv1a(std::string_view text, std::uint32_t hash) {
  for (const unsigned char c : text) hash = (hash ^ c) * 16'777'619u;
  return hash;
}
constexpr std::uint32_t fnv1a_begin = 2'166'136'261u;

// Empty pieces vanish and leave no empty token behind.
void append_split(std::string& out, std::string_view token, std::string_view delimiter) {
  bool first = true;
  while (true) {
    const std::size_t at = delimiter.empty() ? std::string_view::npos : token.find(delimiter);
    const std::string_view piece = token.substr(0, at);
    if (!piece.empty()) {
      if (!first) out += '.';
      out += piece;
      first = false;
    }
    if (at == std::string_view::npos) return;
    token.remove_prefix(at + delimiter.size());
  }
}

void append_slices(std::string& out, std::string_view token, std::size_t size, std::size_t first_size) {
  std::size_t at = 0;
  for (std::size_t next = first_size; at < token.size(); next = size) {
    if (at > 0) out += '.';
    out += token.substr(at, next);
    at += next;
  }
}

}  // namespace

struct subject_transform::known_function {
  std::string_view name;
  function what;
  std::size_t arguments;  // partition and random apart
};

std::expected<subject_transform::part, std::string> subject_transform::parse_call(
    std::string_view token, std::string_view name, const std::vector<std::string_view>& arguments,
    std::size_t wildcards) {
  static constexpr std::array<known_function, 10> known = {{{"wildcard", function::wildcard, 1},
                                                            {"partition", function::partition, 0},
                                                            {"split", function::split, 2},
                                                            {"splitfromleft", function::split_from_left, 2},
                                                            {"splitfromright", function::split_from_right, 2},
                                                            {"slicefromleft", function::slice_from_left, 2},
                                                            {"slicefromright", function::slice_from_right, 2},
                                                            {"left", function::left, 2},
                                                            {"right", function::right, 2},
                                                            {"random", function::random, 1}}};
  const auto found = std::ranges::find(known, lower_case(name), &known_function::name);
  if (found == known.end()) return std::unexpected(bad_destination("unknown function", token));
  const auto refuse = [token](std::string_view why) { return std::unexpected(bad_destination(why, token)); };
  const auto number = [](std::string_view text) { return parse_decimal(trimmed(text)); };
  part out{.what = found->what};
  std::size_t next = 0;
  if (arguments.size() == 1 && trimmed(arguments[0]).empty())
    return refuse("not enough arguments passed to the function");
  if (out.what == function::partition || out.what == function::random) {
    const auto count = number(arguments[0]);
    if (!count || *count > count_max) return refuse("function argument is invalid or in the wrong format");
    out.number = *count;
    next = 1;
    if (out.what == function::random && arguments.size() > 1)
      return refuse("too many arguments passed to the function");
  } else if (arguments.size() < found->arguments) {
    return refuse("not enough arguments passed to the function");
  } else if (arguments.size() > found->arguments) {
    return refuse("too many arguments passed to the function");
  }
  const std::size_t indices_end = out.what == function::partition ? arguments.size() : next + (next == 0 ? 1 : 0);
  for (; next < indices_end; ++next) {
    const auto index = number(arguments[next]);
    if (!index) return refuse("function argument is invalid or in the wrong format");
    if (*index == 0 || *index > wildcards)
      return std::unexpected(bad_destination("wildcard index out of range", token) + ": [" + std::to_string(*index) +
                             "]");
    out.indices.push_back(static_cast<std::size_t>(*index));
  }
  if (out.what == function::split) {
    out.text = arguments[1];
    if (out.text.empty() || out.text.find_first_of(" .") != std::string::npos)
      return refuse("function argument is invalid or in the wrong format");
  } else if (found->arguments == 2) {
    const auto size = number(arguments[1]);
    if (!size || *size > count_max) return refuse("function argument is invalid or in the wrong format");
    out.number = *size;
  }
  return out;
}

std::expected<subject_transform::part, std::string> subject_transform::parse_part(std::string_view token,
                                                                                  std::size_t wildcards) {
  if (token == ">") return part{.what = function::rest};
  if (token.size() > 1 && token.front() == '$') {
    if (const auto index = parse_decimal(token.substr(1))) {
      if (*index == 0 || *index > wildcards)
        return std::unexpected(bad_destination("wildcard index out of range", token) + ": [" + std::to_string(*index) +
                               "]");
      return part{.what = function::wildcard, .indices = {static_cast<std::size_t>(*index)}};
    }
  }
  if (token.size() <= 4 || !token.starts_with("{{") || !token.ends_with("}}")) {
    return part{.what = function::literal, .text = std::string(token)};
  }
  const std::string_view call = trimmed(token.substr(2, token.size() - 4));
  const std::size_t open = call.find('(');
  if (open == std::string_view::npos || !call.ends_with(')'))
    return std::unexpected(bad_destination("unknown function", token));
  std::vector<std::string_view> arguments;
  std::string_view rest = call.substr(open + 1, call.size() - open - 2);
  for (std::size_t comma = rest.find(','); comma != std::string_view::npos; comma = rest.find(',')) {
    arguments.push_back(rest.substr(0, comma));
    rest.remove_prefix(comma + 1);
  }
  arguments.push_back(rest);
  return parse_call(token, trimmed(call.substr(0, open)), arguments, wildcards);
}

std::expected<subject_transform, std::string> subject_transform::create(std::string_view source,
                                                                        std::string_view destination, bool strict) {
  subject_transform made;
  made.source_ = source.empty() ? ">" : source;
  made.destination_ = destination;
  if (!protocol::is_valid_config_subject(made.source_)) return std::unexpected(std::string(bad_subject));
  const auto source_tokens = tokens_of(made.source_);
  const auto wildcards = static_cast<std::size_t>(std::ranges::count(source_tokens, std::string_view("*")));
  const auto destination_tokens = tokens_of(destination);
  const bool empty_token = std::ranges::find(destination_tokens, std::string_view()) != destination_tokens.end();
  const bool star = std::ranges::find(destination_tokens, std::string_view("*")) != destination_tokens.end();
  const bool rest = destination_tokens.back() == ">";
  const auto rests = std::ranges::count(destination_tokens, std::string_view(">"));
  if (empty_token || star || rests > 1 || (rests == 1) != rest || rest != (source_tokens.back() == ">"))
    return std::unexpected(std::string(bad_subject));
  std::vector<bool> used(wildcards, false);
  for (const std::string_view token : destination_tokens) {
    auto one = parse_part(token, wildcards);
    if (!one) return std::unexpected(std::move(one).error());
    if (strict && one->what != function::literal && one->what != function::wildcard && one->what != function::rest)
      return std::unexpected(bad_destination("function not allowed", token));
    for (const std::size_t index : one->indices) used[index - 1] = true;
    made.parts_.push_back(std::move(*one));
  }
  if (strict && std::ranges::find(used, false) != used.end())
    return std::unexpected(bad_destination("not using all of the token wildcard(s)", destination));
  return made;
}

bool subject_transform::matches(std::string_view subject) const { return protocol::subject_matches(source_, subject); }

bool subject_transform::append_mapped(std::string& out, std::string_view subject, std::uint64_t seed) const {
  if (!matches(subject)) return false;
  std::vector<std::string_view> wildcards;
  std::string_view rest;
  auto token = protocol::subject_tokens(subject).begin();
  for (const std::string_view pattern : protocol::subject_tokens(source_)) {
    const std::string_view value = *token;
    if (pattern == ">") rest = subject.substr(static_cast<std::size_t>(value.data() - subject.data()));
    if (pattern == "*") wildcards.push_back(value);
    ++token;
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (i > 0) out += '.';
    if (parts_[i].what == function::rest) {
      out += rest;
    } else {
      append_part(out, parts_[i], subject, wildcards, seed);
    }
  }
  return true;
}

void subject_transform::append_part(std::string& out, const part& what, std::string_view subject,
                                    const std::vector<std::string_view>& wildcards, std::uint64_t seed) const {
  if (what.what == function::literal) {
    out += what.text;
    return;
  }
  if (what.what == function::partition) {
    std::uint32_t hash = fnv1a_begin;
    for (const std::size_t index : what.indices) hash = fnv1a(wildcards[index - 1], hash);
    if (what.indices.empty()) hash = fnv1a(subject, hash);
    append_decimal(out, what.number == 0 ? 0 : hash % what.number);
    return;
  }
  if (what.what == function::random) {
    append_decimal(out, what.number == 0 ? 0 : seed % what.number);
    return;
  }
  const std::string_view token = wildcards[what.indices.front() - 1];
  const std::size_t size = what.number;
  const bool cuts = size > 0 && size < token.size();
  switch (what.what) {
    case function::split:
      append_split(out, token, what.text);
      return;
    case function::split_from_left:
      append_slices(out, token, token.size(), cuts ? size : token.size());
      return;
    case function::split_from_right:
      append_slices(out, token, token.size(), cuts ? token.size() - size : token.size());
      return;
    case function::slice_from_left:
      append_slices(out, token, cuts ? size : token.size(), cuts ? size : token.size());
      return;
    case function::slice_from_right: {
      const std::size_t odd = cuts ? token.size() % size : 0;
      append_slices(out, token, cuts ? size : token.size(), odd != 0 ? odd : cuts ? size : token.size());
      return;
    }
    case function::left:
      out += cuts ? token.substr(0, size) : token;
      return;
    case function::right:
      out += cuts ? token.substr(token.size() - size) : token;
      return;
    default:
      out += token;
      return;
  }
}

std::string subject_transform::destination_pattern() const {
  std::string out;
  for (const part& one : parts_) {
    if (!out.empty()) out += '.';
    if (one.what == function::literal)
      out += one.text;
    else
      out += one.what == function::rest ? ">" : "*";
  }
  return out;
}

}  // namespace tern::routing
