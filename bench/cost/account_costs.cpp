// What an account's operations cost against the number of its streams.
#include "cost.hpp"

#include "jetstream/test_harness.hpp"

#include <memory>
#include <string>
#include <vector>

namespace tern::cost {
namespace {

using jetstream::test_harness;

const std::vector<std::uint64_t> up_to_ten_thousand = {10, 100, 1'000, 10'000};

std::string body_of(std::uint64_t number) {
  const std::string name = "S" + std::to_string(number);
  return R"({"name":")" + name + R"(","subjects":[")" + name + R"(.>"],"storage":"memory","max_bytes":1000000})";
}

std::unique_ptr<test_harness> with_streams(std::uint64_t count) {
  auto server = std::make_unique<test_harness>();
  for (std::uint64_t i = 0; i < count; ++i) {
    server->publish("$JS.API.STREAM.CREATE.S" + std::to_string(i), body_of(i));
    if (i % 1000 == 999) server->turn();
  }
  server->turn();
  return server;
}

const registration create_stream({"create a stream", "create", "streams", up_to_ten_thousand, [](std::uint64_t size) {
                                    auto server = with_streams(size);
                                    return sample{time_each(500,
                                                            [&](std::uint64_t i) {
                                                              server->api("STREAM.CREATE.S" + std::to_string(size + i),
                                                                          body_of(size + i));
                                                            }),
                                                  {}};
                                  }});

const registration find_stream(
    {"stream names by subject", "request", "streams", up_to_ten_thousand, [](std::uint64_t size) {
       auto server = with_streams(size);
       return sample{time_each(2000,
                               [&](std::uint64_t i) {
                                 server->api("STREAM.NAMES", R"({"subject":"S)" + std::to_string(i % size) + ".a\"}");
                               }),
                     {}};
     }});

const registration publish_to_one(
    {"publish to one of many streams", "message", "streams", up_to_ten_thousand, [](std::uint64_t size) {
       auto server = with_streams(size);
       return sample{time_each(1000,
                               [&](std::uint64_t round) {
                                 for (int i = 0; i < 100; ++i)
                                   server->publish("S" + std::to_string(round % size) + ".a", "payload");
                                 server->turn();
                               }) /
                         100,
                     {}};
     }});

}  // namespace
}  // namespace tern::cost
