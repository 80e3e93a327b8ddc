#include "protocol/jetstream_error.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace tern::protocol {
namespace {

constexpr jetstream_error table[] = {
#define TERN_JETSTREAM_ERROR(number, http, name, description) {jetstream_errc::name, http, #name, description},
#include "protocol/jetstream_error_table.inc"
#undef TERN_JETSTREAM_ERROR
};

static_assert(std::ranges::is_sorted(table, {}, &jetstream_error::number));

}  // namespace

const jetstream_error* find_jetstream_error(int number) {
  const auto* found = std::ranges::lower_bound(
      table, number, {}, [](const jetstream_error& entry) { return static_cast<int>(entry.number); });
  return found != std::end(table) && static_cast<int>(found->number) == number ? found : nullptr;
}

const jetstream_error& describe(jetstream_errc number) {
  const jetstream_error* found = find_jetstream_error(static_cast<int>(number));
  assert(found != nullptr);
  return *found;
}

std::string format(jetstream_errc number, std::initializer_list<placeholder> values) {
  const std::string_view pattern = describe(number).description;
  std::string text;
  std::size_t at = 0;
  while (at < pattern.size()) {
    const std::size_t open = pattern.find('{', at);
    const std::size_t close = pattern.find('}', open);
    text.append(pattern.substr(at, open - at));
    if (open == std::string_view::npos || close == std::string_view::npos) break;
    const std::string_view name = pattern.substr(open + 1, close - open - 1);
    for (const auto& [key, value] : values) {
      if (key == name) text.append(value);
    }
    at = close + 1;
  }
  return text;
}

api_error make_api_error(jetstream_errc number, std::initializer_list<placeholder> values) {
  return {describe(number).http_code, static_cast<int>(number), format(number, values)};
}

error to_error(const api_error& problem) {
  return error(errc::api_error, problem.description).with_api_code(problem.err_code);
}

}  // namespace tern::protocol
