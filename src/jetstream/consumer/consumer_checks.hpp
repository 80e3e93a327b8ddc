// What a consumer's configuration may say, and what stands in for what it does not say (jetstream 11, 12.3).
#pragma once

#include "jetstream/consumer/consumer_config.hpp"
#include "jetstream/environment.hpp"
#include "jetstream/stream/stream_config.hpp"
#include "protocol/jetstream_error.hpp"

#include <optional>

namespace tern::jetstream {

// Empty: nothing is wrong.
using config_problem = std::optional<protocol::api_error>;

struct consumer_surroundings {
  const stream_config& stream;
  const limits& server;
  const account_limits& account;
  const consumer_config* present = nullptr;  // the consumer that an update is for
};

// Fills in defaults and mends what may be mended; pedantic requests are refused instead (1.11).
config_problem apply_consumer_defaults(consumer_config& config, const consumer_surroundings& around, bool pedantic);
// Everything but what concerns the stream's other consumers.
config_problem check_consumer(const consumer_config& config, const consumer_surroundings& around);
// What a stream of one consumer per message asks of each; told after what an existing consumer may not become.
config_problem check_consumer_of_work_queue(const consumer_config& config);
// What an existing consumer may not become. The deliver subject is the caller's to judge: it depends on who listens.
config_problem check_consumer_update(const consumer_config& present, const consumer_config& wanted);

// Writes `_nats.req.level` and drops the server's own keys (1.7).
void stamp_consumer_metadata(consumer_config& config);
// The config in the form in which equal ones compare equal.
consumer_config comparable(consumer_config config);

bool is_valid_priority_group(std::string_view name);
// "25" and "25%"; empty: none.
result<int> parse_sample_frequency(std::string_view text);

}  // namespace tern::jetstream
