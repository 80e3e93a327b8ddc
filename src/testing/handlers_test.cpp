// What handlers may take and return. (service 4.1, 4.2, 13)
#include "testing/service_fixture.hpp"

#include <tern/service/app.hpp>

#include <boost/asio/awaitable.hpp>

namespace tern::testing {
namespace {

using namespace std::chrono_literals;
using namespace tern::service;

class returns : public service_test {
 protected:
  // The outcomes and settlements of one delivery to a handler without replies.
  template <class Handler>
  std::pair<texts, texts> of(Handler handler) {
    auto app = start(packing(std::move(handler)).max_attempts(1));
    publish(1);
    auto made = std::pair(app.subscriber("packing").outcomes(), app.subscriber("packing").settlements());
    logs_ = app.logs();
    (void)app.shutdown();
    return made;
  }
  template <class Handler>
  texts replying(Handler handler) {
    auto app = start(packing(std::move(handler)).template reply<receipt>("receipts"));
    publish(1);
    for (const auto& each : app.published("receipts")) replies_.push_back(each.payload);
    return app.subscriber("packing").outcomes();
  }
  bool logged(std::string_view part) const {
    return std::any_of(logs_.begin(), logs_.end(),
                       [&](const auto& each) { return each.line().find(part) != std::string::npos; });
  }

  std::vector<log_record> logs_;
  texts replies_;
};

const std::pair<texts, texts> acknowledged{{"ack"}, {"acked"}};
const std::pair<texts, texts> dropped{{"drop"}, {"terminated"}};

TEST_F(returns, nothing_is_ack) {
  EXPECT_EQ(of([](const order&) {}), acknowledged);
}
TEST_F(returns, an_awaitable_of_nothing_is_ack) {
  EXPECT_EQ(of([](const order&) -> boost::asio::awaitable<void> { co_await sleep_for(0ns); }), acknowledged);
}
TEST_F(returns, an_outcome_is_itself) {
  EXPECT_EQ(of([](const order&) { return drop(); }), dropped);
}
TEST_F(returns, an_expected_without_error_is_ack) {
  EXPECT_EQ(of([](const order&) -> std::expected<void, std::string> { return {}; }), acknowledged);
}
TEST_F(returns, an_error_is_drop_and_its_text_is_logged) {
  EXPECT_EQ(of([](const order&) -> std::expected<void, std::string> { return std::unexpected("no lamp left"); }),
            dropped);
  EXPECT_TRUE(logged("no lamp left"));
}
TEST_F(returns, an_expected_outcome_is_that_outcome_and_its_error_drop) {
  EXPECT_EQ(of([](const order&) -> std::expected<outcome, error> { return ack(); }), acknowledged);
}
TEST_F(returns, the_error_of_an_expected_outcome_is_drop) {
  EXPECT_EQ(of([](const order&) -> std::expected<outcome, error> { return fail(errc::io_error, "printer"); }), dropped);
  EXPECT_TRUE(logged("printer"));
}
TEST_F(returns, a_value_is_published_then_acknowledged) {
  EXPECT_EQ(replying([](const order& what) { return receipt{what.id}; }), texts{"ack"});
  EXPECT_EQ(replies_, texts{R"({"order":1})"});
}
TEST_F(returns, an_empty_optional_is_ack_without_a_reply) {
  EXPECT_EQ(replying([](const order&) { return std::optional<receipt>(); }), texts{"ack"});
  EXPECT_TRUE(replies_.empty());
}
TEST_F(returns, an_expected_value_is_published) {
  EXPECT_EQ(replying([](const order& what) -> std::expected<receipt, outcome> { return receipt{what.id}; }),
            texts{"ack"});
  EXPECT_EQ(replies_.size(), 1u);
}
TEST_F(returns, the_outcome_of_an_expected_settles_and_nothing_is_published) {
  EXPECT_EQ(replying([](const order&) -> std::expected<receipt, outcome> { return std::unexpected(drop()); }),
            texts{"drop"});
  EXPECT_TRUE(replies_.empty());
}
TEST_F(returns, either_side_of_a_variant) {
  EXPECT_EQ(replying([](const order& what) -> boost::asio::awaitable<std::variant<receipt, outcome>> {
              co_return receipt{what.id};
            }),
            texts{"ack"});
  EXPECT_EQ(replies_.size(), 1u);
}
TEST_F(returns, several_replies_leave_in_order) {
  auto app = start(packing([](const order& what) { return std::tuple<receipt, order>(receipt{what.id}, what); })
                       .reply<receipt>("receipts")
                       .reply<order>("copies"));
  publish(4);
  app.assert_published_once("receipts", receipt{4});
  app.assert_published_once("copies", order{4, "lamp"});
}

// --- parameters ---

struct shelf {
  int lamps = 3;
};
struct shop_state {
  std::shared_ptr<shelf> front;
  std::string owner;
};
struct trace_headers {
  std::string tenant;
  std::optional<std::uint32_t> priority;
};
struct self_made {
  std::string text;
  static result<self_made> from_bytes(std::string_view bytes) {
    if (bytes.empty()) return fail(errc::decode_error, "empty");
    return self_made{std::string(bytes)};
  }
};
struct caller {
  std::string name;
};

}  // namespace
}  // namespace tern::testing

template <>
struct tern::service::extractor<tern::testing::caller> {
  static std::expected<tern::testing::caller, outcome> extract(context& delivery) {
    if (const auto name = delivery.header("Caller")) return tern::testing::caller{std::string(*name)};
    return std::unexpected(retry_after(std::chrono::seconds(5)));
  }
};

namespace tern::testing {
namespace {

using parameters = service_test;

TEST_F(parameters, state_is_found_by_type_or_by_what_a_pointer_points_to) {
  std::string seen;
  auto app = world_.start(app_builder("shop", "1.0.0")
                              .on_startup([](std::monostate) { return shop_state{std::make_shared<shelf>(), "ann"}; })
                              .broker(nats("nats://localhost:4222"),
                                      [&](auto& scope) {
                                        scope.include(packing([&](const order&, state<shelf> front,
                                                                  state<std::string> owner, state<shop_state> whole) {
                                          seen = std::to_string(front->lamps) + *owner + whole->owner;
                                        }));
                                      })
                              .build());
  publish(1);
  EXPECT_EQ(seen, "3annann");
}

TEST_F(parameters, broker_fields_tell_of_the_delivery_and_are_empty_on_core) {
  std::string seen;
  auto app = start(
      packing([&](const order&, nats::delivered_count attempt, field<nats::stream> stream,
                  field<nats::consumer> consumer, field<nats::stream_sequence> at, field<nats::pending> pending,
                  context& delivery) {
        seen = std::to_string(attempt) + std::string(*stream) + std::string(*consumer) + std::to_string(*at) +
               std::to_string(*pending) + std::string(delivery.reply_to()) + std::string(delivery.subject());
      }),
      subscriber(core("core.orders"), [&](const order&, field<nats::stream> stream, field<nats::delivered> delivered) {
        seen = stream || delivered ? "something" : "nothing";
      }));
  publish(1);
  EXPECT_EQ(seen, "1ORDERSpacking10orders.new");
  publish_core(1);
  EXPECT_EQ(seen, "nothing");
}

TEST_F(parameters, a_header_contract_is_filled_and_a_missing_header_is_a_decode_failure) {
  std::string seen;
  auto app = start(packing([&](const order&, service::headers<trace_headers> with) {
    seen = with->tenant + (with->priority ? std::to_string(*with->priority) : "-");
  }));
  client::headers headers;
  headers.add("tenant", "acme").add("priority", "7");
  publish(1, headers);
  EXPECT_EQ(seen, "acme7");
  headers.erase("priority");
  publish(2, headers);
  EXPECT_EQ(seen, "acme-");
  headers.set("priority", "seven");
  publish(3, headers);
  publish(4);
  app.subscriber("packing").assert_outcomes({"ack", "ack", "decode_failed", "decode_failed"});
  EXPECT_TRUE(app.logged(log_level::warn, "header tenant is missing"));
}

TEST_F(parameters, an_extractor_that_fails_settles_and_the_body_does_not_run) {
  texts callers;
  auto app = start(packing([&](const order&, const caller& from) { callers.push_back(from.name); }));
  client::headers headers;
  headers.add("Caller", "bob");
  publish(1, headers);
  publish(2);
  EXPECT_EQ(callers, texts{"bob"});
  app.subscriber("packing").assert_outcomes({"ack", "retry_after(5s)"});
  EXPECT_EQ(app.counters("packing").extract_failed, 1u);
}

TEST_F(parameters, bytes_are_taken_as_they_came_or_decoded_by_the_type_itself) {
  texts seen;
  auto app = start(packing([&](raw_view raw) { seen.push_back(std::string(raw.bytes)); }),
                   subscriber(core("core.own"), [&](const self_made& own) { seen.push_back(own.text); }).name("own"));
  world_.broker().publish("orders.new", "not json");
  world_.broker().publish("core.own", "mine");
  world_.broker().publish("core.own", "");
  EXPECT_EQ(seen, (texts{"not json", "mine"}));
  app.subscriber("own").assert_outcomes({"ack", "decode_failed"});
}

TEST_F(parameters, the_deadline_is_the_ack_wait_or_the_timeout) {
  std::vector<std::chrono::nanoseconds> left;
  auto app = start(packing([&](const order&, deadline until) -> boost::asio::awaitable<void> {
    left.push_back(until.left());
    co_await sleep_for(1s);
    left.push_back(until.left());
  }));
  publish(1);
  world_.advance(1s);
  EXPECT_EQ(left, (std::vector<std::chrono::nanoseconds>{30s, 29s}));
}

TEST_F(parameters, references_stay_valid_while_a_handler_waits_and_captures_live_with_the_registration) {
  texts seen;
  const std::string prefix = "a prefix that is too long for the small string optimisation: ";
  auto app = start(packing([&seen, prefix](const order& what, context& delivery) -> boost::asio::awaitable<void> {
    co_await sleep_for(10s);
    seen.push_back(prefix + what.item + std::string(delivery.subject()));
  }));
  publish(1);
  world_.advance(10s);
  EXPECT_EQ(seen, texts{prefix + "lamporders.new"});
}

}  // namespace
}  // namespace tern::testing
