// Mapping one subject to another by a pattern and a destination: account mappings, stream transforms, republish
// (core 7.1, jetstream 7.4).
//     auto transform = subject_transform::create("orders.*.*", "by_region.{{wildcard(2)}}.{{partition(8,1)}}");
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace tern::routing {

// A plain value, made once and applied per message. `random()` in a destination draws from the seed it is given.
class subject_transform {
 public:
  // An empty source means everything. The error is the peer's text: "invalid subject" or "invalid mapping destination:
  // ...". `strict` wants every wildcard of the source used, and nothing but wildcards (imports).
  static std::expected<subject_transform, std::string> create(std::string_view source, std::string_view destination,
                                                              bool strict = false);

  const std::string& source() const { return source_; }
  const std::string& destination() const { return destination_; }
  bool matches(std::string_view subject) const;
  // Appends the mapped subject; false, and nothing appended, when the subject does not match the source.
  bool append_mapped(std::string& out, std::string_view subject, std::uint64_t seed = 0) const;
  // What the destination may produce, as a pattern: functions count as `*`.
  std::string destination_pattern() const;

 private:
  enum class function : std::uint8_t {
    literal,
    rest,
    wildcard,
    partition,
    split,
    split_from_left,
    split_from_right,
    slice_from_left,
    slice_from_right,
    left,
    right,
    random,
  };
  struct part {
    function what = function::literal;
    std::string text;                  // the literal, or split's delimiter
    std::vector<std::size_t> indices;  // of wildcards in the source, from 1
    std::uint64_t number = 0;          // size, position or count
  };
  struct known_function;

  subject_transform() = default;
  static std::expected<part, std::string> parse_part(std::string_view token, std::size_t wildcards);
  static std::expected<part, std::string> parse_call(std::string_view token, std::string_view name,
                                                     const std::vector<std::string_view>& arguments,
                                                     std::size_t wildcards);
  void append_part(std::string& out, const part& what, std::string_view subject,
                   const std::vector<std::string_view>& wildcards, std::uint64_t seed) const;

  std::string source_;
  std::string destination_;
  std::vector<part> parts_;
};

}  // namespace tern::routing
