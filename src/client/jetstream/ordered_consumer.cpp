// The handle of an ordered consumer.
#include <tern/client/jetstream.hpp>

#include "client/core/item_queue.hpp"
#include "client/jetstream/api.hpp"
#include "client/jetstream/core.hpp"
#include "client/jetstream/ordered_core.hpp"

namespace tern::client {

consumer_config ordered_options::config() const {
  consumer_config config;
  config.deliver_policy = deliver_;
  config.opt_start_seq = start_sequence_;
  config.opt_start_time = start_time_;
  config.replay_policy = replay_;
  config.idle_heartbeat = heartbeat_;
  if (headers_only_) config.headers_only = true;
  if (filters_.size() == 1) {
    config.filter_subject = filters_.front();
  } else {
    config.filter_subjects = filters_;
  }
  return config;
}

ordered_consumer::ordered_consumer(std::shared_ptr<detail::ordered_core> core,
                                   std::shared_ptr<detail::item_queue<message>> items)
    : core_(std::move(core)), items_(std::move(items)) {}
ordered_consumer::ordered_consumer(ordered_consumer&&) noexcept = default;

ordered_consumer& ordered_consumer::operator=(ordered_consumer&& other) noexcept {
  if (this != &other) {
    stop();
    core_ = std::move(other.core_);
    items_ = std::move(other.items_);
  }
  return *this;
}

ordered_consumer::~ordered_consumer() { stop(); }

void ordered_consumer::stop() {
  if (!core_) return;
  core_->stop();
  items_->stop();
}

operation<message> ordered_consumer::next() {
  if (!core_) return operation<message>::ended(fail(errc::closed, "no consumer"));
  return items_->next();
}

std::optional<ordered_consumer::item> ordered_consumer::try_next() { return core_ ? items_->try_next() : std::nullopt; }

bool ordered_consumer::ended() const { return !core_ || items_->ended(); }
std::size_t ordered_consumer::buffered() const { return core_ ? items_->buffered() : 0; }
std::uint64_t ordered_consumer::recreated() const { return core_ ? core_->recreated() : 0; }

result<ordered_consumer> jetstream::ordered(std::string_view stream, const ordered_options& with) {
  return ordered(stream, nullptr, with);
}

result<ordered_consumer> jetstream::ordered(std::string_view stream, ordered_consumer::callback callback,
                                            const ordered_options& with) {
  if (!core_) return fail(errc::closed, "no connection");
  if (auto good = detail::check_asset_name("stream", stream); !good) return std::unexpected(good.error());
  auto items = std::make_shared<detail::item_queue<message>>(
      core_->connection(), "the ordered consumer of " + std::string(stream), std::move(callback));
  detail::ordered_events events;
  events.on_message = [items](message&& received, const jetstream_metadata&) { items->push(std::move(received)); };
  events.on_end = [items](error why) { items->end(std::move(why)); };
  events.when_taken = [items](std::move_only_function<void()> action) { items->when_taken(std::move(action)); };
  auto core = std::make_shared<detail::ordered_core>(core_->connection().shared_from_this(),
                                                     core_->settings().api_prefix(), core_->api_patience(),
                                                     std::string(stream), with.config(), std::move(events));
  core->open();
  return ordered_consumer(std::move(core), std::move(items));
}

}  // namespace tern::client
