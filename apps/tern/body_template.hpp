// Bodies and subjects with placeholders, as the `nats` command has them: {{Count}}, {{Time}}, {{TimeStamp}}, {{Unix}},
// {{UnixNano}}, {{ID}}, {{Random 10 100}} and, for answers, {{Request}}. A leading dot ({{.Request}}) is the same.
#pragma once

#include "base/nuid.hpp"

#include <tern/base/error.hpp>
#include <tern/base/time.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tern::command {

class body_template {
 public:
  struct values {
    std::uint64_t count = 0;
    time_point now{};
    std::string_view request;
  };

  // errc::invalid_argument for a placeholder that does not exist.
  static result<body_template> parse(std::string_view text);
  // The text as it stands.
  static body_template verbatim(std::string_view text);

  std::string expand(const values& with, nuid_source& ids) const;

 private:
  enum class kind { text, count, time, timestamp, unix_seconds, unix_nanoseconds, id, random, request };
  struct part {
    kind what = kind::text;
    std::string text;
    std::uint64_t shortest = 0, longest = 0;  // of random text
  };
  static result<part> parse_placeholder(std::string_view inside);

  std::vector<part> parts_;
};

}  // namespace tern::command
