#include "jetstream/stream/stream_transfers.hpp"

#include <tern/codec/json.hpp>

#include <algorithm>

namespace tern::jetstream {

void stream_transfers::end(const stream_transfer* what) {
  ended_.clear();
  const auto found = std::ranges::find_if(running_, [what](const auto& each) { return each.get() == what; });
  if (found == running_.end()) return;
  ended_.push_back(std::move(*found));
  running_.erase(found);
}

stream_transfers& transfers_of(account_streams& in) {
  if (in.transfers == nullptr) in.transfers = std::make_unique<stream_transfers>();
  return *in.transfers;
}

std::string client_of(const api_request& request) {
  if (!request.client.empty()) return request.client;
  std::string client = "{\"acc\":";
  codec::write_json_string(client, request.account.name());
  return client + '}';
}

}  // namespace tern::jetstream
