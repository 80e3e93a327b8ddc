// The rest of the JetStream API: what is done to a consumer besides creating it, and reads of many messages.
#include "base/numbers.hpp"
#include "client/jetstream/api.hpp"
#include "client/jetstream/core.hpp"
#include "protocol/headers.hpp"

namespace tern::client {
namespace detail {
namespace {

struct pause_request {
  std::optional<time_point> pause_until;
};
struct unpin_request {
  std::string group;
};
struct reset_request {
  std::uint64_t seq = 0;
};
struct empty_answer {};

constexpr int status_no_content = 204;  // behind the last message

template <class T, class Record = T>
operation<T> consumer_call(const std::shared_ptr<jetstream_core>& core, std::string_view verb, std::string_view stream,
                           std::string_view consumer, std::string_view body) {
  if (!core) return operation<T>::ended(fail(errc::closed, "no connection"));
  if (auto good = check_asset_name("stream", stream); !good) {
    return operation<T>::ended(std::unexpected(std::move(good).error()));
  }
  if (auto good = check_asset_name("consumer", consumer); !good) {
    return operation<T>::ended(std::unexpected(std::move(good).error()));
  }
  std::string subject = core->subject("CONSUMER.");
  subject.append(verb).append(".").append(stream).append(".").append(consumer);
  return api_operation<T, Record>(core->connection(), subject, body, core->api_patience());
}

using messages_state = operation_state<std::vector<stored_message>>;

// One of the answers; true ends the request. `all` are those before it.
bool gather(result<protocol::message_frame> reply, std::vector<stored_message>& all, messages_state& state) {
  if (!reply) {
    state.complete(std::unexpected(std::move(reply).error().within("direct get")));
    return true;
  }
  if (protocol::header_view(reply->header()).status() == status_no_content) {
    state.complete(std::move(all));
    return true;
  }
  auto stored = read_direct_answer(*reply);
  if (!stored) {
    state.complete(std::unexpected(std::move(stored).error()));
    return true;
  }
  all.push_back(*std::move(stored));
  return false;
}

operation<std::vector<stored_message>> read_many(const std::shared_ptr<jetstream_core>& core, std::string_view stream,
                                                 std::string_view body) {
  using outcome = operation<std::vector<stored_message>>;
  if (!core) return outcome::ended(fail(errc::closed, "no connection"));
  if (auto good = check_asset_name("stream", stream); !good) {
    return outcome::ended(std::unexpected(std::move(good).error()));
  }
  auto state = std::make_shared<messages_state>(core->connection().loop_identity());
  auto sent = core->connection().request(
      core->subject("DIRECT.GET." + std::string(stream)), {}, body, core->api_patience(),
      [state, all = std::vector<stored_message>()](result<protocol::message_frame> reply) mutable {
        return gather(std::move(reply), all, *state);
      });
  if (!sent) state->complete(std::unexpected(std::move(sent).error()));
  return outcome(state);
}

}  // namespace
}  // namespace detail

operation<pause_state> jetstream::pause_consumer(std::string_view stream, std::string_view consumer, time_point until) {
  detail::pause_request request;
  request.pause_until = until;
  return detail::consumer_call<pause_state>(core_, "PAUSE", stream, consumer, codec::to_json(request));
}

operation<pause_state> jetstream::resume_consumer(std::string_view stream, std::string_view consumer) {
  return detail::consumer_call<pause_state>(core_, "PAUSE", stream, consumer, {});
}

operation<void> jetstream::unpin_consumer(std::string_view stream, std::string_view consumer, std::string_view group) {
  detail::unpin_request request;
  request.group = group;
  return detail::consumer_call<void, detail::empty_answer>(core_, "UNPIN", stream, consumer, codec::to_json(request));
}

operation<client::consumer_info> jetstream::reset_consumer(std::string_view stream, std::string_view consumer,
                                                           std::optional<std::uint64_t> sequence) {
  detail::reset_request request;
  request.seq = sequence.value_or(0);
  return detail::consumer_call<client::consumer_info>(core_, "RESET", stream, consumer,
                                                      sequence ? codec::to_json(request) : std::string());
}

operation<std::vector<stored_message>> jetstream::direct_get_batch(std::string_view stream, const batch_query& which) {
  batch_query query(which);
  if (!query.seq && !query.start_time) query.seq = 1;  // a batch needs a beginning
  return detail::read_many(core_, stream, codec::to_json(query));
}

operation<std::vector<stored_message>> jetstream::direct_get_last_of(std::string_view stream,
                                                                     const last_messages_query& which) {
  return detail::read_many(core_, stream, codec::to_json(which));
}

}  // namespace tern::client
