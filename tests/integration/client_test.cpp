// The client against a real server: what it says on the wire is understood, and the blocking face works from a plain
// main.
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <tern/client/connection.hpp>
#include <tern/client/jetstream.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

extern char** environ;

namespace tern::client {
namespace {

using namespace std::chrono_literals;

std::string find_server() {
  if (const char* named = std::getenv("TERN_NATS_SERVER"); named != nullptr && *named != '\0') return named;
  const char* path = std::getenv("PATH");
  std::string rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const auto colon = rest.find(':');
    const auto candidate = rest.substr(0, colon) + "/nats-server";
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  return {};
}

int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address);
  socklen_t size = sizeof address;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(socket);
  return ntohs(address.sin_port);
}

// A server of our own in its own process group, ended with the suite.
class server_process {
 public:
  explicit server_process(const std::string& program) : port_(free_port()) { start(program); }
  ~server_process() {
    stop();
    std::filesystem::remove_all(directory_);
  }
  void start(const std::string& program) {
    if (directory_.empty()) {
      std::string pattern = (std::filesystem::temp_directory_path() / "tern-client-XXXXXX").string();
      directory_ = ::mkdtemp(pattern.data());
    }
    std::vector<std::string> words = {program, "-a",  "127.0.0.1", "-p", std::to_string(port_),
                                      "-js",   "-sd", directory_,  "-l", directory_ + "/log"};
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ASSERT_EQ(::posix_spawn(&process_, program.c_str(), nullptr, &attributes, arguments.data(), environ), 0);
    ::posix_spawnattr_destroy(&attributes);
  }
  void stop() {
    if (process_ <= 0) return;
    ::kill(-process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }
  std::string url() const { return "nats://127.0.0.1:" + std::to_string(port_); }

 private:
  int port_;
  pid_t process_ = 0;
  std::string directory_;
};

class client_integration : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    program_ = find_server();
    if (!program_.empty()) server_ = std::make_unique<server_process>(program_);
  }
  static void TearDownTestSuite() { server_.reset(); }
  void SetUp() override {
    ASSERT_NE(server_, nullptr) << "no server to test against: run tools/setup test, or set TERN_NATS_SERVER";
    auto connected = connection::connect(options(server_->url()).name("integration").retry_first_connect()).get();
    ASSERT_TRUE(connected.has_value()) << connected.error().message();
    nats = *std::move(connected);
  }
  static std::string program_;
  static std::unique_ptr<server_process> server_;
  connection nats;
};
std::string client_integration::program_;
std::unique_ptr<server_process> client_integration::server_;

TEST_F(client_integration, publishes_subscribes_requests_and_flushes) {
  std::atomic<int> seen = 0;
  auto counting = nats.subscribe("count.*", [&](const message&) { ++seen; });
  auto serving = nats.subscribe(
      "echo", [&](message&& asked) { EXPECT_TRUE(nats.publish(asked.reply(), asked.payload()).has_value()); });
  ASSERT_TRUE(nats.flush().get().has_value());
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(nats.publish("count.x", "payload").has_value());
  auto reply = nats.request("echo", "hello").get();
  ASSERT_TRUE(reply.has_value()) << reply.error().message();
  EXPECT_EQ(reply->payload(), "hello");
  ASSERT_TRUE(counting->drain().get().has_value());
  EXPECT_EQ(seen, 10'000);
  EXPECT_EQ(nats.request("nobody.there", "").get().error().code(), errc::no_responders);
  EXPECT_EQ(nats.publish("big", std::string(2 << 20, 'x')).error().code(), errc::payload_too_large);
}

TEST_F(client_integration, headers_and_binary_payloads_survive) {
  auto taken = nats.subscribe("bin");
  headers with;
  with.add("X-One", "1").add("x-one", "2").add("X-One", "3");
  const std::string payload("\0\r\n\xff", 4);
  ASSERT_TRUE(nats.publish("bin", payload, with).has_value());
  auto got = taken->next(5s).get();
  ASSERT_TRUE(got.has_value()) << got.error().message();
  EXPECT_EQ(got->payload(), payload);
  EXPECT_EQ(got->headers(), with);
}

TEST_F(client_integration, streams_and_consumers_from_creation_to_deletion) {
  jetstream js(nats);
  stream_config orders;
  orders.name = "ORDERS";
  orders.subjects = {"orders.>"};
  orders.storage = storage_type::memory;
  orders.allow_direct = true;
  auto created = js.create_stream(orders).get();
  ASSERT_TRUE(created.has_value()) << created.error().message();
  EXPECT_EQ(created->config.num_replicas, 1);
  auto changed = created->config;
  changed.max_msgs = 1'000'000;
  auto updated = js.update_stream(changed).get();
  ASSERT_TRUE(updated.has_value()) << updated.error().message();

  auto first = js.publish("orders.a", "one", publish_options().message_id("1")).get();
  ASSERT_TRUE(first.has_value()) << first.error().message();
  EXPECT_EQ(first->seq, 1u);
  EXPECT_TRUE(js.publish("orders.a", "one", publish_options().message_id("1")).get()->duplicate);
  EXPECT_EQ(js.publish("orders.a", "x", publish_options().expect_last_sequence(9)).get().error().code(),
            errc::wrong_last_sequence);
  EXPECT_EQ(js.publish("no.stream", "x").get().error().code(), errc::no_stream_for_subject);
  std::atomic<int> acked = 0;
  for (int i = 0; i < 999; ++i) {
    ASSERT_TRUE(
        js.publish_async("orders.b", "more", [&](result<pub_ack> ack) { acked += ack.has_value(); }).has_value());
  }
  ASSERT_TRUE(js.publish_async_complete().get().has_value());
  EXPECT_EQ(acked, 999);

  consumer_config billing;
  billing.durable_name = "billing";
  auto consumer = js.create_consumer("ORDERS", billing).get();
  ASSERT_TRUE(consumer.has_value()) << consumer.error().message();
  EXPECT_EQ(consumer->num_pending, 1000u);
  EXPECT_EQ(js.consumer_names("ORDERS").get()->size(), 1u);
  EXPECT_EQ(js.stream_names("orders.a").get()->size(), 1u);
  EXPECT_EQ(js.get_message("ORDERS", 1).get()->payload, "one");
  EXPECT_EQ(js.direct_get_last("ORDERS", "orders.a").get()->seq, 1u);
  EXPECT_EQ(js.direct_get("ORDERS", 5000).get().error().code(), errc::not_found);
  EXPECT_EQ(js.stream_info("NONE").get().error().api_code(), 10059);

  auto pull = js.pull_consumer("ORDERS", "billing");
  auto batch = pull.fetch(fetch_options().batch(10).expires(2s)).get();
  ASSERT_TRUE(batch.has_value()) << batch.error().message();
  ASSERT_EQ(batch->messages.size(), 10u);
  EXPECT_TRUE(batch->messages[0].nak().has_value());
  for (std::size_t i = 1; i < 10; ++i) EXPECT_TRUE(batch->messages[i].ack().has_value());

  auto stream = pull.messages();
  ASSERT_TRUE(stream.has_value());
  std::uint64_t redelivered = 0;
  for (int i = 0; i < 991; ++i) {
    auto order = stream->next().get();
    ASSERT_TRUE(order.has_value()) << order.error().message();
    redelivered += order->metadata().delivered > 1;
    if (i == 990) {
      EXPECT_TRUE(order->ack_sync().get().has_value());
    } else {
      EXPECT_TRUE(order->ack().has_value());
    }
  }
  EXPECT_EQ(redelivered, 1u);
  auto info = pull.info().get();
  EXPECT_EQ(info->num_ack_pending, 0);
  EXPECT_EQ(info->ack_floor.stream_seq, 1000u);
  ASSERT_TRUE(js.delete_consumer("ORDERS", "billing").get().has_value());
  EXPECT_EQ(stream->next().get().error().code(), errc::consumer_deleted);
  EXPECT_TRUE(stream->ended());
  EXPECT_EQ(js.purge_stream("ORDERS").get(), 1000u);
  ASSERT_TRUE(js.account_info().get().has_value());
  ASSERT_TRUE(js.delete_stream("ORDERS").get().has_value());
}

TEST_F(client_integration, a_fetch_without_waiting_ends_at_the_end_of_the_data) {
  jetstream js(nats);
  stream_config few;
  few.name = "FEW";
  few.storage = storage_type::memory;
  ASSERT_TRUE(js.create_stream(few).get().has_value());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(js.publish("FEW", "x").get().has_value());
  consumer_config reader;
  reader.name = "reader";
  ASSERT_TRUE(js.create_consumer("FEW", reader).get().has_value());
  auto pull = js.pull_consumer("FEW", "reader");
  auto batch = pull.fetch(fetch_options().batch(10).expires(5s).no_wait()).get();
  ASSERT_TRUE(batch.has_value()) << batch.error().message();
  EXPECT_EQ(batch->messages.size(), 3u);
  EXPECT_EQ(batch->status, 404);
  EXPECT_FALSE(batch->problem);
  ASSERT_TRUE(js.delete_stream("FEW").get().has_value());
}

TEST_F(client_integration, a_coroutine_uses_every_operation_from_an_executor_of_its_own) {
  boost::asio::io_context here;
  std::string outcome = "did not run";
  const auto work = [&]() -> boost::asio::awaitable<void> {
    auto taken = nats.subscribe("co");
    auto flushed = co_await nats.flush();
    EXPECT_TRUE(flushed.has_value());
    EXPECT_TRUE(nats.publish("co", "m").has_value());
    auto got = co_await taken->next(5s);
    outcome = got ? std::string(got->payload()) : got.error().message();
    auto drained = co_await taken->drain();
    EXPECT_TRUE(drained.has_value());
  };
  boost::asio::co_spawn(here, work, boost::asio::detached);
  here.run();
  EXPECT_EQ(outcome, "m");
}

TEST_F(client_integration, threads_that_publish_at_once_lose_nothing) {
  std::atomic<std::uint64_t> seen = 0;
  auto counting = nats.subscribe("many", [&](const message&) { ++seen; });
  ASSERT_TRUE(nats.flush().get().has_value());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 25'000; ++i) EXPECT_TRUE(nats.publish("many", "0123456789").has_value());
    });
  }
  for (auto& thread : threads) thread.join();
  ASSERT_TRUE(counting->drain().get().has_value());
  EXPECT_EQ(seen, 100'000u);
}

// Last: it restarts the server.
TEST_F(client_integration, reconnects_to_a_restarted_server_and_receives_again) {
  std::atomic<int> reconnects = 0;
  auto connected = connection::connect(options(server_->url()).on_event([&](const connection_event& event) {
                     reconnects += event.what == connection_event::kind::reconnected;
                   })).get();
  ASSERT_TRUE(connected.has_value());
  auto taken = connected->subscribe("again");
  ASSERT_TRUE(connected->flush().get().has_value());
  server_->stop();
  server_->start(program_);
  // A flush that was under way when the server went fails; one that begins afterwards waits for the new one.
  result<void> flushed = fail(errc::disconnected, "");
  for (int attempt = 0; attempt < 5 && !flushed; ++attempt) flushed = connected->flush(20s).get();
  ASSERT_TRUE(flushed.has_value()) << flushed.error().message();
  EXPECT_EQ(reconnects, 1);
  ASSERT_TRUE(connected->publish("again", "here").has_value());
  auto got = taken->next(5s).get();
  ASSERT_TRUE(got.has_value()) << got.error().message();
  EXPECT_EQ(got->payload(), "here");
}

}  // namespace
}  // namespace tern::client
