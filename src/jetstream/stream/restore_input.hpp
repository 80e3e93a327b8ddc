// Unpacked bytes of a backup become calls of a stream_loader: which of the two archives it is, their order, their
// checks (jetstream 10). Owned by the restore; one shard.
#pragma once

#include "jetstream/stream/stream_loader.hpp"
#include "protocol/jetstream_error.hpp"
#include "storage/archive/peer_directory.hpp"
#include "storage/archive/stream_archive.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tern::jetstream {

class restore_input final : private storage::archive::peer_block_merger::sink {
 public:
  using problem = std::optional<protocol::api_error>;
  // `replicated`: more than one replica was asked for.
  restore_input(account_streams& in, stream_config config, bool replicated);
  ~restore_input() override;

  problem push(std::string_view bytes);
  // No more comes. The stream is whole once the store has confirmed it, unless there is a problem.
  problem end();
  // Once what was appended is confirmed, before end() is confirmed.
  std::uint64_t bytes() const { return loader_ == nullptr ? 0 : loader_->bytes(); }
  stream_loader* loader() { return loader_.get(); }
  bool is_ended() const { return ended_; }

 private:
  static problem failed(std::string text);
  problem start(storage::sequence first, std::uint64_t bytes);
  problem take_entries();
  problem take_entry(const storage::archive::archive_entry& entry);
  problem take_message(const storage::archive::archive_entry& entry);
  problem take_files();
  problem take_file(const storage::archive::tar_reader::file& file);
  problem take_consumer_file(std::string_view consumer, std::string_view name, std::string_view content);
  problem check_usage(std::uint64_t more) const;
  problem check_consumer(archived_consumer& what) const;
  // --- of the older archive ---
  result<void> message(const storage::archive::peer_record& what) override;
  void damaged(std::uint32_t block, std::uint64_t offset, std::uint64_t size, std::uint64_t after) override;
  problem end_of_files();

  enum class format { unknown, archive, files } format_ = format::unknown;
  enum class phase { state, consumers, messages, done } phase_ = phase::state;
  account_streams& in_;
  stream_config config_;
  bool replicated_;
  std::string head_;  // the first bytes, until they tell the format
  storage::archive::archive_reader entries_;
  storage::archive::tar_reader files_;
  std::unique_ptr<stream_loader> loader_;
  archived_state state_;
  std::int64_t consumers_left_ = 0;
  bool ended_ = false;

  storage::archive::peer_block_merger merger_;
  bool has_metadata_ = false;
  time_point created_{};
  problem block_problem_;
  struct consumer_files {
    std::string metadata;
    std::optional<std::string> state;
  };
  std::map<std::string, consumer_files> consumers_;
};

}  // namespace tern::jetstream
