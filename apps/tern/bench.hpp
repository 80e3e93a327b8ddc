// tern bench: how fast a server takes and delivers messages, seen from one client process.
#pragma once

#include "session.hpp"

#include <cstdint>
#include <string>

namespace tern::command {

struct bench_arguments {
  std::string subject;
  std::uint64_t messages = 100'000;
  std::string size = "128B";
  std::uint32_t clients = 1;
};

// Each client publishes its share of the messages.
result<void> bench_publish(session& in, const bench_arguments& what);
// Each client receives that many messages; time counts from the first one.
result<void> bench_subscribe(session& in, const bench_arguments& what);

struct bench_jetstream_arguments {
  bench_arguments base;
  std::uint32_t batch = 500;  // acknowledgements that a client lets stand open; 1 waits for each
  bool create = false;        // make the stream `stream` over the subject first
  bool purge = false;
  std::string stream = "benchstream";
  std::string storage = "file";
  bool persist_async = false;
};
result<void> bench_jetstream_publish(session& in, const bench_jetstream_arguments& what);

}  // namespace tern::command
