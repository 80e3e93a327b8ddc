// The consumers of one stream: creation, lookup, and the events that a stream passes on to them. A publish wakes only
// the consumers whose filter matches, through a trie of filters; nothing here loops over all consumers per message.
// Owned by the stream; one shard.
#pragma once

#include "jetstream/stream_context.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tern::jetstream {

class consumer;
class api_request;

enum class removal_reason { limits, deleted, purged };

class consumer_set {
 public:
  explicit consumer_set(stream_context& stream);
  ~consumer_set();
  consumer_set(const consumer_set&) = delete;
  consumer_set& operator=(const consumer_set&) = delete;

  // --- what the stream tells ---
  void on_committed(storage::sequence number, std::string_view subject);  // a message can be read now
  // Before a message goes. Pending entries are terminated (13.9), counts repaired. Purges call it per message and
  // on_purged() once after all.
  void on_removed(storage::sequence number, std::string_view subject, removal_reason why);
  void on_purged(std::string_view subject_pattern);
  void on_stream_updated();
  void on_stream_deleted();   // every consumer goes, waiting pulls are told (12.5)
  void on_server_shutdown();  // `409 Server Shutdown` to waiting pulls (15, 22)

  // --- what the stream asks ---
  bool wanted(std::string_view subject) const;  // some consumer's filter matches: interest retention stores it (6.3)
  // Some consumer whose filter matches has neither settled the message nor passed it.
  bool needs(storage::sequence number, std::string_view subject) const;
  std::size_t size() const;  // without direct ones

  // --- API: CONSUMER.CREATE/DURABLE.CREATE/INFO/DELETE/NAMES/LIST (12). Answers by request.respond, when durable. ---
  // Tokens are those after "$JS.API.CONSUMER.<op>.<stream>."; `name` and `filter` may be empty.
  void handle_create(api_request& request, std::string_view name, std::string_view filter, bool legacy_durable);
  void handle_info(api_request& request, std::string_view name);
  void handle_delete(api_request& request, std::string_view name);
  void handle_names(api_request& request);
  void handle_list(api_request& request);
  void handle_pause(api_request& request, std::string_view name);
  // Checks the body, then the consumer (17.2).
  void handle_unpin(api_request& request, std::string_view name);

  // At start-up: rebuilds every consumer from the store's records (22). Unreadable ones stay offline and are reported.
  void recover();

  consumer* find(std::string_view name);
  // By name; direct ones included. For monitoring.
  void for_each(const std::function<void(consumer&)>& visit) const;
  // CONSUMER.INFO's object of each, as monitoring shows them: `{...},{...}`, direct ones left out.
  void append_infos(std::string& json) const;

 private:
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace tern::jetstream
