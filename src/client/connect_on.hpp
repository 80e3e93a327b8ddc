// A connection on a loop that exists already: in-process brokers with a paused clock, and programs with a shard of
// their own. Callbacks and completions then run on that shard; coroutines resume on whatever executor they run on,
// which may be the shard's io_context. The shard and the transport outlive the connection's core: close() the
// connection and let the shard run once more before they go.
//
// Servers of an in-process network are named by URLs `inproc://name`.
#pragma once

#include <tern/client/connection.hpp>

#include "runtime/shard.hpp"
#include "runtime/transport.hpp"

namespace tern::client {

operation<connection> connect_on(runtime::shard& loop, runtime::transport& network, const options& with);

// The loop that a connection runs on, for timers and the clock; null for a closed handle. Used on its thread only.
runtime::shard* shard_of(const connection& of);

}  // namespace tern::client
