// The errors of the JetStream API: number, HTTP code and text of each, as the peer has them (jetstream 1.3).
//     auto problem = make_api_error(jetstream_errc::stream_wrong_last_sequence, {{"seq", "7"}});
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <tern/base/error.hpp>
#include <tern/codec/reflect.hpp>

namespace tern::protocol {

enum class jetstream_errc : std::uint16_t {
#define TERN_JETSTREAM_ERROR(number, http, name, description) name = number,
#include "protocol/jetstream_error_table.inc"
#undef TERN_JETSTREAM_ERROR
};

struct jetstream_error {
  jetstream_errc number;
  std::uint16_t http_code;
  std::string_view name;
  std::string_view description;  // with {placeholders}
};

// Every value of the enumeration has an entry; a number from the wire may have none.
const jetstream_error& describe(jetstream_errc number);
const jetstream_error* find_jetstream_error(int number);

using placeholder = std::pair<std::string_view, std::string_view>;  // {"err", "text"} fills {err}
std::string format(jetstream_errc number, std::initializer_list<placeholder> values = {});

// The `error` member of an API answer.
struct api_error {
  int code = 0;
  int err_code = 0;
  std::string description;
  friend bool operator==(const api_error&, const api_error&) = default;

  static constexpr codec::member_option json_members[] = {{"err_code", {.omit = codec::omit_when::empty}},
                                                          {"description", {.omit = codec::omit_when::empty}}};
};

api_error make_api_error(jetstream_errc number, std::initializer_list<placeholder> values = {});

// The same error inside a program: errc::api_error, api_code() the number, context the description.
error to_error(const api_error& problem);

}  // namespace tern::protocol
