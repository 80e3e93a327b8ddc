#include "jetstream/api_routes.hpp"

#include "jetstream/consumer/consumer_config.hpp"
#include "jetstream/consumer/consumer_set.hpp"
#include "jetstream/stream/stream.hpp"
#include "jetstream/stream/stream_api.hpp"
#include "jetstream/stream/stream_transfers.hpp"
#include "protocol/subject.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace tern::jetstream {
namespace {

using protocol::jetstream_errc;

// Tokens of the whole subject: $JS.API.<group>.<operation>.<stream>.<consumer>
constexpr std::size_t stream_token = 4, consumer_token = 5;
constexpr std::size_t message_operation_stream_token = 5;  // STREAM.MSG.GET.<stream>

std::string_view token(const api_request& request, std::size_t index) {
  return protocol::nth_token(request.subject, index);
}

// Everything from a token on.
std::string_view rest_from(const api_request& request, std::size_t index) {
  std::string_view rest = request.subject;
  for (; index > 0; --index) {
    const std::size_t dot = rest.find('.');
    if (dot == std::string_view::npos) return {};
    rest.remove_prefix(dot + 1);
  }
  return rest;
}

template <void (*Operation)(account_streams&, api_request&, std::string_view), std::size_t Token = stream_token>
void on_stream(account_streams& in, api_request& request) {
  Operation(in, request, token(request, Token));
}

consumer_set* consumers_of(account_streams& in, api_request& request, std::size_t index = stream_token) {
  stream* found = stream_api::find_or_answer(in, request, token(request, index));
  return found == nullptr ? nullptr : &found->consumers();
}

// A body that cannot be read is told of before a stream that is not there.
bool is_readable_create(api_request& request) {
  consumer_create_request body;
  return request.decode(body);
}

void create_consumer(account_streams& in, api_request& request) {
  if (!is_readable_create(request)) return;
  if (auto* set = consumers_of(in, request))
    set->handle_create(request, token(request, consumer_token), rest_from(request, consumer_token + 1), false);
}

void create_durable_consumer(account_streams& in, api_request& request) {
  constexpr std::size_t shift = 1;  // CONSUMER.DURABLE.CREATE
  if (!is_readable_create(request)) return;
  if (auto* set = consumers_of(in, request, stream_token + shift))
    set->handle_create(request, token(request, consumer_token + shift), {}, true);
}

void consumer_info(account_streams& in, api_request& request) {
  if (!request.expect_no_body()) return;
  if (auto* set = consumers_of(in, request)) set->handle_info(request, token(request, consumer_token));
}

void delete_consumer(account_streams& in, api_request& request) {
  if (!request.expect_no_body()) return;
  if (auto* set = consumers_of(in, request)) set->handle_delete(request, token(request, consumer_token));
}

void consumer_names(account_streams& in, api_request& request) {
  if (auto* set = consumers_of(in, request)) set->handle_names(request);
}

void list_consumers(account_streams& in, api_request& request) {
  if (auto* set = consumers_of(in, request)) set->handle_list(request);
}

void pause_consumer(account_streams& in, api_request& request) {
  if (auto* set = consumers_of(in, request)) set->handle_pause(request, token(request, consumer_token));
}

void unpin_consumer(account_streams& in, api_request& request) {
  if (auto* set = consumers_of(in, request)) set->handle_unpin(request, token(request, consumer_token));
}

void needs_cluster(account_streams&, api_request& request) { request.respond_error(jetstream_errc::cluster_required); }

constexpr std::string_view page_of_names = ",\"total\":0,\"offset\":0,\"limit\":0,\"streams\":null";
constexpr std::string_view page_of_streams = ",\"total\":0,\"offset\":0,\"limit\":0,\"streams\":[]";
constexpr std::string_view page_of_subjects = ",\"total\":0,\"offset\":0,\"limit\":0";
constexpr std::string_view not_paused = ",\"paused\":false,\"pause_until\":\"0001-01-01T00:00:00Z\"";
constexpr std::string_view page_of_consumers = ",\"total\":0,\"offset\":0,\"limit\":0,\"consumers\":[]";

const std::array routes = {
    api_route{"INFO", {"account_info_response"}, &stream_api::account_info},
    api_route{"STREAM.CREATE.*", {"stream_create_response"}, &on_stream<&stream_api::create>},
    api_route{"STREAM.UPDATE.*", {"stream_update_response"}, &on_stream<&stream_api::update>},
    api_route{"STREAM.NAMES", {"stream_names_response", page_of_names}, &stream_api::names},
    api_route{"STREAM.LIST", {"stream_list_response", page_of_streams}, &stream_api::list},
    api_route{"STREAM.INFO.*", {"stream_info_response", page_of_subjects}, &on_stream<&stream_api::info>},
    api_route{"STREAM.DELETE.*", {"stream_delete_response"}, &on_stream<&stream_api::remove>},
    api_route{"STREAM.PURGE.*", {"stream_purge_response", ",\"purged\":0"}, &on_stream<&stream_api::purge>},
    api_route{"STREAM.MSG.GET.*",
              {.type = "stream_msg_get_response", .audited = false},
              &on_stream<&stream_api::get_message, message_operation_stream_token>},
    api_route{"STREAM.MSG.DELETE.*",
              {"stream_msg_delete_response"},
              &on_stream<&stream_api::delete_message, message_operation_stream_token>},
    api_route{"STREAM.SNAPSHOT.*",
              {.type = "stream_snapshot_response", .describes_client = true},
              &on_stream<&stream_api::snapshot>},
    api_route{"STREAM.RESTORE.*",
              {.type = "stream_restore_response", .on_error = ",\"deliver_subject\":\"\"", .describes_client = true},
              &on_stream<&stream_api::restore>},
    api_route{"STREAM.LEADER.STEPDOWN.*", {"stream_leader_stepdown_response"}, &needs_cluster},
    api_route{"STREAM.PEER.REMOVE.*", {"stream_remove_peer_response"}, &needs_cluster},
    api_route{"CONSUMER.CREATE.*", {"consumer_create_response"}, &create_consumer},
    api_route{"CONSUMER.CREATE.*.*", {"consumer_create_response"}, &create_consumer},
    api_route{"CONSUMER.CREATE.*.*.>", {"consumer_create_response"}, &create_consumer},
    api_route{"CONSUMER.DURABLE.CREATE.*.*", {"consumer_create_response"}, &create_durable_consumer},
    api_route{"CONSUMER.NAMES.*", {"consumer_names_response", page_of_consumers}, &consumer_names},
    api_route{"CONSUMER.LIST.*", {"consumer_list_response", page_of_consumers}, &list_consumers},
    api_route{"CONSUMER.INFO.*.*", {"consumer_info_response"}, &consumer_info},
    api_route{"CONSUMER.DELETE.*.*", {"consumer_delete_response"}, &delete_consumer},
    api_route{"CONSUMER.PAUSE.*.*", {"consumer_pause_response", not_paused}, &pause_consumer},
    api_route{"CONSUMER.UNPIN.*.*", {"consumer_unpin_response"}, &unpin_consumer},
    api_route{"CONSUMER.LEADER.STEPDOWN.*.*", {"consumer_leader_stepdown_response"}, &needs_cluster},
};

}  // namespace

const api_route* find_route(std::string_view subject_after_prefix) {
  const auto found = std::ranges::find_if(routes, [subject_after_prefix](const api_route& route) {
    return protocol::subject_matches(route.pattern, subject_after_prefix);
  });
  return found == routes.end() ? nullptr : &*found;
}

bool is_asset_subject(std::string_view subject_after_prefix) {
  return subject_after_prefix.starts_with("DIRECT.GET.") || subject_after_prefix.starts_with("CONSUMER.MSG.NEXT.");
}

}  // namespace tern::jetstream
