// One stream on its way in: chunks of a compressed archive become messages of a stream that nobody sees before it is
// whole (jetstream 10).
//
// Both of the peer's archives are taken: the present one, and the tar of a file store's files. A chunk is answered when
// what it held is on the disk, so the sender follows it. Each turn unpacks a bounded share. What fails is told at the
// end, and nothing stays of it. One shard.
#pragma once

#include "base/timer_queue.hpp"
#include "jetstream/stream/stream_loader.hpp"
#include "jetstream/stream/stream_transfers.hpp"
#include "storage/archive/peer_directory.hpp"
#include "storage/archive/s2.hpp"
#include "storage/archive/stream_archive.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tern::jetstream {

// Why a restore fails: with the number of an API error, or with a text that 10062 carries.
class restore_input;

class stream_restore final : public stream_transfer, private routing::receiver {
 public:
  stream_restore(account_streams& in, stream_config config, bool replicated, std::string client);
  ~stream_restore() override;
  // Where the chunks go.
  std::string begin();

 private:
  struct chunk {
    std::string bytes, reply;
  };
  bool deliver(routing::subscription& to, const routing::message& what) override;
  void step();
  bool take_front();
  void confirm(std::string reply);
  void fail_with(protocol::api_error why);
  void complete(const std::string& reply);
  void open_stream(const std::string& reply);
  void conclude(const std::string& reply, const std::string& answer);
  void abandon();
  void stop();
  std::string error_answer() const;

  account_streams& in_;
  stream_config config_;
  std::string client_;
  time_point began_;
  routing::subscription* interest_ = nullptr;
  timer_queue::timer step_timer_, idle_timer_;
  std::deque<chunk> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t received_ = 0;
  bool pushed_ = false;  // the first waiting chunk is being unpacked
  bool input_ended_ = false;
  bool ended_ = false;
  storage::archive::s2_frame_reader frames_;
  std::unique_ptr<restore_input> input_;
  std::optional<protocol::api_error> problem_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tern::jetstream
