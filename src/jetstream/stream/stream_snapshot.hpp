// One stream on its way out: an archive in the peer's format, made as it is sent, in chunks that the receiver
// acknowledges (jetstream 10).
//
// Its messages are those up to the last sequence at the time of the request, its consumers as they were then. What is
// deleted meanwhile is left out, what is published meanwhile too. Nothing waits: each turn makes a bounded share, and
// no more than the window is on its way. One shard.
#pragma once

#include "base/timer_queue.hpp"
#include "jetstream/stream/stream_transfers.hpp"
#include "storage/archive/s2.hpp"
#include "storage/stream_log.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tern::jetstream {

class stream;

class stream_snapshot final : public stream_transfer, private routing::receiver {
 public:
  struct request {
    std::string deliver_subject;
    bool no_consumers = false;
    std::int64_t chunk_size = 0;
    std::int64_t window_size = 0;
    bool jsck = false;  // messages are verified in any case
  };
  stream_snapshot(account_streams& in, stream& of, request what, std::string client);
  ~stream_snapshot() override;
  void begin();

 private:
  bool deliver(routing::subscription& to, const routing::message& what) override;
  void collect();
  bool has_interest() const;
  void on_interest();
  void start_sending();
  void step();
  bool make_more();
  void send_chunk();
  void finish(std::string status, std::string problem);
  void tell_complete(const std::string& problem);
  stream* source() const;

  account_streams& in_;
  request what_;
  std::string name_, identity_, client_;
  time_point began_;
  std::string ack_prefix_;
  routing::subscription* acks_ = nullptr;
  std::size_t chunk_size_;
  std::size_t window_;  // chunks
  timer_queue::timer step_timer_, interest_timer_, ack_timer_;
  std::unique_ptr<routing::account::interest_watch> watch_;
  bool had_interest_ = false, lost_interest_ = false;
  bool ended_ = false;

  storage::sequence next_ = 0, last_ = 0;
  bool complete_ = false;  // everything is in out_
  storage::archive::snappy_frame_writer frames_;
  std::string entry_;  // scratch
  std::string out_;    // compressed, not yet sent
  std::size_t sent_ = 0;
  std::size_t in_flight_ = 0;
  std::uint64_t index_ = 0;
};

}  // namespace tern::jetstream
