// Consumers as people read them.
#pragma once

#include <tern/client/jetstream_records.hpp>

#include <string>
#include <vector>

namespace tern::command {

std::string describe_consumer(const client::consumer_info& consumer);
// One line per consumer, in the order of their names.
std::string describe_consumers(std::vector<client::consumer_info> consumers, time_point now);

}  // namespace tern::command
