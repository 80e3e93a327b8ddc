// The thread and the event loop of a connection that brings its own.
#pragma once

#include <memory>
#include <thread>

#include "runtime/clock.hpp"
#include "runtime/random.hpp"
#include "runtime/shard.hpp"
#include "runtime/transport.hpp"

namespace tern::client {

// Kept alive by the connection and by its own thread. Invariant: the thread runs from start() until stop().
class own_loop : public std::enable_shared_from_this<own_loop> {
 public:
  own_loop() : loop_(clock_, random_), network_(runtime::make_tcp_transport(loop_)) {}
  ~own_loop();

  void start();
  // For the end of the thread, which loop().stop() brings; nothing on the thread itself.
  void wait();

  runtime::shard& loop() { return loop_; }
  runtime::transport& network() { return *network_; }

 private:
  runtime::real_clock clock_;
  runtime::real_random random_;
  runtime::shard loop_;
  std::unique_ptr<runtime::transport> network_;
  std::thread thread_;
};

}  // namespace tern::client
