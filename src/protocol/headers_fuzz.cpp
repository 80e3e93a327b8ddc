// Any bytes are a header block; what is set can be read, what is removed is gone.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "protocol/headers.hpp"
#include "protocol/subject.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tern::protocol;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const header_view view(text);
  view.status();
  view.description();
  std::size_t fields = 0;
  for (const auto& [key, value] : view) {
    ++fields;
    if (key.size() + value.size() > size) std::abort();
    view.get(key);
    view.get_ignoring_case(key);
  }
  if (fields > size) std::abort();
  std::string block = "NATS/1.0\r\n\r\n";
  const std::string key = size > 3 ? text.substr(0, 3) : "Key";
  if (is_valid_header_key(key) && is_valid_header_value(text)) {
    set_header(block, key, text);
    const auto value = header_view(block).get(key);
    if (!value || text.find_first_not_of(' ') != std::string::npos
            ? !value->ends_with(text.substr(text.find_first_not_of(' ')))
            : !value->empty()) {
      std::abort();
    }
    if (header_view(without_header(block, key)).has(key)) std::abort();
  }
  if (header_view(without_header(text, "A")).has("A") && text.find("\r\n") != std::string::npos &&
      without_header(text, "A") == text && view.has("A")) {
    std::abort();
  }
  without_headers_with_prefix(text, key);
  without_status(text);

  const std::size_t half = size / 2;
  const std::string_view left = std::string_view(text).substr(0, half), right = std::string_view(text).substr(half);
  if (subjects_overlap(left, right) != subjects_overlap(right, left)) std::abort();
  if (is_valid_subject(left) && is_valid_literal(right) && subject_matches(left, right) &&
      !subjects_overlap(left, right)) {
    std::abort();
  }
  return 0;
}
