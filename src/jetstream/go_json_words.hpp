// What nats-server's JSON decoder says of a value that does not fit, in its own words: some clients show them, and some
// tests compare them (jetstream 1.5).
#pragma once

#include <tern/codec/reflect.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace tern::jetstream {

// `type` is what the body was to be read as, `response_type` that of the operation's answers, which tells what the peer
// calls the request. Empty when the body is malformed, or wrong in some other way.
std::optional<std::string> describe_misfit(std::string_view body, const codec::value_type& type,
                                           std::string_view response_type);

// The body ends inside of something that it has opened: "unexpected EOF".
bool is_cut_json(std::string_view body);

}  // namespace tern::jetstream
