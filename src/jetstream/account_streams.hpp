// The streams of one account, by name, and what they use together. Owned by the engine; one shard. (jetstream 20)
#pragma once

#include "jetstream/environment.hpp"
#include "jetstream/stream/stream_config.hpp"
#include "protocol/jetstream_error.hpp"
#include "storage/index/filter_trie.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tern::jetstream {

class stream;
class stream_transfers;

struct byte_usage {
  std::uint64_t memory = 0, storage = 0;
  std::uint64_t open_batches = 0;  // atomic ones that wait for their commit
  std::uint64_t& of(storage_type kind) { return kind == storage_type::memory ? memory : storage; }
  std::uint64_t of(storage_type kind) const { return kind == storage_type::memory ? memory : storage; }
};

class account_streams {
 public:
  // `server` sums the use of all accounts.
  account_streams(routing::account& account, environment& surroundings, const account_limits& limits,
                  byte_usage& server);
  ~account_streams();
  account_streams(const account_streams&) = delete;
  account_streams& operator=(const account_streams&) = delete;

  using stream_map = std::map<std::string, std::unique_ptr<stream>, std::less<>>;
  stream_map streams;
  // Streams that are there but cannot be served, and why: their names stay taken, their data is left alone (22).
  std::map<std::string, std::string, std::less<>> offline;
  account_limits limits;
  std::unique_ptr<stream_transfers> transfers;  // backups under way; null while there were none
  std::uint64_t api_total = 0, api_errors = 0;

  routing::account& account() const { return account_; }
  environment& surroundings() const { return surroundings_; }
  stream* find(std::string_view name) const;
  // From its opening to its end a stream is known by its subjects and its reservation; both follow its configuration.
  void list(stream& what);
  void unlist(stream& what);

  // --- rules between the streams of an account ---
  // Some other stream's subjects overlap with these.
  // Costs what overlaps, not the number of streams; so does matching().
  bool overlaps(const std::vector<std::string>& subjects, std::string_view except) const;
  // Names of streams one of whose subjects overlaps with the filter; an empty filter means all (jetstream 2). Sorted.
  std::vector<const stream*> matching(std::string_view subject_filter) const;
  // What the account and the server allow (20.2). `before` is the configuration that an update replaces, or null.
  std::optional<protocol::api_error> check_reservation(const stream_config& config, const stream_config* before) const;
  bool at_stream_limit() const;
  std::uint64_t reserved(storage_type kind) const { return reserved_.of(kind); }  // sum of positive max_bytes

  // --- use, kept by the streams ---
  const byte_usage& used() const { return used_; }
  void add_used(storage_type kind, std::int64_t change);
  void add_staged(storage_type kind, std::int64_t change);
  std::uint64_t& open_batches() { return server_.open_batches; }  // of the whole server
  // The server is above its limit already (10023).
  bool server_is_full(storage_type kind) const;
  // This record would bring the account above its limit (10002).
  bool account_is_full(storage_type kind, std::uint64_t record_bytes) const;

 private:
  std::int64_t account_limit(storage_type kind) const;
  std::int64_t server_limit(storage_type kind) const;

  routing::account& account_;
  environment& surroundings_;
  byte_usage used_;    // committed
  byte_usage staged_;  // on its way to the disk
  byte_usage& server_;
  byte_usage reserved_;
  storage::filter_trie<stream*> by_subject_;
};

}  // namespace tern::jetstream
