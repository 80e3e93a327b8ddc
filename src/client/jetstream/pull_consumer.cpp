#include <tern/client/pull_consumer.hpp>

#include "client/connection_core.hpp"
#include "client/jetstream/api.hpp"
#include "client/jetstream/pull_fetch.hpp"
#include "client/jetstream/pull_stream_core.hpp"

namespace tern::client {
namespace {

error no_connection() { return error(errc::closed, "no connection"); }

// The server answers `400 Bad Request - heartbeat value too large` otherwise.
result<void> check_heartbeat(nanoseconds heartbeat, nanoseconds expires) {
  if (heartbeat * 2 <= expires) return {};
  return fail(errc::invalid_options, "the heartbeat of a pull request may be at most half of its expiry");
}

}  // namespace

pull_consumer::pull_consumer(std::shared_ptr<detail::connection_core> connection, std::string api_prefix,
                             std::string stream, std::string name)
    : connection_(std::move(connection)),
      api_prefix_(std::move(api_prefix)),
      stream_(std::move(stream)),
      name_(std::move(name)) {}

operation<fetched> pull_consumer::fetch(const fetch_options& with) {
  using outcome = operation<fetched>;
  if (!connection_) return outcome::ended(std::unexpected(no_connection()));
  for (const auto& good : {detail::check_asset_name("stream", stream_), detail::check_asset_name("consumer", name_),
                           check_heartbeat(with.heartbeat(), with.expires())}) {
    if (!good) return outcome::ended(std::unexpected(good.error()));
  }
  if (with.batch() == 0) return outcome::ended(fail(errc::invalid_options, "a fetch of no messages"));
  if (with.expires() <= nanoseconds::zero() && !with.no_wait()) {
    return outcome::ended(fail(errc::invalid_options, "a fetch that waits needs an expiry"));
  }
  auto fetch = std::make_shared<detail::pull_fetch>(connection_->shared_from_this(), with);
  return fetch->start(api_prefix_ + ".CONSUMER.MSG.NEXT." + stream_ + "." + name_);
}

result<pull_stream> pull_consumer::messages(const pull_options& with) { return messages(nullptr, with); }

result<pull_stream> pull_consumer::messages(pull_stream::callback callback, const pull_options& with) {
  if (!connection_) return std::unexpected(no_connection());
  for (const auto& good : {detail::check_asset_name("stream", stream_), detail::check_asset_name("consumer", name_),
                           check_heartbeat(with.heartbeat(), with.expires())}) {
    if (!good) return std::unexpected(good.error());
  }
  if (with.batch() == 0 || with.refill_at() >= with.batch()) {
    return fail(errc::invalid_options, "a pull stream asks for at least one message, and again below its batch");
  }
  if (with.expires() <= nanoseconds::zero()) return fail(errc::invalid_options, "a pull request needs an expiry");
  auto core = std::make_shared<detail::pull_stream_core>(connection_->shared_from_this(), api_prefix_, stream_, name_,
                                                         with, std::move(callback));
  // The handle keeps the connection open; the engine, which the connection's table holds, does not.
  pull_stream opened(std::shared_ptr<detail::pull_stream_core>(
      core.get(), [core, handle = connection_](detail::pull_stream_core*) {}));
  if (auto open = core->open(); !open) return std::unexpected(std::move(open).error());
  return opened;
}

operation<consumer_info> pull_consumer::info() {
  using outcome = operation<consumer_info>;
  if (!connection_) return outcome::ended(std::unexpected(no_connection()));
  for (const auto& good : {detail::check_asset_name("stream", stream_), detail::check_asset_name("consumer", name_)}) {
    if (!good) return outcome::ended(std::unexpected(good.error()));
  }
  return detail::api_operation<consumer_info>(*connection_, api_prefix_ + ".CONSUMER.INFO." + stream_ + "." + name_, {},
                                              connection_->settings().get().jetstream_api_timeout);
}

pull_stream::pull_stream(std::shared_ptr<detail::pull_stream_core> core) : core_(std::move(core)) {}
pull_stream::pull_stream(pull_stream&&) noexcept = default;

pull_stream& pull_stream::operator=(pull_stream&& other) noexcept {
  if (this != &other) {
    if (core_) core_->abandon();
    core_ = std::move(other.core_);
  }
  return *this;
}

pull_stream::~pull_stream() {
  if (core_) core_->abandon();
}

operation<jetstream_message> pull_stream::next() {
  if (!core_) return operation<jetstream_message>::ended(fail(errc::closed, "no pull stream"));
  return core_->next();
}

std::optional<pull_stream::item> pull_stream::try_next() {
  if (!core_) return std::nullopt;
  return core_->try_next();
}

bool pull_stream::ended() const { return !core_ || core_->ended(); }
bool pull_stream::degraded() const { return core_ && core_->degraded(); }
std::vector<std::string> pull_stream::waiting_replies() const {
  return core_ ? core_->waiting_replies() : std::vector<std::string>();
}
std::size_t pull_stream::buffered() const { return core_ ? core_->buffered() : 0; }
pull_statistics pull_stream::statistics() const { return core_ ? core_->statistics() : pull_statistics(); }

std::vector<jetstream_message> pull_stream::cancel() {
  if (!core_) return {};
  return core_->cancel();
}

}  // namespace tern::client
