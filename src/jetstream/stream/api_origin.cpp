#include "jetstream/stream/api_origin.hpp"

#include "base/hash.hpp"
#include "base/numbers.hpp"
#include "jetstream/consumer/consumer_config.hpp"
#include "protocol/ack_subject.hpp"
#include "protocol/headers.hpp"

#include <tern/codec/json.hpp>

#include <algorithm>
#include <utility>

namespace tern::jetstream {
namespace {

using protocol::jetstream_errc;

constexpr nanoseconds heartbeat = std::chrono::seconds(1);
constexpr nanoseconds silence_max = std::chrono::seconds(10);
constexpr nanoseconds answer_within = std::chrono::seconds(30);
constexpr nanoseconds reset_within = std::chrono::seconds(5);
constexpr nanoseconds attempts_apart = std::chrono::seconds(2);
constexpr nanoseconds failure_step = std::chrono::seconds(10);
constexpr nanoseconds failure_wait_max = std::chrono::minutes(2);
constexpr std::size_t token_size = 8;
constexpr std::string_view own_api = "$JS.API.";
constexpr std::string_view identity_header = "Nats-Stream-Identity";

enum tag : std::uint64_t { answer_tag = 1, delivery_tag };

// The same for one pair of streams at every start, so that an origin that keeps its consumer knows it again.
std::string consumer_name(api_origin::purpose what, std::string_view account, std::string_view reader,
                          const stream_source& config) {
  constexpr std::string_view digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string key(account);
  key.append(" ").append(reader).append(" ").append(config.name).append(" ").append(config.filter_subject);
  for (const auto& transform : config.subject_transforms)
    key.append(" ").append(transform.src).append(">").append(transform.dest);
  std::string name(what == api_origin::purpose::mirror ? "JS_MIRROR_" : "JS_SRC_");
  std::uint64_t hash = hash64(key);
  for (std::size_t i = 0; i < token_size; ++i, hash /= digits.size()) name += digits[hash % digits.size()];
  return name;
}

struct delivered_numbers {
  std::uint64_t consumer_seq = 0;
};

// What an answer to a create or reset request says that matters here.
struct consumer_answer {
  std::string name;
  delivered_numbers delivered;
  std::uint64_t num_pending = 0;
  std::optional<protocol::api_error> error;
};

}  // namespace

api_origin::api_origin(origin_reader& reader, routing::account& account, environment& surroundings, purpose what,
                       std::string_view reader_name, const stream_source& config)
    : reader_(reader),
      account_(account),
      surroundings_(surroundings),
      purpose_(what),
      reader_name_(reader_name),
      config_(config),
      consumer_name_(config.consumer ? config.consumer->name
                                     : consumer_name(what, account.name(), reader_name, config)),
      clock_(surroundings.timers, [this] { on_clock(); }) {}

api_origin::~api_origin() {
  *alive_ = false;
  drop_subscriptions();
}

void api_origin::open() {
  stage_ = stage::waiting;
  clock_.arm(surroundings_.now());
}

void api_origin::close(bool forget) {
  if (stage_ == stage::closed) return;
  stage_ = stage::closed;
  ++round_;
  clock_.disarm();
  drop_subscriptions();
  if (forget && !made_name_.empty() && !names_its_consumer())
    account_.publish({.subject = api_subject("CONSUMER.DELETE." + config_.name + "." + made_name_)});
}

void api_origin::restart() {
  if (stage_ == stage::asking || stage_ == stage::reading) ask_again();
}

void api_origin::drop_subscriptions() {
  for (auto** held : {&answers_, &deliveries_}) {
    if (*held != nullptr) account_.unsubscribe(std::exchange(*held, nullptr));
  }
}

void api_origin::on_clock() {
  switch (stage_) {
    case stage::closed:
      return;
    case stage::waiting:
      return ask();
    case stage::asking:
      return fail_attempt();
    case stage::reading: {
      const time_point silent = last_seen_.value_or(*last_attempt_) + silence_max;
      if (surroundings_.now() < silent) return clock_.arm(silent);
      return ask_again();
    }
  }
}

std::string api_origin::api_subject(std::string_view operation) const {
  if (!config_.external || config_.external->api.empty()) return std::string(own_api).append(operation);
  return config_.external->api + "." + std::string(operation);
}

void api_origin::ask() {
  drop_subscriptions();
  stage_ = stage::asking;
  ++round_;
  last_attempt_ = surroundings_.now();
  last_consumer_ = 0;
  last_stream_ = 0;
  overtaken_ = false;
  const auto listen = [this](const std::string& subject, tag what) {
    auto* made = account_.subscribe(*this, subject);
    made->internal = true;
    made->tag = what;
    return made;
  };
  const std::string reply = "$JSC.R." + surroundings_.ids.random_text(token_size);
  answers_ = listen(reply, answer_tag);
  if (names_its_consumer()) {
    deliver_subject_ = config_.consumer->deliver_subject;
  } else {
    const bool outside = config_.external && !config_.external->deliver.empty();
    deliver_subject_ = outside                       ? config_.external->deliver + "."
                       : purpose_ == purpose::mirror ? std::string("$JS.M.")
                                                     : std::string("$JS.S.");
    deliver_subject_ += surroundings_.ids.random_text(token_size);
  }
  deliveries_ = listen(deliver_subject_, delivery_tag);
  clock_.arm(surroundings_.now() + (names_its_consumer() ? reset_within : answer_within));
  if (names_its_consumer()) {
    ask_to_reset(reply);
  } else {
    ask_to_create(reply);
  }
}

void api_origin::ask_to_create(std::string_view reply) {
  consumer_create_request body{.stream_name = config_.name};
  consumer_config& wanted = body.config;
  wanted.name = consumer_name_;
  wanted.deliver_subject = deliver_subject_;
  wanted.ack_wait = std::chrono::hours(22);
  wanted.max_deliver = 1;
  wanted.flow_control = true;
  wanted.idle_heartbeat = heartbeat;
  wanted.inactive_threshold = silence_max;
  wanted.direct = true;
  wanted.sourcing = !plain_;
  if (plain_) wanted.name += "-" + surroundings_.ids.random_text(token_size);
  const std::string space = purpose_ == purpose::mirror ? "_nats.mirror." : "_nats.src.";
  wanted.metadata[space + "stream"] = reader_name_;
  wanted.metadata[space + "acc"] = account_.name();
  if (const auto& domain = surroundings_.settings.domain; !domain.empty()) wanted.metadata[space + "domain"] = domain;

  const origin_position from = reader_.position();
  if (from.last > 0 || config_.opt_start_seq > 0) {
    wanted.deliver_policy = delivery_start::by_start_sequence;
    wanted.opt_start_seq = from.last > 0 ? from.last + 1 : config_.opt_start_seq;
  } else if (config_.opt_start_time) {
    wanted.deliver_policy = delivery_start::by_start_time;
    wanted.opt_start_time = zoned_time{.text = to_rfc3339(*config_.opt_start_time), .at = *config_.opt_start_time};
  }
  std::string operation = "CONSUMER.CREATE." + config_.name;
  if (config_.subject_transforms.size() > 1) {
    for (const auto& one : config_.subject_transforms) wanted.filter_subjects.push_back(one.src);
  } else {
    wanted.filter_subject =
        config_.subject_transforms.empty() ? config_.filter_subject : config_.subject_transforms.front().src;
    if (!wanted.filter_subject.empty()) operation += "." + wanted.name + "." + wanted.filter_subject;
  }
  std::string headers;
  if (!plain_) {
    protocol::append_header(headers, "Nats-Required-Api-Level", purpose_ == purpose::mirror ? "4" : "5");
    if (purpose_ == purpose::source) protocol::append_header(headers, identity_header, from.identity);
  }
  const std::string json = codec::to_json(body);
  const std::string subject = api_subject(operation);
  if (account_.publish({.subject = subject, .reply = reply, .headers = headers, .payload = json}) == 0) fail_attempt();
}

// The origin's administrator made the consumer; it is set back to what it has not acknowledged.
void api_origin::ask_to_reset(std::string_view reply) {
  std::string headers;
  if (purpose_ == purpose::source) {
    protocol::append_header(headers, "Nats-Required-Api-Level", "5");
    protocol::append_header(headers, identity_header, reader_.position().identity);
  }
  const std::string subject = api_subject("CONSUMER.RESET." + config_.name + "." + consumer_name_);
  if (account_.publish({.subject = subject, .reply = reply, .headers = headers}) == 0) {
    problem_ = protocol::make_api_error(jetstream_errc::consumer_not_found);
    fail_attempt();
  }
}

bool api_origin::deliver(routing::subscription& to, const routing::message& what) {
  if (stage_ != stage::asking && stage_ != stage::reading) return false;
  if (to.tag == answer_tag) {
    on_answer(what);
  } else {
    on_delivery(what);
  }
  return true;
}

void api_origin::on_answer(const routing::message& what) {
  if (stage_ != stage::asking) return;
  consumer_answer answer;
  const auto read = codec::read_json_into(what.payload, answer, codec::peer_lenient);
  if (!read) return fail_attempt();  // a status, or nothing that an origin says
  if (answer.error) return on_refused(*answer.error);
  problem_.reset();
  failures_ = 0;
  made_name_ = answer.name;
  if (!names_its_consumer()) {
    last_consumer_ = answer.delivered.consumer_seq;
  }
  if (!overtaken_) lag_ = answer.num_pending;
  last_seen_ = surroundings_.now();
  stage_ = stage::reading;
  const protocol::header_view headers(what.headers);
  if (const auto identity = headers.get_non_empty(identity_header)) reader_.on_found(*identity);
  clock_.arm(*last_seen_ + silence_max);
}

void api_origin::on_refused(const protocol::api_error& why) {
  problem_ = why;
  if (why.err_code == static_cast<int>(jetstream_errc::consumer_stream_identity_mismatch)) {
    problem_.reset();
    reader_.on_replaced();
    return ask_again();
  }
  const bool too_new = why.err_code == static_cast<int>(jetstream_errc::required_api_level) ||
                       why.err_code == static_cast<int>(jetstream_errc::invalid_json);
  if (too_new && !plain_ && !names_its_consumer()) {
    plain_ = true;
    return ask_again();
  }
  fail_attempt();
}

void api_origin::on_delivery(const routing::message& what) {
  last_seen_ = surroundings_.now();
  const auto numbers = protocol::parse_ack_subject(what.reply);
  if (!numbers) return on_status(what);
  if (stage_ == stage::asking && numbers->consumer_sequence == 1) overtaken_ = true;
  if (stage_ == stage::asking && !overtaken_) return;  // of the round before
  if (numbers->consumer_sequence <= last_consumer_) return;
  if (numbers->consumer_sequence != last_consumer_ + 1) return ask_again();
  lag_ = numbers->pending;
  const origin_message message{.number = numbers->stream_sequence,
                               .timestamp = numbers->timestamp,
                               .pending = numbers->pending,
                               .subject = what.subject,
                               .headers = what.headers,
                               .payload = what.payload};
  if (message.number > reader_.position().last && reader_.take(message) == intake_result::later) return ask_again();
  last_consumer_ = numbers->consumer_sequence;
  last_stream_ = numbers->stream_sequence;
}

// Heartbeats and requests for an answer (16).
void api_origin::on_status(const routing::message& what) {
  if (what.headers.empty() || stage_ != stage::reading) return;
  const protocol::header_view headers(what.headers);
  if (headers.status() != 100) return;
  if (!what.reply.empty()) return confirm(what.reply);
  if (const auto last = parse_decimal(headers.get("Nats-Last-Consumer").value_or("")); last && *last != last_consumer_)
    return ask_again();
  if (const auto stalled = headers.get_non_empty("Nats-Consumer-Stalled")) confirm(*stalled);
}

// Says how far we are, when that is safe on our disk: an origin that waits for acknowledgements forgets it then.
void api_origin::confirm(std::string_view to) {
  std::string headers;
  std::string number;
  append_decimal(number, last_consumer_);
  protocol::append_header(headers, "Nats-Last-Consumer", number);
  number.clear();
  append_decimal(number, last_stream_);
  protocol::append_header(headers, "Nats-Last-Stream", number);
  surroundings_.store.when_durable([this, alive = alive_, round = round_, to = std::string(to),
                                    headers = std::move(headers)](const result<void>& done) {
    if (done && *alive && round == round_) account_.publish({.subject = to, .headers = headers});
  });
}

void api_origin::fail_attempt() {
  ++failures_;
  const nanoseconds extra = std::min(failure_wait_max, failure_step * failures_);
  const auto jitter = std::chrono::milliseconds(100 + surroundings_.ids.random() % 100);
  ask_again();
  clock_.arm(clock_.deadline() + extra + jitter);
}

void api_origin::ask_again() {
  ++round_;
  drop_subscriptions();
  stage_ = stage::waiting;
  clock_.arm(std::max(surroundings_.now(), last_attempt_.value_or(surroundings_.now()) + attempts_apart));
}

}  // namespace tern::jetstream
