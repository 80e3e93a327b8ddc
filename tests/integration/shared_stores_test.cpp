// What this client writes others read, and the other way round: the `nats` command and nats-py on the same buckets,
// object stores and services, on both servers (jetstream 21).
#include "server_fixture.hpp"

#include <tern/client/key_value.hpp>
#include <tern/client/micro.hpp>
#include <tern/client/object_store.hpp>

#include <cstdio>
#include <filesystem>

namespace tern::client {
namespace {

using namespace std::chrono_literals;

// What the command wrote to both outputs; a test failure when it failed.
std::string output_of(const std::string& command) {
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::string text;
  char buffer[4096];
  while (const auto got = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, got);
  EXPECT_EQ(::pclose(pipe), 0) << command << "\n" << text;
  return text;
}

constexpr const char* python_program = R"(
import asyncio, sys, nats
async def main():
    nc = await nats.connect(sys.argv[1])
    js = nc.jetstream()
    kv = await js.key_value('shared')
    print((await kv.get('tern')).value.decode())
    await kv.put('python', b'from python')
    await kv.delete('gone')
    store = await js.object_store('shared')
    print(len((await store.get('tern')).data))
    await store.put('python', b'p' * 300000)
    await nc.close()
asyncio.run(main())
)";

class shared_stores : public with_server {
 protected:
  std::string nats_command(const std::string& arguments) {
    return output_of(std::string(TERN_TOOLS "/bin/nats --no-context -s ") + url + " " + arguments);
  }
  std::string python() {
    return output_of(std::string(TERN_TOOLS "/venv/bin/python -c \"") + python_program + "\" " + url);
  }
  static bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
};

TEST_P(shared_stores, key_value_buckets_are_shared_with_the_nats_command) {
  nats_command("kv add cli --history 5 --storage memory --ttl 1h");
  nats_command("kv put cli a.b one");
  nats_command("kv put cli a.b two");
  nats_command("kv put cli gone x");
  nats_command("kv del cli gone -f");
  auto bucket = must(key_value_buckets(js).open("cli").get());
  EXPECT_EQ(must(bucket.get("a.b").get()).value, "two");
  EXPECT_EQ(must(bucket.history("a.b").get()).size(), 2u);
  EXPECT_EQ(bucket.get("gone").get().error().code(), errc::not_found);
  EXPECT_EQ(must(bucket.keys().get()), std::vector<std::string>{"a.b"});
  must(bucket.put("tern", "from tern").get());
  must(bucket.purge("a.b").get());
  EXPECT_EQ(nats_command("kv get cli tern --raw"), "from tern");
  EXPECT_EQ(nats_command("kv ls cli"), "tern\n");
  EXPECT_TRUE(has(nats_command("kv history cli a.b"), "PURGE"));
  // A bucket of our own, as the command sees it.
  key_value_config own;
  own.bucket = "own";
  own.history = 3;
  own.storage = storage_type::memory;
  must(key_value_buckets(js).create(own).get());
  EXPECT_TRUE(has(nats_command("kv info own"), "History Kept: 3"));
}

TEST_P(shared_stores, object_stores_are_shared_with_the_nats_command) {
  const auto folder = std::filesystem::temp_directory_path() / ("tern-objects-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string data(300'000, 'd');
  std::ofstream(folder / "in") << data;
  nats_command("object add cli --storage memory");
  nats_command("object put cli " + (folder / "in").string() + " --name from-cli -f --no-progress");
  auto store = must(object_stores(js).open("cli").get());
  const auto read = must(store.get("from-cli").get());
  EXPECT_EQ(read.data, data);
  EXPECT_EQ(read.info.chunks, 3u);
  must(store.put("from-tern", data + "!").get());
  nats_command("object get cli from-tern -f --no-progress -O " + (folder / "out").string());
  std::ifstream out(folder / "out");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(out), {}), data + "!");
  EXPECT_TRUE(has(nats_command("object ls cli"), "from-tern"));
  nats_command("object rm cli from-cli -f");
  EXPECT_EQ(store.get("from-cli").get().error().code(), errc::not_found);
  std::filesystem::remove_all(folder);
}

TEST_P(shared_stores, buckets_and_objects_are_shared_with_nats_py) {
  key_value_config config;
  config.bucket = "shared";
  config.storage = storage_type::memory;
  auto bucket = must(key_value_buckets(js).create(config).get());
  must(bucket.put("tern", "from tern").get());
  must(bucket.put("gone", "x").get());
  object_store_config objects;
  objects.bucket = "shared";
  objects.storage = storage_type::memory;
  auto store = must(object_stores(js).create(objects).get());
  must(store.put("tern", std::string(200'000, 't')).get());
  EXPECT_EQ(python(), "from tern\n200000\n");
  EXPECT_EQ(must(bucket.get("python").get()).value, "from python");
  EXPECT_EQ(bucket.get("gone").get().error().code(), errc::not_found);
  EXPECT_EQ(must(store.get("python").get()).data, std::string(300'000, 'p'));
}

TEST_P(shared_stores, services_are_found_by_the_nats_command) {
  auto orders = must(micro_service::start(nats, micro_service_options("orders", "1.2.0").description("takes orders")));
  must(orders.add_endpoint("place", [](micro_request&& asked) { EXPECT_TRUE(asked.respond("ok").has_value()); }));
  must(nats.flush().get());
  EXPECT_TRUE(has(nats_command("service ls"), "takes orders"));
  const auto info = nats_command("service info orders");
  EXPECT_TRUE(has(info, orders.id())) << info;
  EXPECT_TRUE(has(info, "place")) << info;
  EXPECT_TRUE(nats_command("request place x --raw").starts_with("ok"));
  EXPECT_TRUE(has(nats_command("service stats orders"), "orders"));
}

INSTANTIATE_TEST_SUITE_P(servers, shared_stores, ::testing::Values("nats_server", "ternd"), name_of_server);

}  // namespace
}  // namespace tern::client
