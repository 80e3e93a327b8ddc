// The backups of an account that are under way: streams that are sent out, streams that come in (jetstream 10). Each is
// an object that ends by itself; this one keeps them. Owned by account_streams; one shard.
#pragma once

#include "jetstream/account_streams.hpp"
#include "jetstream/api.hpp"

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace tern::jetstream {

// One of them. It calls stream_transfers::end() as the last thing that it does.
class stream_transfer {
 public:
  virtual ~stream_transfer() = default;
};

class stream_transfers {
 public:
  static constexpr std::size_t transfers_max = 256;  // of one account; each holds a window of chunks

  void add(std::unique_ptr<stream_transfer> what) { running_.push_back(std::move(what)); }
  // It may still be running: it goes at the end of the turn, when the next one is added, or with the account.
  void end(const stream_transfer* what);
  bool full() const { return running_.size() >= transfers_max; }

 private:
  std::vector<std::unique_ptr<stream_transfer>> running_, ended_;
};

// Of the account, made with the first.
stream_transfers& transfers_of(account_streams& in);

namespace stream_api {
// The operations STREAM.SNAPSHOT and STREAM.RESTORE. `name` is the stream token of the request's subject.
void snapshot(account_streams& in, api_request& request, std::string_view name);
void restore(account_streams& in, api_request& request, std::string_view name);
}  // namespace stream_api

// `{"acc":"A"}`, or all that is known about who asked, for the advisories.
std::string client_of(const api_request& request);

}  // namespace tern::jetstream
