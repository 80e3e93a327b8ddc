#include <tern/testing/harness.hpp>

#include "service/subscription_loop.hpp"
#include "testing/world_core.hpp"

#include <boost/asio/co_spawn.hpp>

namespace tern::testing {

void fail_assertion(const std::string& text) { throw assertion_failed(text); }

// --- subscriber ---

const std::vector<recorded_delivery>& test_subscriber::deliveries() const {
  static const std::vector<recorded_delivery> none;
  const auto found = record_->deliveries.find(name_);
  return found == record_->deliveries.end() ? none : found->second;
}

std::size_t test_subscriber::calls() const {
  const auto& all = deliveries();
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [](const auto& each) { return each.outcome != "decode_failed"; }));
}

std::vector<std::string> test_subscriber::outcomes() const {
  std::vector<std::string> all;
  for (const auto& each : deliveries()) all.push_back(each.ended ? each.outcome : "running");
  return all;
}

std::vector<std::string> test_subscriber::settlements() const {
  std::vector<std::string> all;
  for (const auto& each : deliveries()) all.push_back(each.ended ? each.settlement : "running");
  return all;
}

std::vector<std::size_t> test_subscriber::batch_sizes() const {
  const auto found = record_->batches.find(name_);
  return found == record_->batches.end() ? std::vector<std::size_t>{} : found->second;
}

std::size_t test_subscriber::attempts(std::uint64_t stream_sequence) const {
  const auto& all = deliveries();
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [&](const auto& each) { return each.stream_sequence == stream_sequence; }));
}

void test_subscriber::assert_called(std::size_t times) const {
  if (calls() != times)
    fail_assertion(name_ + " was called " + std::to_string(calls()) + " times, expected " + std::to_string(times) +
                   "\n" + record_->history());
}

void test_subscriber::assert_outcomes(const std::vector<std::string>& expected) const {
  if (outcomes() == expected) return;
  std::string text = name_ + " has other outcomes than expected:";
  for (const auto& each : expected) text += " " + each;
  fail_assertion(text + "\n" + record_->history());
}

void test_subscriber::assert_received_bytes(std::string_view payload) const {
  for (const auto& each : deliveries()) {
    if (each.payload == payload) return;
  }
  fail_assertion(name_ + " never received " + std::string(payload) + "\n" + record_->history());
}

// --- test_app ---

test_subscriber test_app::subscriber(std::string_view name) const {
  for (const auto& each : record_->core->subscriptions()) {
    if (each->name() == name) return test_subscriber(record_, std::string(name));
  }
  fail_assertion("the application has no subscription named " + std::string(name));
}

std::vector<published_message> test_app::published(std::string_view subject) const {
  std::vector<published_message> found;
  for (const auto& each : record_->published) {
    if (each.subject == subject) found.push_back(each);
  }
  return found;
}

void test_app::assert_published_bytes_once(std::string_view subject, std::string_view payload) const {
  const auto all = published(subject);
  if (all.size() != 1 || all.front().payload != payload) {
    fail_assertion("expected one message " + std::string(payload) + " on " + std::string(subject) + ", found " +
                   std::to_string(all.size()) + "\n" + record_->history());
  }
}

std::optional<error> test_app::run_result() const { return record_->core->failure(); }

void test_app::assert_running() const {
  if (health().status != service::health_status::running)
    fail_assertion("the application is not running: " + health().reason + "\n" + record_->history());
}

service::health test_app::health() const { return record_->core->health(); }

service::subscription_counters test_app::counters(std::string_view subscription) const {
  const auto found = record_->core->counters(subscription);
  if (!found) fail_assertion("the application has no subscription named " + std::string(subscription));
  return *found;
}

service::publisher test_app::publisher(std::string_view broker) const {
  return service::publisher(record_->core->link(broker));
}
const std::vector<service::log_record>& test_app::logs() const { return record_->log->records; }

bool test_app::logged(service::log_level level, std::string_view part) const {
  for (const auto& each : logs()) {
    if (each.level == level && each.line().find(part) != std::string::npos) return true;
  }
  return false;
}

void test_app::fail_next_publish(std::string_view subject, error why) {
  for (const auto& link : record_->core->links()) link->fail_next(std::string(subject), why);
}

void test_app::drop_settlements(std::size_t count) {
  for (const auto& link : record_->core->links()) link->drop_settlements(count);
}

void test_app::crash() {
  record_->core->abandon();
  record_->ended = result<void>();
  world_->settle();
}

void test_app::begin_shutdown() {
  if (record_->shutdown_begun) return;
  record_->shutdown_begun = true;
  boost::asio::co_spawn(record_->core->executor(), record_->core->shut_down(),
                        [record = record_](std::exception_ptr, result<void> done) { record->ended = std::move(done); });
  world_->settle();
}

bool test_app::shut_down() const { return record_->ended.has_value(); }

result<void> test_app::shutdown() {
  begin_shutdown();
  world_->drive([this] { return record_->ended.has_value(); });
  if (!record_->ended)
    fail_assertion("shutdown waits for handlers that wait for time: advance the world first\n" + record_->history());
  return *record_->ended;
}

std::string test_app::history() const { return record_->history(); }

// --- broker ---

broker& broker::stream(std::string name, std::vector<std::string> subjects) {
  client::stream_config config;
  config.name = std::move(name);
  config.subjects = std::move(subjects);
  return stream(std::move(config));
}

broker& broker::stream(client::stream_config config) {
  config.storage = client::storage_type::memory;
  world_->need(client::jetstream(connection()).create_stream(config), "creating stream " + config.name);
  return *this;
}

void broker::publish(std::string_view subject, std::string_view bytes, const client::headers& headers) {
  if (auto sent = connection().publish(subject, bytes, headers); !sent)
    fail_assertion("publish to " + std::string(subject) + ": " + sent.error().message());
  world_->settle();
}

result<client::message> broker::request(std::string_view subject, std::string_view bytes) {
  return world_->wait(connection().request(subject, bytes));
}

bool broker::has_stream(std::string_view stream) {
  return world_->wait(client::jetstream(connection()).stream_info(stream)).has_value();
}

client::stream_info broker::stream_info(std::string_view stream) {
  return world_->need(client::jetstream(connection()).stream_info(stream), "stream info of " + std::string(stream));
}

client::consumer_info broker::consumer_info(std::string_view stream, std::string_view consumer) {
  return world_->need(client::jetstream(connection()).consumer_info(stream, consumer),
                      "consumer info of " + std::string(consumer));
}

std::vector<stored_message> broker::stored(std::string_view stream) {
  const client::stream_info info = stream_info(stream);
  std::vector<stored_message> all;
  for (std::uint64_t sequence = info.state.first_seq; info.state.messages != 0 && sequence <= info.state.last_seq;
       ++sequence) {
    auto message = world_->wait(client::jetstream(connection()).get_message(stream, sequence));
    if (message) {
      client::message with_headers;
      with_headers.assign(message->subject, {}, message->header_block, message->payload);
      all.push_back({message->subject, message->seq, message->payload, with_headers.headers()});
    } else if (message.error().code() != errc::not_found) {
      fail_assertion("message " + std::to_string(sequence) + " of " + std::string(stream) + ": " +
                     message.error().message());
    }
  }
  return all;
}

void broker::delete_consumer(std::string_view stream, std::string_view consumer) {
  world_->need(client::jetstream(connection()).delete_consumer(stream, consumer),
               "deleting consumer " + std::string(consumer));
}

client::connection& broker::connection() { return world_->broker(name_).connection; }

void broker::delete_stream(std::string_view stream) {
  world_->need(client::jetstream(connection()).delete_stream(stream), "deleting stream " + std::string(stream));
}

void broker::disconnect() {
  if (world_->paused == nullptr) fail_assertion("only an in-process server can be cut off");
  world_->broker(name_).server->suspend();
  world_->settle();
}

void broker::reconnect() {
  if (auto resumed = world_->broker(name_).server->resume(); !resumed) fail_assertion(resumed.error().message());
  world_->settle();
}

// --- world ---

world::world(const world_options& with) : core_(std::make_shared<detail::world_core>(with)) {}
world::~world() = default;

broker world::broker(std::string_view name) {
  core_->broker(std::string(name));
  return testing::broker(core_, std::string(name));
}

test_app world::start(service::app what) {
  auto started = try_start(std::move(what));
  if (!started) fail_assertion("the application did not start: " + started.error().message());
  return *std::move(started);
}

result<test_app> world::try_start(service::app what) {
  auto record = core_->start(std::move(what));
  if (!record) return std::unexpected(std::move(record).error());
  return test_app(core_, *std::move(record));
}

void world::settle() { core_->settle(); }
void world::advance(std::chrono::nanoseconds by) { core_->advance(by); }
bool world::wait_until(const std::function<bool()>& condition, std::chrono::nanoseconds patience) {
  return core_->wait_until(condition, patience);
}
time_point world::now() const { return core_->clock->now(); }

}  // namespace tern::testing
