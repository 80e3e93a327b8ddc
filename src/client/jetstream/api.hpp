// Calls of the JetStream API: one request with a JSON body, one JSON answer that is a record or an error
// (jetstream 1.3).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <tern/client/jetstream_records.hpp>
#include <tern/client/operation.hpp>
#include <tern/codec/json.hpp>

#include "client/connection_core.hpp"

namespace tern::client::detail {

// The error of an answer: api_error, or the code of its own that jetstream.hpp promises, with the number.
error api_error_of(int code, int err_code, std::string_view description);
// Empty when the answer is no error.
std::optional<error> api_problem(std::string_view answer);
// Names of streams and consumers: not empty, no blanks, none of . * > / and backslash.
result<void> check_asset_name(std::string_view what, std::string_view name);

// A stored message as direct get sends it: its place stands in headers. A status is an error (404: errc::not_found).
result<stored_message> read_direct_answer(const protocol::message_frame& frame);

template <class T>
result<T> read_answer(std::string_view answer) {
  if (auto problem = api_problem(answer)) return std::unexpected(*std::move(problem));
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return codec::read_json<T>(answer, codec::peer_lenient);
  }
}

// The callback runs on the loop, once; when the request could not be sent, at once on the calling thread.
void api_call(connection_core& core, const std::string& subject, std::string_view body, nanoseconds patience,
              std::move_only_function<void(result<std::string_view>)> done);

// T is what the API's record is read as; `convert` makes the result of it.
template <class T, class Record = T, class Convert = std::identity>
operation<T> api_operation(connection_core& core, const std::string& subject, std::string_view body,
                           nanoseconds patience, Convert convert = {}) {
  auto state = std::make_shared<operation_state<T>>(core.loop_identity());
  api_call(core, subject, body, patience, [state, convert](result<std::string_view> answer) {
    (void)convert;  // not needed for void
    if (!answer) {
      state->complete(std::unexpected(std::move(answer).error()));
      return;
    }
    auto record = read_answer<Record>(*answer);
    if (!record) {
      state->complete(std::unexpected(std::move(record).error()));
    } else if constexpr (std::is_void_v<T>) {
      state->complete({});
    } else {
      state->complete(result<T>(convert(*std::move(record))));
    }
  });
  return operation<T>(state);
}

}  // namespace tern::client::detail
