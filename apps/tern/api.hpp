// Requests to the JetStream API whose answers are kept as the server wrote them, so that --json can show exactly those.
// The typed calls of the client library read the same records; commands read them from the kept text (jetstream 1.3).
#pragma once

#include "session.hpp"

#include <tern/client/connection.hpp>
#include <tern/codec/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tern::command {

class jetstream_api {
 public:
  jetstream_api(session& in, client::connection over) : session_(in), connection_(std::move(over)) {}

  // `operation` is what stands behind the prefix: "STREAM.INFO.ORDERS". An answer that is an error is errc::api_error
  // with its number, after it was printed when JSON is asked for. No answer at all: errc::no_responders, errc::timeout.
  result<std::string> call(std::string_view operation, std::string_view body = {});
  template <class T>
  result<T> read(std::string_view operation, std::string_view body = {}) {
    auto answer = call(operation, body);
    if (!answer) return std::unexpected(std::move(answer).error());
    return codec::read_json<T>(*answer);
  }
  // Every page of a list. `operation` is "STREAM.LIST" and the like, `subject` restricts where it is not empty. The
  // elements of the answers' member `streams` or `consumers`, each as the server wrote it.
  result<std::vector<std::string>> list(std::string_view operation, std::string_view subject = {});

  client::connection& connection() { return connection_; }
  std::string prefix() const;

 private:
  session& session_;
  client::connection connection_;
};

// The error in an answer of the API or of a stream; nothing when it has none.
result<void> check_answer(std::string_view answer);
// Names go into the subject of the request, so they must be one token of it.
result<void> check_name(std::string_view what, std::string_view name);
// JSON arrays of texts that are JSON already.
std::string json_array(const std::vector<std::string>& elements);

}  // namespace tern::command
