// The loop that an application runs on: its own, or one that a test broker lends it.
#pragma once

#include "runtime/clock.hpp"
#include "runtime/random.hpp"
#include "runtime/shard.hpp"
#include "runtime/transport.hpp"

#include <memory>
#include <semaphore>
#include <thread>

namespace tern::service::detail {

// What an application needs of a loop. The members outlive the application.
struct app_loop {
  runtime::shard* shard = nullptr;
  runtime::transport* network = nullptr;
  bool shared = false;  // other applications run on the same thread
};

// Real clock, real network. start() gives it a thread; run() uses the caller's.
class owned_loop {
 public:
  owned_loop() : shard_(clock_, randomness_), network_(runtime::make_tcp_transport(shard_)) {}
  ~owned_loop() { stop(); }

  app_loop loop() { return {&shard_, network_.get()}; }
  void start() {
    // Until the thread has taken the loop over, the loop would believe that this thread is its own.
    std::binary_semaphore taken_over(0);
    shard_.post([&] { taken_over.release(); });
    thread_ = std::thread([this] { shard_.run(); });
    taken_over.acquire();
  }
  void run() { shard_.run(); }
  // Ends run(); waits for the thread unless it is the caller.
  void stop() {
    shard_.stop();
    if (!thread_.joinable()) return;
    if (thread_.get_id() == std::this_thread::get_id()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }

 private:
  runtime::real_clock clock_;
  runtime::real_random randomness_;
  runtime::shard shard_;
  std::unique_ptr<runtime::transport> network_;
  std::thread thread_;
};

}  // namespace tern::service::detail
