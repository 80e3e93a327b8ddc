// The inside of consumer_set, shared by its own file and the API's. Nobody else includes it.
#pragma once

#include "jetstream/advisory.hpp"
#include "jetstream/api.hpp"
#include "jetstream/consumer/consumer.hpp"
#include "jetstream/consumer/consumer_set.hpp"
#include "storage/index/filter_trie.hpp"

#include <tern/codec/json.hpp>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tern::jetstream {

// What the store keeps beside a consumer's state.
struct stored_consumer {
  std::string name;
  time_point created;
  consumer_config config;
};
std::string encode_consumer(const consumer& what);

// Its filters, or the one that matches everything.
std::vector<std::string> patterns_of(const consumer_config& config);

struct consumer_set::implementation final : consumer_owner {
  explicit implementation(stream_context& of);
  ~implementation() override;

  // --- consumer_owner ---
  stream_context& stream() override { return context; }
  storage::sequence last_committed() const override { return told; }
  void on_inactive(consumer& who) override;

  consumer* find(std::string_view name);
  consumer& adopt(std::unique_ptr<consumer> made);
  void remove(consumer& who);
  void bury();  // tells the pulls of removed consumers and frees them
  void bury_soon();
  void collect(std::string_view subject, std::vector<consumer*>& into);
  void list_filters(consumer& who);
  void unlist_filters(consumer& who);
  void tell(const consumer& who, std::string_view what, std::string_view action);

  // --- API ---
  std::optional<protocol::api_error> check_names(consumer_create_request& wanted, std::string_view name,
                                                 std::string_view filter, bool legacy_durable);
  std::optional<protocol::api_error> check_work_queue(const consumer_config& config, const consumer* itself);
  std::optional<protocol::api_error> create(consumer_create_request& wanted, const std::string& name, consumer*& out);
  std::optional<protocol::api_error> update(consumer& who, consumer_create_request& wanted);
  consumer* find_or_refuse(api_request& request, std::string_view name);
  std::string describe(const api_request& request, consumer& who);
  void answer_and_release(api_request& request, consumer& who);

  stream_context& context;
  std::map<std::string, std::unique_ptr<consumer>, std::less<>> consumers;
  std::map<std::string, std::string, std::less<>> offline;  // name -> why
  storage::filter_trie<consumer*> filters;
  std::vector<std::unique_ptr<consumer>> graveyard;
  std::vector<consumer*> scratch;
  storage::sequence told = 0;
  std::size_t listed = 0;
  std::uint64_t mark = 0;
  std::size_t purging = 0;  // messages that the purge under way has removed
  timer_queue::timer burial;
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);  // for actions that wait for the disk
};

}  // namespace tern::jetstream
