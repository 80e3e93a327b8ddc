// What must not compile, as far as that can be asked: options of the wrong model, phases of the builder, unnamed
// values. (service 2.1, 3, 4.1, 11.2)
#include <tern/service/app.hpp>

#include <gtest/gtest.h>

namespace tern::service {
namespace {

struct order {
  std::uint64_t id;
  std::string item;
};
struct point {
  int x, y;
};
struct empty_state {};

outcome take(const order&) { return ack(); }
using from_core = decltype(subscriber(core("a"), take));
using from_stream = decltype(subscriber(jetstream("a").stream("A"), take));

template <class T>
concept has_queue_group = requires(T t) { std::move(t).queue_group("g"); };
template <class T>
concept has_durable = requires(T t) { std::move(t).durable("d"); };
template <class T>
concept has_ack_wait = requires(T t) { std::move(t).ack_wait(std::chrono::seconds(1)); };
template <class T>
concept has_on_startup = requires(T t) { std::move(t).on_startup([](std::monostate) { return empty_state(); }); };
template <class T, class Value>
concept publishes_unnamed = requires(T t) { t.publish(std::string("subject"), Value{}); };
template <class T>
concept has_broker = requires(T t) { std::move(t).broker(nats("nats://x"), [](auto&) {}); };

static_assert(has_queue_group<core> && !has_queue_group<jetstream_consumer>);
static_assert(has_durable<jetstream_consumer> && !has_durable<core> && !has_durable<core_wildcard>);
static_assert(has_ack_wait<jetstream_consumer> && !has_ack_wait<core>);
static_assert(!has_durable<jetstream>, "a JetStream subject is no descriptor before it has its stream");
static_assert(has_on_startup<app_builder> && !has_on_startup<app_with_brokers<std::monostate>>);
static_assert(has_broker<app_builder>);
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
static_assert(!publishes_unnamed<publisher, order>, "destroyed twice inside co_await by this compiler");
#endif
static_assert(publishes_unnamed<publisher, point>, "a trivially destructible value may be given in place");

// Which parameters can be resolved.
using core_traits = detail::handler_traits<std::monostate, codec::json_codec, false, std::tuple<>, std::tuple<>>;
using stream_traits = detail::handler_traits<std::monostate, codec::json_codec, true, std::tuple<>, std::tuple<>>;
static_assert(detail::resolvable<context&, core_traits>);
static_assert(detail::resolvable<field<nats::delivered>, core_traits>);
static_assert(detail::resolvable<nats::delivered_count, stream_traits>);
static_assert(detail::resolvable<deadline, core_traits>);
static_assert(!detail::resolvable<int, core_traits>);
static_assert(!detail::resolvable<std::string, core_traits>);
static_assert(!detail::resolvable<order, core_traits>);

}  // namespace

TEST(outcome, retry_after_nothing_is_retry_and_reasons_travel) {
  EXPECT_EQ(retry_after(std::chrono::seconds(0)), retry());
  EXPECT_EQ(retry_after(std::chrono::seconds(2)).delay(), std::chrono::seconds(2));
  EXPECT_EQ(drop("no such card").reason(), "no such card");
  EXPECT_NE(ack(), drop());
}

TEST(subject_pattern, values_of_a_template_are_exactly_one_token) {
  constexpr subject_pattern placed{"orders.{tenant}.placed"};
  EXPECT_EQ(placed.fill({{"tenant", "acme"}}), "orders.acme.placed");
  for (const std::string_view wrong : {"", "a.b", "*", ">", "a b"}) {
    EXPECT_EQ(placed.fill({{"tenant", wrong}}).error().code(), errc::invalid_subject) << wrong;
  }
  EXPECT_EQ(placed.fill({{"other", "acme"}}).error().code(), errc::invalid_subject);
}

TEST(builder, a_setter_may_be_assigned_back_to_its_own_registration) {
  auto registration = subscriber(jetstream("orders.new").stream("ORDERS"), take);
  registration = std::move(registration).name("packing");
  registration = std::move(registration).max_attempts(3).dead_letter("orders.dead");
  auto made = std::move(registration).build<std::monostate>();
  ASSERT_TRUE(made);
  EXPECT_EQ(made->subject(), "orders.new");
  EXPECT_EQ(made->options.name, "packing");
  EXPECT_EQ(made->options.dead_letter, "orders.dead");
}

}  // namespace tern::service
