// Advisories and metrics: JSON events that the server publishes in the account they concern (jetstream 19).
#pragma once

#include "jetstream/environment.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace tern::jetstream {

inline constexpr std::string_view advisory_prefix = "$JS.EVENT.ADVISORY.";
inline constexpr std::string_view ack_metric_prefix = "$JS.EVENT.METRIC.CONSUMER.ACK.";

// Builds one event: type, id and timestamp come first, then the members in the order of the calls.
//     advisory event(surroundings, "io.nats.jetstream.advisory.v1.nak");
//     event.add("stream", name).add("stream_seq", sequence);
//     stream.advise("CONSUMER.MSG_NAKED.S.C", std::move(event).finish());
// Ask for interest first (wants_advisory): an event nobody listens to is not worth building.
class advisory {
 public:
  advisory(environment& surroundings, std::string_view type);
  advisory& add(std::string_view key, std::string_view text);
  advisory& add(std::string_view key, const char* text) { return add(key, std::string_view(text)); }
  advisory& add(std::string_view key, std::uint64_t number);
  advisory& add(std::string_view key, bool flag);
  advisory& add_json(std::string_view key, std::string_view json);
  // Puts the domain last, when the server has one.
  std::string finish() &&;

 private:
  environment& surroundings_;
  std::string json_;
};

// Somebody listens on `$JS.EVENT.ADVISORY.<subject>` in the account.
bool wants_advisory(routing::account& account, std::string_view subject);
void publish_advisory(routing::account& account, std::string_view subject, std::string_view json);

}  // namespace tern::jetstream
