#include "client/jetstream/api.hpp"

#include "base/numbers.hpp"
#include "client/jetstream/core.hpp"
#include "protocol/headers.hpp"

namespace tern::client {
namespace detail {
namespace {

struct api_problem_record {
  int code = 0;
  int err_code = 0;
  std::string description;
};
struct envelope {
  std::optional<api_problem_record> error;
};

errc code_of(int err_code) {
  switch (err_code) {
    case 10014:  // consumer not found
    case 10037:  // no message found
    case 10059:  // stream not found
      return errc::not_found;
    case 10013:  // consumer name already in use
    case 10058:  // stream name already in use with a different configuration
    case 10148:  // consumer already exists
      return errc::already_exists;
    case 10071:  // wrong last sequence
    case 10164:
      return errc::wrong_last_sequence;
    default:
      return errc::api_error;
  }
}

}  // namespace

error api_error_of(int code, int err_code, std::string_view description) {
  std::string text(description);
  if (text.empty()) text = "JetStream API error " + std::to_string(code);
  return error(code_of(err_code), std::move(text)).with_api_code(err_code);
}

std::optional<error> api_problem(std::string_view answer) {
  if (answer.find("\"error\"") == std::string_view::npos) return std::nullopt;
  const auto read = codec::read_json<envelope>(answer, codec::peer_lenient);
  if (!read) return read.error();
  if (!read->error) return std::nullopt;
  return api_error_of(read->error->code, read->error->err_code, read->error->description);
}

result<void> check_asset_name(std::string_view what, std::string_view name) {
  bool good = !name.empty();
  for (const char letter : name) {
    good = good && static_cast<unsigned char>(letter) > ' ' && letter != '.' && letter != '*' && letter != '>' &&
           letter != '/' && letter != '\\';
  }
  if (good) return {};
  return fail(errc::invalid_argument,
              std::string(what) + " name '" + std::string(name) + "' is empty or has a blank or one of . * > / \\");
}

void api_call(connection_core& core, const std::string& subject, std::string_view body, nanoseconds patience,
              std::move_only_function<void(result<std::string_view>)> done) {
  auto shared = std::make_shared<std::move_only_function<void(result<std::string_view>)>>(std::move(done));
  auto sent = core.request(subject, {}, body, patience, [shared, subject](result<protocol::message_frame> reply) {
    if (reply) {
      (*shared)(reply->payload());
    } else if (reply.error().code() == errc::no_responders) {
      (*shared)(fail(errc::no_responders, subject + ": JetStream does not answer", "is it enabled for this account?"));
    } else {
      (*shared)(std::unexpected(std::move(reply).error().within(subject)));
    }
    return true;
  });
  if (!sent) (*shared)(std::unexpected(std::move(sent).error()));
}

// A direct answer is the message itself, with where it stood as headers (jetstream 8.2).
result<stored_message> read_direct_answer(const protocol::message_frame& frame) {
  const protocol::header_view view(frame.header());
  if (const int status = view.status(); status != 0) {
    const errc code = status == 404 ? errc::not_found : errc::api_error;
    return fail(code, "direct get: " + std::to_string(status) + " " + std::string(view.description()));
  }
  stored_message stored;
  const auto sequence = parse_decimal(view.get("Nats-Sequence").value_or(""));
  const auto time = parse_rfc3339(view.get("Nats-Time-Stamp").value_or(""));
  if (!sequence || !time) return fail(errc::protocol_error, "direct get: the answer does not tell where it stood");
  stored.subject = view.get("Nats-Subject").value_or("");
  stored.seq = *sequence;
  stored.time = *time;
  stored.payload = frame.payload();
  stored.header_block = frame.header();
  for (const std::string_view name :
       {"Nats-Stream", "Nats-Subject", "Nats-Sequence", "Nats-Time-Stamp", "Nats-Num-Pending", "Nats-Last-Sequence"}) {
    stored.header_block = protocol::without_header(stored.header_block, name);
  }
  return stored;
}

jetstream_core::jetstream_core(std::shared_ptr<connection_core> connection, const jetstream_options& with)
    : connection_(std::move(connection)), with_(with) {
  const auto& settings = connection_->settings().get();
  api_patience_ = with.api_timeout().value_or(settings.jetstream_api_timeout);
  ack_patience_ = with.ack_timeout().value_or(settings.publish_ack_timeout);
}

namespace {

struct success_record {
  bool success = false;
};
struct purge_record {
  bool success = false;
  std::uint64_t purged = 0;
};
struct page_request {
  std::uint64_t offset = 0;
  std::optional<std::string> subject;
};
struct stream_names_record {
  std::uint64_t total = 0;
  std::vector<std::string> streams;
};
struct stream_list_record {
  std::uint64_t total = 0;
  std::vector<stream_info> streams;
};
struct consumer_names_record {
  std::uint64_t total = 0;
  std::vector<std::string> consumers;
};
struct consumer_list_record {
  std::uint64_t total = 0;
  std::vector<consumer_info> consumers;
};
struct message_record {
  std::string subject;
  std::uint64_t seq = 0;
  codec::json_bytes hdrs;
  codec::json_bytes data;
  time_point time{};
};
struct message_answer {
  message_record message;
};
struct delete_message_request {
  std::uint64_t seq = 0;
  bool no_erase = false;
};
struct consumer_request {
  std::string stream_name;
  consumer_config config;
  std::optional<std::string> action;
};

template <class Record>
auto& items_of(Record& page) {
  if constexpr (requires { page.streams; }) {
    return page.streams;
  } else {
    return page.consumers;
  }
}

// Asks for page after page until all are there.
template <class Record, class Item>
struct pager : std::enable_shared_from_this<pager<Record, Item>> {
  std::shared_ptr<jetstream_core> core;
  std::string subject;
  page_request request;
  std::vector<Item> all;
  std::shared_ptr<operation_state<std::vector<Item>>> state;

  void ask() {
    api_call(core->connection(), subject, codec::to_json(request), core->api_patience(),
             [self = this->shared_from_this()](result<std::string_view> answer) { self->answered(std::move(answer)); });
  }
  void answered(result<std::string_view> answer) {
    if (!answer) {
      state->complete(std::unexpected(std::move(answer).error()));
      return;
    }
    auto page = read_answer<Record>(*answer);
    if (!page) {
      state->complete(std::unexpected(std::move(page).error()));
      return;
    }
    auto& items = items_of(*page);
    const bool last = items.empty();
    for (auto& item : items) all.push_back(std::move(item));
    request.offset = all.size();
    if (last || all.size() >= page->total) {
      state->complete(std::move(all));
    } else {
      ask();
    }
  }
};

template <class Record, class Item>
operation<std::vector<Item>> all_pages(const std::shared_ptr<jetstream_core>& core, std::string subject,
                                       std::string_view filter) {
  auto pages = std::make_shared<pager<Record, Item>>();
  pages->core = core;
  pages->subject = std::move(subject);
  if (!filter.empty()) pages->request.subject = filter;
  pages->state = std::make_shared<operation_state<std::vector<Item>>>(core->connection().loop_identity());
  pages->ask();
  return operation<std::vector<Item>>(pages->state);
}

stored_message stored_of(message_answer answer) {
  stored_message stored;
  stored.subject = std::move(answer.message.subject);
  stored.seq = answer.message.seq;
  stored.time = answer.message.time;
  stored.header_block = std::move(answer.message.hdrs.value);
  stored.payload = std::move(answer.message.data.value);
  return stored;
}

operation<stored_message> direct(jetstream_core& core, const std::string& subject, std::string_view body) {
  auto state = std::make_shared<operation_state<stored_message>>(core.connection().loop_identity());
  auto sent =
      core.connection().request(subject, {}, body, core.api_patience(), [state](result<protocol::message_frame> reply) {
        if (reply) {
          state->complete(read_direct_answer(*reply));
        } else {
          state->complete(std::unexpected(std::move(reply).error().within("direct get")));
        }
        return true;
      });
  if (!sent) state->complete(std::unexpected(std::move(sent).error()));
  return operation<stored_message>(state);
}

operation<consumer_info> put_consumer(const std::shared_ptr<jetstream_core>& core, std::string_view stream,
                                      const consumer_config& config, std::optional<std::string> action) {
  using outcome = operation<consumer_info>;
  if (auto good = check_asset_name("stream", stream); !good) return outcome::ended(std::unexpected(good.error()));
  std::string subject = core->subject("CONSUMER.CREATE.") + std::string(stream);
  if (const auto& name = config.name ? config.name : config.durable_name; name) {
    if (auto good = check_asset_name("consumer", *name); !good) return outcome::ended(std::unexpected(good.error()));
    subject += "." + *name;
    if (config.filter_subject && !config.filter_subject->empty() && config.filter_subjects.empty()) {
      subject += "." + *config.filter_subject;
    }
  }
  consumer_request request;
  request.stream_name = stream;
  request.config = config;
  request.action = std::move(action);
  return api_operation<consumer_info>(core->connection(), subject, codec::to_json(request), core->api_patience());
}

}  // namespace
}  // namespace detail

namespace {

error no_connection() { return error(errc::closed, "no connection"); }

}  // namespace

// Ends the function with an error when there is no connection, or when a name cannot stand in a subject.
#define TERN_REQUIRE_CONNECTION(T) \
  if (!core_) return operation<T>::ended(std::unexpected(no_connection()))
#define TERN_REQUIRE_NAME(T, what, name)                                 \
  if (auto good_name = detail::check_asset_name(what, name); !good_name) \
  return operation<T>::ended(std::unexpected(good_name.error()))

jetstream::jetstream(const connection& over, const jetstream_options& with)
    : connection_(over),
      core_(over ? std::make_shared<detail::jetstream_core>(over.core()->shared_from_this(), with) : nullptr) {}

operation<client::account_info> jetstream::account_info() {
  TERN_REQUIRE_CONNECTION(client::account_info);
  return detail::api_operation<client::account_info>(core_->connection(), core_->subject("INFO"), {},
                                                     core_->api_patience());
}

operation<client::stream_info> jetstream::create_stream(const stream_config& config) {
  TERN_REQUIRE_CONNECTION(client::stream_info);
  TERN_REQUIRE_NAME(client::stream_info, "stream", config.name);
  return detail::api_operation<client::stream_info>(core_->connection(), core_->subject("STREAM.CREATE." + config.name),
                                                    codec::to_json(config), core_->api_patience());
}

operation<client::stream_info> jetstream::update_stream(const stream_config& config) {
  TERN_REQUIRE_CONNECTION(client::stream_info);
  TERN_REQUIRE_NAME(client::stream_info, "stream", config.name);
  return detail::api_operation<client::stream_info>(core_->connection(), core_->subject("STREAM.UPDATE." + config.name),
                                                    codec::to_json(config), core_->api_patience());
}

operation<client::stream_info> jetstream::stream_info(std::string_view stream) {
  return stream_info(stream, stream_info_options());
}

operation<client::stream_info> jetstream::stream_info(std::string_view stream, const stream_info_options& with) {
  TERN_REQUIRE_CONNECTION(client::stream_info);
  TERN_REQUIRE_NAME(client::stream_info, "stream", stream);
  const bool plain = !with.deleted_details && !with.subjects_filter;
  return detail::api_operation<client::stream_info>(
      core_->connection(), core_->subject("STREAM.INFO." + std::string(stream)),
      plain ? std::string() : codec::to_json(with), core_->api_patience());
}

operation<std::vector<std::string>> jetstream::stream_names(std::string_view subject) {
  TERN_REQUIRE_CONNECTION(std::vector<std::string>);
  return detail::all_pages<detail::stream_names_record, std::string>(core_, core_->subject("STREAM.NAMES"), subject);
}

operation<std::vector<client::stream_info>> jetstream::streams(std::string_view subject) {
  TERN_REQUIRE_CONNECTION(std::vector<client::stream_info>);
  return detail::all_pages<detail::stream_list_record, client::stream_info>(core_, core_->subject("STREAM.LIST"),
                                                                            subject);
}

operation<void> jetstream::delete_stream(std::string_view stream) {
  TERN_REQUIRE_CONNECTION(void);
  TERN_REQUIRE_NAME(void, "stream", stream);
  return detail::api_operation<void, detail::success_record>(
      core_->connection(), core_->subject("STREAM.DELETE." + std::string(stream)), {}, core_->api_patience());
}

operation<std::uint64_t> jetstream::purge_stream(std::string_view stream) {
  return purge_stream(stream, purge_options());
}

operation<std::uint64_t> jetstream::purge_stream(std::string_view stream, const purge_options& what) {
  TERN_REQUIRE_CONNECTION(std::uint64_t);
  TERN_REQUIRE_NAME(std::uint64_t, "stream", stream);
  const auto purged = [](const detail::purge_record& record) { return record.purged; };
  return detail::api_operation<std::uint64_t, detail::purge_record>(
      core_->connection(), core_->subject("STREAM.PURGE." + std::string(stream)), codec::to_json(what),
      core_->api_patience(), purged);
}

operation<stored_message> jetstream::get_message(std::string_view stream, std::uint64_t sequence) {
  message_query which;
  which.seq = sequence;
  return get_message(stream, which);
}

operation<stored_message> jetstream::get_last_message(std::string_view stream, std::string_view subject) {
  message_query which;
  which.last_by_subj = subject;
  return get_message(stream, which);
}

operation<stored_message> jetstream::get_message(std::string_view stream, const message_query& which) {
  TERN_REQUIRE_CONNECTION(stored_message);
  TERN_REQUIRE_NAME(stored_message, "stream", stream);
  const auto convert = [](detail::message_answer answer) { return detail::stored_of(std::move(answer)); };
  return detail::api_operation<stored_message, detail::message_answer>(
      core_->connection(), core_->subject("STREAM.MSG.GET." + std::string(stream)), codec::to_json(which),
      core_->api_patience(), convert);
}

operation<stored_message> jetstream::direct_get(std::string_view stream, std::uint64_t sequence) {
  message_query which;
  which.seq = sequence;
  return direct_get(stream, which);
}

operation<stored_message> jetstream::direct_get_last(std::string_view stream, std::string_view subject) {
  TERN_REQUIRE_CONNECTION(stored_message);
  TERN_REQUIRE_NAME(stored_message, "stream", stream);
  return detail::direct(*core_, core_->subject("DIRECT.GET." + std::string(stream) + "." + std::string(subject)), {});
}

operation<stored_message> jetstream::direct_get(std::string_view stream, const message_query& which) {
  TERN_REQUIRE_CONNECTION(stored_message);
  TERN_REQUIRE_NAME(stored_message, "stream", stream);
  return detail::direct(*core_, core_->subject("DIRECT.GET." + std::string(stream)), codec::to_json(which));
}

operation<void> jetstream::delete_message(std::string_view stream, std::uint64_t sequence, bool erase) {
  TERN_REQUIRE_CONNECTION(void);
  TERN_REQUIRE_NAME(void, "stream", stream);
  detail::delete_message_request request;
  request.seq = sequence;
  request.no_erase = !erase;
  return detail::api_operation<void, detail::success_record>(core_->connection(),
                                                             core_->subject("STREAM.MSG.DELETE." + std::string(stream)),
                                                             codec::to_json(request), core_->api_patience());
}

operation<client::consumer_info> jetstream::create_consumer(std::string_view stream, const consumer_config& config) {
  TERN_REQUIRE_CONNECTION(client::consumer_info);
  return detail::put_consumer(core_, stream, config, "create");
}

operation<client::consumer_info> jetstream::update_consumer(std::string_view stream, const consumer_config& config) {
  TERN_REQUIRE_CONNECTION(client::consumer_info);
  return detail::put_consumer(core_, stream, config, "update");
}

operation<client::consumer_info> jetstream::create_or_update_consumer(std::string_view stream,
                                                                      const consumer_config& config) {
  TERN_REQUIRE_CONNECTION(client::consumer_info);
  return detail::put_consumer(core_, stream, config, std::nullopt);
}

operation<client::consumer_info> jetstream::consumer_info(std::string_view stream, std::string_view consumer) {
  TERN_REQUIRE_CONNECTION(client::consumer_info);
  return pull_consumer(stream, consumer).info();
}

operation<std::vector<std::string>> jetstream::consumer_names(std::string_view stream) {
  TERN_REQUIRE_CONNECTION(std::vector<std::string>);
  TERN_REQUIRE_NAME(std::vector<std::string>, "stream", stream);
  return detail::all_pages<detail::consumer_names_record, std::string>(
      core_, core_->subject("CONSUMER.NAMES." + std::string(stream)), {});
}

operation<std::vector<client::consumer_info>> jetstream::consumers(std::string_view stream) {
  TERN_REQUIRE_CONNECTION(std::vector<client::consumer_info>);
  TERN_REQUIRE_NAME(std::vector<client::consumer_info>, "stream", stream);
  return detail::all_pages<detail::consumer_list_record, client::consumer_info>(
      core_, core_->subject("CONSUMER.LIST." + std::string(stream)), {});
}

operation<void> jetstream::delete_consumer(std::string_view stream, std::string_view consumer) {
  TERN_REQUIRE_CONNECTION(void);
  TERN_REQUIRE_NAME(void, "stream", stream);
  TERN_REQUIRE_NAME(void, "consumer", consumer);
  return detail::api_operation<void, detail::success_record>(
      core_->connection(), core_->subject("CONSUMER.DELETE." + std::string(stream) + "." + std::string(consumer)), {},
      core_->api_patience());
}

client::pull_consumer jetstream::pull_consumer(std::string_view stream, std::string_view consumer) const {
  if (!core_) return {};
  return {connection_.core(), core_->settings().api_prefix(), std::string(stream), std::string(consumer)};
}

#undef TERN_REQUIRE_CONNECTION
#undef TERN_REQUIRE_NAME

}  // namespace tern::client
