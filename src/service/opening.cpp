// Opening a subscription: the consumer is created or compared, interest is confirmed, reply routes are chosen. (service
// 3, 7, 10.4, 10.5)
#include "service/coroutines.hpp"
#include "service/message_source.hpp"
#include "service/subscription_loop.hpp"

#include <tern/codec/json.hpp>

#include <boost/asio/co_spawn.hpp>

#include <charconv>

namespace tern::service::detail {
namespace {

client::deliver_policy to_client(deliver_from from) {
  switch (from) {
    case deliver_from::all:
      return client::deliver_policy::all;
    case deliver_from::last:
      return client::deliver_policy::last;
    case deliver_from::fresh:
      return client::deliver_policy::new_messages;
    case deliver_from::by_start_sequence:
      return client::deliver_policy::by_start_sequence;
    case deliver_from::by_start_time:
      return client::deliver_policy::by_start_time;
    case deliver_from::last_per_subject:
      return client::deliver_policy::last_per_subject;
  }
  return client::deliver_policy::all;
}

client::consumer_config wanted_consumer(const jetstream_consumer& from, const registration_options& options) {
  client::consumer_config wanted;
  if (!from.durable().empty()) wanted.durable_name = from.durable();
  wanted.deliver_policy = to_client(from.deliver());
  if (from.deliver() == deliver_from::by_start_sequence) wanted.opt_start_seq = from.start_sequence();
  if (from.deliver() == deliver_from::by_start_time) wanted.opt_start_time = from.start_time();
  wanted.ack_policy = client::ack_policy::explicit_ack;
  wanted.ack_wait = from.ack_wait();
  wanted.max_ack_pending = from.max_ack_pending();
  if (from.filters().size() == 1) {
    wanted.filter_subject = from.filters().front();
  } else {
    wanted.filter_subjects = from.filters();
  }
  if (from.max_deliver()) {
    wanted.max_deliver = *from.max_deliver();
  } else if (options.max_attempts) {
    // A backstop for processes that die again and again and so never reach the cap (10.5).
    wanted.max_deliver = static_cast<std::int64_t>(*options.max_attempts) + 1;
  }
  if (!from.backoff().empty()) wanted.backoff = from.backoff();
  if (from.inactive_threshold()) wanted.inactive_threshold = *from.inactive_threshold();
  wanted.metadata = from.metadata();
  return wanted;
}

// Field by field, what an existing durable has otherwise than what is declared; empty when nothing.
std::string difference(const client::consumer_config& wanted, const client::consumer_config& existing) {
  std::string text;
  const auto compare = [&](std::string_view field, const std::string& want, const std::string& has) {
    if (want != has)
      text += std::string(text.empty() ? "" : "; ") + std::string(field) + ": wanted " + want + ", existing " + has;
  };
  const auto filters = [](const client::consumer_config& of) {
    std::string all = of.filter_subject.value_or("");
    for (const auto& filter : of.filter_subjects) all += (all.empty() ? "" : ",") + filter;
    return all;
  };
  const auto number = [](const auto& value) {
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(value)>>) {
      return std::to_string(value);
    } else {
      return value ? std::to_string(*value) : std::string("-1");
    }
  };
  compare("filter", filters(wanted), filters(existing));
  compare("deliver_policy", std::string(codec::to_word(wanted.deliver_policy)),
          std::string(codec::to_word(existing.deliver_policy)));
  compare("ack_policy", std::string(codec::to_word(wanted.ack_policy)),
          std::string(codec::to_word(existing.ack_policy)));
  compare("ack_wait", std::to_string(wanted.ack_wait.value_or(nanoseconds(0)).count()) + "ns",
          std::to_string(existing.ack_wait.value_or(nanoseconds(0)).count()) + "ns");
  if (wanted.opt_start_seq) compare("opt_start_seq", number(wanted.opt_start_seq), number(existing.opt_start_seq));
  compare("max_ack_pending", number(wanted.max_ack_pending), number(existing.max_ack_pending));
  if (wanted.max_deliver) compare("max_deliver", number(wanted.max_deliver), number(existing.max_deliver));
  const auto waits = [](const std::vector<nanoseconds>& of) {
    std::string all = "[";
    for (const auto& each : of) all += (all.size() == 1 ? "" : ",") + std::to_string(each.count()) + "ns";
    return all + "]";
  };
  if (!wanted.backoff.empty()) compare("backoff", waits(wanted.backoff), waits(existing.backoff));
  if (wanted.inactive_threshold) {
    compare("inactive_threshold", number(wanted.inactive_threshold->count()),
            number(existing.inactive_threshold.value_or(nanoseconds(0)).count()));
  }
  for (const auto& [key, value] : wanted.metadata) {
    const auto found = existing.metadata.find(key);
    compare("metadata " + key, value, found == existing.metadata.end() ? "nothing" : found->second);
  }
  if (existing.deliver_subject && !existing.deliver_subject->empty())
    text += std::string(text.empty() ? "" : "; ") + "it is push based";
  return text;
}

// "2.10.4" and later; a version that cannot be read counts as new.
bool knows_term_reason(std::string_view version) {
  unsigned parts[3] = {};
  for (unsigned& part : parts) {
    const auto [end, problem] = std::from_chars(version.data(), version.data() + version.size(), part);
    if (problem != std::errc{}) return true;
    version.remove_prefix(static_cast<std::size_t>(end - version.data()));
    if (!version.empty()) version.remove_prefix(1);
  }
  return std::tie(parts[0], parts[1], parts[2]) >= std::make_tuple(2u, 10u, 4u);
}

error cannot_subscribe(const std::string& name, error&& why) {
  error made(errc::subscribe_failed, "subscription " + name + ": " + why.message());
  return std::move(made).with_api_code(why.api_code());
}

}  // namespace

boost::asio::awaitable<result<void>> subscription_loop::open() {
  auto routes = co_await choose_reply_routes();
  if (!routes) co_return routes;
  auto dead = co_await check_dead_letter();
  if (!dead) co_return dead;
  if (const auto* from = std::get_if<jetstream_consumer>(&what_.from)) {
    auto opened = co_await open_jetstream(*from);
    if (!opened) co_return std::unexpected(cannot_subscribe(name(), std::move(opened).error()));
  } else {
    const auto* literal = std::get_if<core>(&what_.from);
    const std::string& group =
        literal != nullptr ? literal->queue_group() : std::get<core_wildcard>(what_.from).queue_group();
    auto opened = co_await open_core(what_.subject(), group);
    if (!opened) co_return std::unexpected(cannot_subscribe(name(), std::move(opened).error()));
  }
  co_return begin_taking();
}

boost::asio::awaitable<result<void>> subscription_loop::open_core(const std::string& subject,
                                                                  const std::string& queue_group) {
  client::subscribe_options options;
  if (!queue_group.empty()) options.queue_group(queue_group);
  auto subscribed = link_->connection().subscribe(subject, options);
  if (!subscribed) co_return std::unexpected(std::move(subscribed).error());
  source_ = make_core_source(*std::move(subscribed));
  co_return co_await link_->connection().flush();
}

boost::asio::awaitable<result<void>> subscription_loop::open_jetstream(const jetstream_consumer& from) {
  knows_term_reason_ = knows_term_reason(link_->connection().server().version);
  auto ensured = co_await ensure_consumer(from);
  if (!ensured) co_return ensured;
  if (what_.options.max_attempts && !from.binds() && !what_.options.dead_letter.empty()) {
    auto watching = co_await watch_max_deliveries(from);
    if (!watching) co_return watching;
  }
  if (what_.options.batch) co_return result<void>();
  const std::size_t prefetch = what_.options.prefetch.value_or(std::max<std::size_t>(2, 2 * what_.options.workers));
  client::pull_options options;
  options.batch(static_cast<std::uint32_t>(prefetch));
  auto stream = link_->streams().pull_consumer(from.stream(), consumer_).messages(options);
  if (!stream) co_return std::unexpected(std::move(stream).error());
  source_ = make_pull_source(*std::move(stream));
  co_return result<void>();
}

boost::asio::awaitable<result<void>> subscription_loop::ensure_consumer(const jetstream_consumer& from) {
  client::consumer_config wanted = wanted_consumer(from, what_.options);
  if (from.durable().empty()) {
    if (highest_settled_ != 0) {
      // An ephemeral that is made again goes on behind what was settled (18).
      wanted.deliver_policy = client::deliver_policy::by_start_sequence;
      wanted.opt_start_seq = highest_settled_ + 1;
      wanted.opt_start_time.reset();
    }
    auto made = co_await link_->streams().create_consumer(from.stream(), wanted);
    if (!made) co_return std::unexpected(std::move(made).error());
    consumer_ = made->name;
    co_return result<void>();
  }
  consumer_ = from.durable();
  auto existing = co_await link_->streams().consumer_info(from.stream(), consumer_);
  if (!existing) {
    if (existing.error().api_code() != 10014 || from.binds()) co_return std::unexpected(std::move(existing).error());
    auto made = co_await link_->streams().create_consumer(from.stream(), wanted);
    if (made) co_return result<void>();
    co_return std::unexpected(std::move(made).error());
  }
  if (from.binds()) co_return result<void>();
  const std::string differs = difference(wanted, existing->config);
  if (differs.empty()) co_return result<void>();
  if (!from.updates()) {
    co_return fail(errc::subscribe_failed,
                   "consumer " + consumer_ + " of stream " + from.stream() + " exists with other settings: " + differs,
                   "declare what it has, or say .update() to change it, or .bind() to use it as it is");
  }
  auto updated = co_await link_->streams().update_consumer(from.stream(), wanted);
  if (!updated) co_return std::unexpected(std::move(updated).error());
  co_return result<void>();
}

boost::asio::awaitable<result<void>> subscription_loop::choose_reply_routes() {
  reply_confirmed_.assign(what_.replies.size(), false);
  for (std::size_t i = 0; i < what_.replies.size(); ++i) {
    const std::string& subject = what_.replies[i].subject;
    const reply_route wanted = what_.options.reply_over;
    if (subject.empty() || wanted == reply_route::core || (wanted == reply_route::automatic && !what_.is_jetstream()))
      continue;
    auto streams = co_await link_->streams().stream_names(subject);
    if (!streams && wanted == reply_route::stream)
      co_return std::unexpected(cannot_subscribe(name(), std::move(streams).error()));
    const bool captured = streams && !streams->empty();
    if (!captured && wanted == reply_route::stream) {
      co_return fail(errc::invalid_options,
                     "subscription " + name() + ": no stream takes the reply subject " + subject);
    }
    reply_confirmed_[i] = captured;
    if (captured) {
      app_.log(log_level::info, "replies go into a stream",
               {{"subscription", name()}, {"subject", subject}, {"stream", streams->front()}});
    } else {
      app_.log(log_level::info, "replies go over Core", {{"subscription", name()}, {"subject", subject}});
    }
  }
  co_return result<void>();
}

boost::asio::awaitable<result<void>> subscription_loop::check_dead_letter() {
  const std::string& subject = what_.options.dead_letter;
  if (subject.empty() || !what_.options.dead_letter_confirmed) co_return result<void>();
  auto streams = co_await link_->streams().stream_names(subject);
  if (!streams) co_return std::unexpected(cannot_subscribe(name(), std::move(streams).error()));
  if (streams->empty()) {
    co_return fail(errc::invalid_options,
                   "subscription " + name() + ": no stream takes the dead letter subject " + subject,
                   "create one, or say .dead_letter_unconfirmed(subject)");
  }
  co_return result<void>();
}

// --- messages that never come back because processes died with them (10.5) ---

boost::asio::awaitable<result<void>> subscription_loop::watch_max_deliveries(const jetstream_consumer& from) {
  const std::string subject = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES." + from.stream() + "." + consumer_;
  client::subscribe_options options;
  options.queue_group("tern-dead-letters");  // one replica does it
  auto subscribed = link_->connection().subscribe(
      subject,
      [weak = weak_from_this()](client::message&& advisory) {
        const auto self = weak.lock();
        if (!self) return;
        struct record {
          std::uint64_t stream_seq = 0;
          std::uint64_t deliveries = 0;
        };
        if (auto told = codec::read_json<record>(advisory.payload())) {
          boost::asio::co_spawn(self->app_.executor(),
                                self->dead_letter_by_sequence(told->stream_seq, told->deliveries), rethrow_nothing);
        }
      },
      options);
  if (!subscribed) co_return std::unexpected(std::move(subscribed).error());
  advisories_ = *std::move(subscribed);
  co_return co_await link_->connection().flush();
}

boost::asio::awaitable<void> subscription_loop::dead_letter_by_sequence(std::uint64_t sequence,
                                                                        std::uint64_t deliveries) {
  const auto self = shared_from_this();
  const auto app = app_.shared_from_this();
  const std::string stream = std::get<jetstream_consumer>(what_.from).stream();
  auto stored = co_await link_->streams().get_message(stream, sequence);
  if (!stored) {
    app_.log(log_level::error, "a message that ran out of deliveries could not be read",
             {{"subscription", name()}, {"sequence", sequence}, {"error", stored.error().message()}});
    co_return;
  }
  client::message original;
  original.assign(stored->subject, {}, stored->header_block, stored->payload);
  client::headers headers = original.headers();
  headers.set("Tern-Dead-Reason", "attempts");
  headers.set("Tern-Dead-Attempts", std::to_string(deliveries));
  headers.set("Tern-Dead-Subject", stored->subject);
  headers.set("Tern-Dead-Stream", stream);
  headers.set("Tern-Dead-Sequence", std::to_string(sequence));
  headers.set("Nats-Msg-Id", "dlq:" + stream + ':' + std::to_string(sequence) + ':' + consumer_);
  // Nobody delivers it again, so this is tried until it succeeds or the application ends; the stream still has it.
  std::chrono::nanoseconds pause = std::chrono::seconds(1);
  while (!app_.stopping()) {
    result<void> sent;
    if (what_.options.dead_letter_confirmed) {
      auto acknowledged = co_await link_->send_confirmed(what_.options.dead_letter, stored->payload, headers);
      if (!acknowledged) sent = std::unexpected(std::move(acknowledged).error());
    } else {
      sent = link_->send(what_.options.dead_letter, stored->payload, headers);
    }
    if (sent) {
      ++counters_.dead_lettered;
      app_.log(log_level::warn, "given up, sent to the dead letter subject",
               {{"subscription", name()}, {"sequence", sequence}, {"attempts", deliveries}});
      co_return;
    }
    app_.log(log_level::error, "the dead letter could not be published",
             {{"subscription", name()}, {"sequence", sequence}, {"error", sent.error().message()}});
    (void)co_await app_.pause(pause);
    pause = std::min<std::chrono::nanoseconds>(pause * 2, std::chrono::minutes(1));
  }
}

}  // namespace tern::service::detail
