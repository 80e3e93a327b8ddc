// The handles of connection.hpp and subscription.hpp.
#include <tern/client/connection.hpp>

#include "client/connect_on.hpp"
#include "client/connection_core.hpp"
#include "client/subscription_core.hpp"
#include "protocol/headers.hpp"

namespace tern::client {
namespace {

error no_connection() { return error(errc::closed, "no connection"); }

result<std::string> block_of(const headers& with) {
  if (with.empty()) return std::string();
  if (auto good = with.validate(); !good) return std::unexpected(std::move(good).error());
  protocol::header_builder builder;
  for (const auto& [name, value] : with) builder.add(name, value);
  return std::move(builder).finish();
}

}  // namespace

std::string_view name_of(connection_state state) {
  switch (state) {
    case connection_state::connecting:
      return "connecting";
    case connection_state::connected:
      return "connected";
    case connection_state::reconnecting:
      return "reconnecting";
    case connection_state::draining:
      return "draining";
    case connection_state::closed:
      return "closed";
  }
  return "unknown";
}

connection::connection(std::shared_ptr<detail::connection_core> core) : core_(std::move(core)) {}

operation<connection> connection::connect(const options& with) {
  auto own = std::make_shared<own_loop>();
  auto state = std::make_shared<detail::operation_state<connection>>(&own->loop());
  auto core = std::make_shared<detail::connection_core>(own->loop(), own->network(), own, with);
  own->loop().post([core, state] { core->start(state); });
  core.reset();
  own->start();
  return operation<connection>(state);
}

operation<connection> connect_on(runtime::shard& loop, runtime::transport& network, const options& with) {
  auto state = std::make_shared<detail::operation_state<connection>>(&loop);
  auto core = std::make_shared<detail::connection_core>(loop, network, nullptr, with);
  loop.post([core, state] { core->start(state); });
  return operation<connection>(state);
}

runtime::shard* shard_of(const connection& of) { return of ? &of.core()->loop() : nullptr; }

result<void> connection::publish(std::string_view subject, std::string_view payload) {
  if (!core_) return std::unexpected(no_connection());
  return core_->publish(subject, {}, {}, payload);
}

result<void> connection::publish(std::string_view subject, std::string_view payload, const headers& with) {
  return publish_with_reply(subject, {}, payload, with);
}

result<void> connection::publish_with_reply(std::string_view subject, std::string_view reply,
                                            std::string_view payload) {
  if (!core_) return std::unexpected(no_connection());
  return core_->publish(subject, reply, {}, payload);
}

result<void> connection::publish_with_reply(std::string_view subject, std::string_view reply, std::string_view payload,
                                            const headers& with) {
  if (!core_) return std::unexpected(no_connection());
  auto block = block_of(with);
  if (!block) return std::unexpected(std::move(block).error());
  return core_->publish(subject, reply, *block, payload);
}

operation<void> connection::flush() { return flush(core_ ? core_->settings().get().request_timeout : nanoseconds()); }

operation<void> connection::flush(nanoseconds patience) {
  if (!core_) return operation<void>::ended(std::unexpected(no_connection()));
  return core_->flush(patience);
}

operation<message> connection::request(std::string_view subject, std::string_view payload,
                                       const request_options& with) {
  if (!core_) return operation<message>::ended(std::unexpected(no_connection()));
  auto block = block_of(with.headers());
  if (!block) return operation<message>::ended(std::unexpected(std::move(block).error()));
  const auto patience = with.timeout() < nanoseconds::zero() ? core_->settings().get().request_timeout : with.timeout();
  return core_->request_message(subject, *block, payload, patience);
}

result<subscription> connection::subscribe(std::string_view subject, const subscribe_options& with) {
  return subscribe(subject, nullptr, with);
}

result<subscription> connection::subscribe(std::string_view subject, subscription::callback callback,
                                           const subscribe_options& with) {
  if (!core_) return std::unexpected(no_connection());
  const auto& settings = core_->settings().get();
  auto core = std::make_shared<detail::subscription_core>(
      core_->shared_from_this(), std::string(subject), std::move(callback),
      with.buffer() != 0 ? with.buffer() : settings.subscription_buffer,
      with.buffer_bytes() != 0 ? with.buffer_bytes() : settings.subscription_buffer_bytes);
  auto sid = core_->subscribe(subject, with.queue_group(), core, with.max_messages());
  if (!sid) return std::unexpected(std::move(sid).error());
  core->set_sid(*sid);
  return subscription(std::move(core));
}

std::string connection::new_inbox() { return core_ ? core_->new_inbox() : std::string(); }

operation<void> connection::drain() {
  if (!core_) return operation<void>::ended(std::unexpected(no_connection()));
  return core_->drain();
}

operation<void> connection::close() {
  if (!core_) return operation<void>::ended({});
  return core_->close();
}

connection_state connection::state() const { return core_ ? core_->state() : connection_state::closed; }
server_info connection::server() const { return core_ ? core_->server() : server_info(); }
connection_statistics connection::statistics() const { return core_ ? core_->statistics() : connection_statistics(); }

nanoseconds connection::default_request_timeout() const {
  return core_ ? core_->settings().get().request_timeout : nanoseconds();
}

const options& connection::settings() const {
  static const options none;
  return core_ ? core_->settings() : none;
}

boost::asio::any_io_executor connection::executor() const {
  return core_ ? boost::asio::any_io_executor(core_->loop().context().get_executor()) : boost::asio::any_io_executor();
}

subscription::subscription(std::shared_ptr<detail::subscription_core> core) : core_(std::move(core)) {}
subscription::subscription(subscription&&) noexcept = default;

subscription& subscription::operator=(subscription&& other) noexcept {
  if (this != &other) {
    if (core_) core_->abandon();
    core_ = std::move(other.core_);
  }
  return *this;
}

subscription::~subscription() {
  if (core_) core_->abandon();
}

operation<message> subscription::next() {
  if (!core_) return operation<message>::ended(fail(errc::closed, "no subscription"));
  return core_->next(std::nullopt);
}

operation<message> subscription::next(nanoseconds patience) {
  if (!core_) return operation<message>::ended(fail(errc::closed, "no subscription"));
  return core_->next(patience);
}

std::optional<message> subscription::try_next() { return core_ ? core_->try_next() : std::nullopt; }

void subscription::unsubscribe() {
  if (core_) core_->unsubscribe(0);
}

void subscription::unsubscribe(std::uint64_t max_messages) {
  if (core_) core_->unsubscribe(max_messages);
}

operation<void> subscription::drain() {
  if (!core_) return operation<void>::ended({});
  return core_->drain();
}

bool subscription::active() const { return core_ && core_->active(); }
std::string_view subscription::subject() const {
  return core_ ? std::string_view(core_->subject()) : std::string_view();
}
std::uint64_t subscription::received() const { return core_ ? core_->received() : 0; }
std::uint64_t subscription::dropped() const { return core_ ? core_->dropped() : 0; }
std::size_t subscription::pending() const { return core_ ? core_->pending() : 0; }

}  // namespace tern::client
