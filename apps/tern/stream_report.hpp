// Streams and their messages as people read them.
#pragma once

#include <tern/client/jetstream_records.hpp>

#include <string>
#include <vector>

namespace tern::command {

std::string describe_stream(const client::stream_info& stream);
std::string describe_stream_state(const client::stream_info& stream);
// One line per stream, in the order of their names.
std::string describe_streams(std::vector<client::stream_info> streams, time_point now);

}  // namespace tern::command
