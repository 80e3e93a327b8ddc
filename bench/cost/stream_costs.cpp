// What a stream's operations cost against its messages, subjects and consumers.
#include "cost.hpp"

#include "jetstream/test_harness.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

namespace tern::cost {
namespace {

using jetstream::test_harness;
using namespace std::chrono_literals;

constexpr std::uint64_t per_turn = 10'000;

// A memory stream S on `s.>` with more configuration.
std::unique_ptr<test_harness> make_stream(const std::string& more = {}) {
  auto made = std::make_unique<test_harness>();
  made->api("STREAM.CREATE.S",
            R"({"name":"S","subjects":["s.>"],"storage":"memory","duplicate_window":100000000)" + more + "}");
  return made;
}

std::string subject_of(std::uint64_t number) { return "s." + std::to_string(number); }

void fill(test_harness& server, std::uint64_t messages, std::uint64_t subjects) {
  for (std::uint64_t i = 0; i < messages; ++i) {
    server.publish(subject_of(i % subjects), "payload");
    if (i % per_turn == per_turn - 1) server.turn();
  }
  server.turn();
}

void add_consumers(test_harness& server, std::uint64_t count, bool one_filter_each) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string name = "c" + std::to_string(i);
    server.publish("$JS.API.CONSUMER.CREATE.S." + name,
                   R"({"stream_name":"S","config":{"durable_name":")" + name +
                       R"(","ack_policy":"explicit","mem_storage":true)" +
                       (one_filter_each ? R"(,"filter_subject":")" + subject_of(i) + "\"" : "") + "}}");
    if (i % 1000 == 999) server.turn();
  }
  server.turn();
}

// Publishes in batches, as a busy connection does: the end of a turn is shared.
double time_publishes(test_harness& server, std::uint64_t count, std::uint64_t subjects) {
  constexpr std::uint64_t batch = 100;
  return time_each(count / batch,
                   [&](std::uint64_t round) {
                     for (std::uint64_t i = 0; i < batch; ++i)
                       server.publish(subject_of((round * batch + i) % subjects), "payload");
                     server.turn();
                   }) /
         batch;
}

const registration publish_beside_consumers({"publish beside consumers with one subject each", "message", "consumers",
                                             up_to_a_hundred_thousand, [](std::uint64_t size) {
                                               auto server = make_stream(R"(,"max_msgs":10000)");
                                               add_consumers(*server, size, true);
                                               return sample{time_publishes(*server, 50'000, size + 1), {}};
                                             }});

const registration publish_by_subject_limit({"publish with max_msgs_per_subject 1", "message", "subjects",
                                             up_to_a_million, [](std::uint64_t size) {
                                               auto server = make_stream(R"(,"max_msgs_per_subject":1)");
                                               fill(*server, size, size);
                                               return sample{time_publishes(*server, 100'000, size), {}};
                                             }});

const registration publish_with_ids(
    {"publish with a message id", "message", "ids in window", up_to_ten_million, [](std::uint64_t size) {
       auto server = std::make_unique<test_harness>();
       server->api(
           "STREAM.CREATE.S",
           R"({"name":"S","subjects":["s.>"],"storage":"memory","max_msgs":1000,"duplicate_window":86400000000000})");
       const auto publish = [&](std::uint64_t number) {
         server->publish("s.a", "payload", "NATS/1.0\r\nNats-Msg-Id: id-" + std::to_string(number) + "\r\n\r\n");
         if (number % 100 == 99) server->turn();
       };
       for (std::uint64_t i = 0; i < size; ++i) publish(i);
       return sample{time_each(50'000, [&](std::uint64_t i) { publish(size + i); }), {}};
     }});

const registration create_literal(
    {"create a consumer of one subject", "create", "messages", up_to_ten_million, [](std::uint64_t size) {
       auto server = make_stream();
       fill(*server, size, std::max<std::uint64_t>(size / 10, 1));
       return sample{time_each(200,
                               [&](std::uint64_t i) {
                                 server->api("CONSUMER.CREATE.S.c" + std::to_string(i),
                                             R"({"stream_name":"S","config":{"name":"c)" + std::to_string(i) +
                                                 R"(","ack_policy":"explicit","filter_subject":"s.7"}})");
                               }),
                     {}};
     }});

const registration create_wildcard(
    {"create a consumer of a wildcard that matches every second subject", "create", "messages", up_to_ten_million,
     [](std::uint64_t size) {
       auto server = make_stream();
       for (std::uint64_t i = 0; i < size; ++i) {
         server->publish((i % 2 == 0 ? "s.even." : "s.odd.") + std::to_string(i % 1000), "payload");
         if (i % per_turn == per_turn - 1) server->turn();
       }
       server->turn();
       return sample{time_each(20,
                               [&](std::uint64_t i) {
                                 server->api("CONSUMER.CREATE.S.c" + std::to_string(i),
                                             R"({"stream_name":"S","config":{"name":"c)" + std::to_string(i) +
                                                 R"(","ack_policy":"explicit","filter_subject":"s.even.*"}})");
                               }),
                     {}};
     }});

const registration consumer_info(
    {"consumer info with num_pending", "request", "messages", up_to_ten_million, [](std::uint64_t size) {
       auto server = make_stream();
       fill(*server, size, std::max<std::uint64_t>(size / 10, 1));
       server->api(
           "CONSUMER.CREATE.S.c",
           R"({"stream_name":"S","config":{"durable_name":"c","ack_policy":"explicit","filter_subject":"s.*"}})");
       return sample{time_each(2000, [&](std::uint64_t) { server->api("CONSUMER.INFO.S.c"); }), {}};
     }});

const registration pull_sparse(
    {"pull the next of 1 subject among many", "pull", "subjects", up_to_a_million, [](std::uint64_t size) {
       auto server = make_stream();
       for (int round = 0; round < 4; ++round) fill(*server, size, size);
       server->api("CONSUMER.CREATE.S.c",
                   R"({"stream_name":"S","config":{"durable_name":"c","ack_policy":"none","filter_subject":"s.9"}})");
       return sample{time_each(4, [&](std::uint64_t) { server->request("$JS.API.CONSUMER.MSG.NEXT.S.c", "1"); }), {}};
     }});

const registration interior_deletes(
    {"delete a message inside", "delete", "deleted already", up_to_ten_million, [](std::uint64_t size) {
       auto server = make_stream();
       fill(*server, size + 10'000, 1000);
       // Every second one stays, so that the gaps do not join.
       for (std::uint64_t i = 2; i <= size; i += 2) {
         server->publish("$JS.API.STREAM.MSG.DELETE.S", R"({"seq":)" + std::to_string(i) + R"(,"no_erase":true})");
         if (i % per_turn == 0) server->turn();
       }
       server->turn();
       return sample{time_each(2000,
                               [&](std::uint64_t i) {
                                 server->api("STREAM.MSG.DELETE.S", R"({"seq":)" + std::to_string(3 + i * 2) + "}");
                               }),
                     {}};
     }});

const registration stream_info(
    {"stream info beside interior deletes", "request", "messages", up_to_ten_million, [](std::uint64_t size) {
       auto server = make_stream();
       fill(*server, size, 1000);
       for (std::uint64_t i = 2; i <= size; i += 2) {
         server->publish("$JS.API.STREAM.MSG.DELETE.S", R"({"seq":)" + std::to_string(i) + R"(,"no_erase":true})");
         if (i % per_turn == 0) server->turn();
       }
       server->turn();
       return sample{time_each(2000, [&](std::uint64_t) { server->api("STREAM.INFO.S"); }), {}};
     }});

const registration expiry({"expiry beside 1000 consumers", "message", "messages", up_to_a_million,
                           [](std::uint64_t size) {
                             auto server = make_stream(R"(,"max_age":60000000000)");
                             fill(*server, size, 1000);
                             add_consumers(*server, 1000, true);
                             runtime::real_clock clock;
                             const auto begin = clock.now();
                             server->advance(61s);
                             return sample{
                                 static_cast<double>((clock.now() - begin).count()) / static_cast<double>(size), {}};
                           }});

const registration purge_all({"purge of everything", "message", "messages", up_to_ten_million, [](std::uint64_t size) {
                                auto server = make_stream();
                                fill(*server, size, 1000);
                                return sample{time_each(1, [&](std::uint64_t) { server->api("STREAM.PURGE.S"); }) /
                                                  static_cast<double>(size),
                                              {}};
                              }});

const registration purge_subject(
    {"purge of a subject with 10 messages", "purge", "messages", up_to_ten_million, [](std::uint64_t size) {
       auto server = make_stream();
       fill(*server, size, size / 10);
       const std::uint64_t rounds = std::min<std::uint64_t>(size / 10, 500);
       return sample{
           time_each(rounds,
                     [&](std::uint64_t i) { server->api("STREAM.PURGE.S", R"({"filter":")" + subject_of(i) + "\"}"); }),
           {}};
     }});

const registration waiting_pulls(
    {"publish beside waiting pulls", "message", "waiting pulls", up_to_a_hundred_thousand, [](std::uint64_t size) {
       auto server = make_stream(R"(,"max_msgs":10000)");
       server->api("CONSUMER.CREATE.S.c", R"({"stream_name":"S","config":{"durable_name":"c","ack_policy":"none",)"
                                          R"("filter_subject":"s.wanted","max_waiting":200000}})");
       for (std::uint64_t i = 0; i < size; ++i) {
         server->publish("$JS.API.CONSUMER.MSG.NEXT.S.c", R"({"batch":1000000,"expires":3600000000000})", {},
                         "_INBOX.wait." + std::to_string(i));
         if (i % 1000 == 999) server->turn();
       }
       server->turn();
       const double each = time_each(500,
                                     [&](std::uint64_t) {
                                       for (int i = 0; i < 100; ++i) server->publish("s.wanted", "payload");
                                       server->turn();
                                       server->take_messages();
                                     }) /
                           100;
       return sample{each, {}};
     }});

const registration last_by_subject(
    {"message get of the last of a subject", "request", "messages", up_to_ten_million, [](std::uint64_t size) {
       auto server = make_stream();
       fill(*server, size, std::max<std::uint64_t>(size / 10, 1));
       return sample{time_each(5000,
                               [&](std::uint64_t i) {
                                 server->api("STREAM.MSG.GET.S",
                                             R"({"last_by_subj":")" + subject_of(i * 7919 % (size / 10)) + "\"}");
                               }),
                     {}};
     }});

}  // namespace
}  // namespace tern::cost
