#include "routing/account.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tern::routing {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// Notes what it was handed, as "sid subject>payload".
class listener : public receiver {
 public:
  bool deliver(subscription& to, const message& what) override {
    if (refuse) return false;
    ++to.delivered;
    got.push_back(to.sid + " " + std::string(what.subject) + ">" + std::string(what.payload));
    if (on_delivery) on_delivery(to, what);
    return true;
  }
  std::vector<std::string> take() { return std::exchange(got, {}); }

  bool refuse = false;
  std::vector<std::string> got;
  std::function<void(subscription&, const message&)> on_delivery;
};

class account_test : public testing::Test {
 protected:
  std::size_t publish(std::string_view subject, std::string_view payload = "x", const publisher& from = {}) {
    return account_.publish({.subject = subject, .reply = {}, .headers = {}, .payload = payload}, from);
  }

  account account_{"$G", 7};
  listener a_, b_;
};

TEST_F(account_test, each_matching_plain_subscription_gets_one_copy_core_2_5) {
  account_.subscribe(a_, "foo.bar", {}, "1");
  account_.subscribe(a_, "foo.*", {}, "2");
  account_.subscribe(b_, ">", {}, "3");
  account_.subscribe(b_, "foo", {}, "4");
  EXPECT_EQ(publish("foo.bar"), 3u);
  EXPECT_THAT(a_.take(), UnorderedElementsAre("1 foo.bar>x", "2 foo.bar>x"));
  EXPECT_THAT(b_.take(), ElementsAre("3 foo.bar>x"));
}

TEST_F(account_test, wildcards_in_a_publish_subject_are_text_core_2_4) {
  account_.subscribe(a_, "foo.*", {}, "1");
  account_.subscribe(a_, "foo.>", {}, "2");
  account_.subscribe(a_, "foo.bar", {}, "3");
  account_.subscribe(a_, "foo.bar.baz", {}, "4");
  EXPECT_EQ(publish("foo.*"), 2u);
  EXPECT_EQ(publish("foo.>"), 2u);
  EXPECT_THAT(a_.take(), UnorderedElementsAre("1 foo.*>x", "2 foo.*>x", "1 foo.>>x", "2 foo.>>x"));
}

TEST_F(account_test, an_empty_token_in_a_publish_subject_matches_nothing_core_2_4) {
  account_.subscribe(a_, ">", {}, "1");
  for (const char* subject : {"", ".", "foo.", ".foo", "foo..bar"}) {
    EXPECT_EQ(publish(subject), 0u) << subject;
    EXPECT_FALSE(account_.has_interest(subject)) << subject;
  }
}

TEST_F(account_test, stars_inside_a_token_are_text_core_2_4) {
  account_.subscribe(a_, "foo*", {}, "1");
  account_.subscribe(a_, "f>o.x", {}, "2");
  EXPECT_EQ(publish("foobar"), 0u);
  EXPECT_EQ(publish("foo*"), 1u);
  EXPECT_EQ(publish("f>o.x"), 1u);
}

TEST_F(account_test, the_queue_name_alone_makes_the_group_core_2_5) {
  account_.subscribe(a_, "foo.*", "q", "1");
  account_.subscribe(a_, "foo.bar", "q", "2");
  account_.subscribe(b_, ">", "q", "3");
  account_.subscribe(b_, "foo.bar", "other", "4");
  for (int round = 0; round < 10; ++round) EXPECT_EQ(publish("foo.bar"), 2u);
}

TEST_F(account_test, members_of_a_group_are_chosen_uniformly_whatever_their_subjects_core_2_6) {
  constexpr int members = 7, rounds = 70'000;
  std::map<std::string, int> counts;
  a_.on_delivery = [&counts](subscription& to, const message&) { ++counts[to.sid]; };
  for (int member = 0; member < members; ++member)
    account_.subscribe(a_, member % 2 == 0 ? "foo.bar" : "foo.*", "q", std::to_string(member));
  for (int round = 0; round < rounds; ++round) publish("foo.bar");
  ASSERT_EQ(counts.size(), static_cast<std::size_t>(members));
  double chi_square = 0;
  for (const auto& [sid, count] : counts) chi_square += std::pow(count - rounds / members, 2) / (rounds / members);
  EXPECT_LT(chi_square, 22.5);  // 6 degrees of freedom: beyond it once in a thousand
}

TEST_F(account_test, with_refusing_members_the_willing_ones_stay_equally_likely_core_2_6) {
  // A contiguous block that refuses must not favour the member behind it.
  listener refusing;
  refusing.refuse = true;
  std::map<std::string, int> counts;
  a_.on_delivery = [&counts](subscription& to, const message&) { ++counts[to.sid]; };
  for (int member = 0; member < 6; ++member) account_.subscribe(refusing, "foo", "q", "r");
  for (int member = 0; member < 3; ++member) account_.subscribe(a_, "foo", "q", std::to_string(member));
  for (int round = 0; round < 30'000; ++round) EXPECT_EQ(publish("foo"), 1u);
  for (const auto& [sid, count] : counts) EXPECT_NEAR(count, 10'000, 450) << sid;
}

TEST_F(account_test, consecutive_choices_are_independent_core_2_6) {
  std::string last;
  int repeats = 0;
  a_.on_delivery = [&](subscription& to, const message&) { repeats += std::exchange(last, to.sid) == to.sid ? 1 : 0; };
  for (int member = 0; member < 4; ++member) account_.subscribe(a_, "foo", "q", std::to_string(member));
  for (int round = 0; round < 40'000; ++round) publish("foo");
  EXPECT_NEAR(repeats, 10'000, 450);
}

TEST_F(account_test, echo_false_passes_over_the_own_subscriptions_core_2_2) {
  account_.subscribe(a_, "foo", {}, "1");
  account_.subscribe(a_, "foo", "q", "2");
  account_.subscribe(b_, "foo", "q", "3");
  EXPECT_EQ(publish("foo", "x", {.self = &a_, .echo = false}), 1u);
  EXPECT_THAT(a_.take(), IsEmpty());
  EXPECT_THAT(b_.take(), ElementsAre("3 foo>x"));
  EXPECT_EQ(publish("foo", "x", {.self = &b_, .echo = false}), 2u);
}

TEST_F(account_test, interest_that_comes_and_goes_is_seen_at_once) {
  EXPECT_FALSE(account_.has_interest("foo.bar"));
  subscription* literal = account_.subscribe(a_, "foo.bar", {}, "1");
  EXPECT_TRUE(account_.has_interest("foo.bar"));
  subscription* wildcard = account_.subscribe(b_, "*.bar", "q", "2");
  EXPECT_EQ(publish("foo.bar"), 2u);
  account_.unsubscribe(literal);
  EXPECT_EQ(publish("foo.bar"), 1u);
  account_.unsubscribe(wildcard);
  account_.end_turn();
  EXPECT_FALSE(account_.has_interest("foo.bar"));
  EXPECT_EQ(publish("foo.bar"), 0u);
}

TEST_F(account_test, publish_to_routes_by_one_subject_and_shows_another) {
  account_.subscribe(a_, "_INBOX.1", {}, "1");
  EXPECT_EQ(account_.publish_to("_INBOX.1", {.subject = "orders.new", .payload = "p"}), 1u);
  EXPECT_THAT(a_.take(), ElementsAre("1 orders.new>p"));
}

TEST_F(account_test, a_receiver_may_remove_any_subscription_while_it_is_handed_a_message) {
  std::vector<subscription*> all;
  for (int number = 0; number < 5; ++number) all.push_back(account_.subscribe(a_, "foo", {}, std::to_string(number)));
  a_.on_delivery = [&](subscription&, const message&) {
    for (subscription* one : all) account_.unsubscribe(one);
  };
  EXPECT_EQ(publish("foo"), 1u);
  account_.end_turn();
  EXPECT_EQ(publish("foo"), 0u);
}

TEST_F(account_test, a_receiver_may_subscribe_while_it_is_handed_a_message_and_gets_only_the_next) {
  account_.subscribe(a_, "foo", {}, "1");
  a_.on_delivery = [&](subscription&, const message&) { account_.subscribe(b_, "foo", {}, "2"); };
  EXPECT_EQ(publish("foo"), 1u);
  a_.on_delivery = nullptr;
  EXPECT_EQ(publish("foo"), 2u);
}

TEST_F(account_test, a_receiver_may_publish_while_it_is_handed_a_message) {
  // The nested publish changes the interest of the subject being delivered and asks for it again.
  account_.subscribe(a_, "foo", {}, "1");
  account_.subscribe(a_, "foo", {}, "2");
  int depth = 0;
  a_.on_delivery = [&](subscription&, const message&) {
    if (depth == 3) return;
    ++depth;
    subscription* extra = account_.subscribe(b_, "foo", {}, "n");
    publish("foo", "nested");
    publish("bar");
    account_.unsubscribe(extra);
    --depth;
  };
  EXPECT_EQ(publish("foo"), 2u);
  // On each level both of A's subscriptions publish again, and B listens once per level above.
  EXPECT_EQ(b_.take().size(), 2u * (1u + 2u * (2u + 2u * 3u)));
  account_.end_turn();
}

TEST_F(account_test, unsubscribing_twice_is_harmless) {
  subscription* one = account_.subscribe(a_, "foo", {}, "1");
  account_.unsubscribe(one);
  account_.unsubscribe(one);
  EXPECT_EQ(account_.statistics().removes, 1u);
  EXPECT_EQ(account_.statistics().subscriptions, 0u);
}

TEST_F(account_test, literal_interest_counts_exact_subjects_by_queue_group) {
  account_.subscribe(a_, "foo.bar", {}, "1");
  account_.subscribe(a_, "foo.bar", "q", "2");
  account_.subscribe(b_, "foo.bar", "q", "3");
  account_.subscribe(b_, "foo.*", {}, "4");
  EXPECT_EQ(account_.literal_interest("foo.bar", {}), 1u);
  EXPECT_EQ(account_.literal_interest("foo.bar", "q"), 2u);
  EXPECT_EQ(account_.literal_interest("foo.bar", "other"), 0u);
  EXPECT_EQ(account_.literal_interest("foo", {}), 0u);
  EXPECT_EQ(account_.literal_interest("foo.*", {}), 0u);
}

TEST_F(account_test, a_watch_is_told_once_at_the_end_of_a_turn_in_which_literal_interest_changed) {
  int calls = 0;
  auto watch = account_.watch_literal("deliver.to", [&calls] { ++calls; });
  account_.subscribe(a_, "deliver.*", {}, "1");
  account_.subscribe(a_, "other", {}, "2");
  account_.end_turn();
  EXPECT_EQ(calls, 0);
  subscription* one = account_.subscribe(a_, "deliver.to", {}, "3");
  account_.subscribe(a_, "deliver.to", "q", "4");
  EXPECT_EQ(calls, 0);
  account_.end_turn();
  EXPECT_EQ(calls, 1);
  account_.unsubscribe(one);
  account_.end_turn();
  EXPECT_EQ(calls, 2);
  watch.reset();
  account_.subscribe(a_, "deliver.to", {}, "5");
  account_.end_turn();
  EXPECT_EQ(calls, 2);
}

TEST_F(account_test, a_watch_may_die_or_change_interest_in_its_own_callback) {
  int calls = 0;
  std::unique_ptr<account::interest_watch> first, second;
  first = account_.watch_literal("foo", [&] { second.reset(), account_.subscribe(a_, "foo", {}, "n"), first.reset(); });
  second = account_.watch_literal("foo", [&calls] { ++calls; });
  account_.subscribe(a_, "foo", {}, "1");
  account_.end_turn();
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(account_.literal_interest("foo", {}), 2u);
}

TEST_F(account_test, statistics_tell_subscriptions_cache_and_fan_out) {
  account_.subscribe(a_, "foo", {}, "1");
  account_.subscribe(a_, "foo", {}, "2");
  publish("foo");
  publish("foo");
  publish("bar");
  publish("foo");
  const interest_statistics seen = account_.statistics();
  EXPECT_EQ(seen.subscriptions, 2u);
  EXPECT_EQ(seen.inserts, 2u);
  EXPECT_EQ(seen.cache_entries, 2u);
  EXPECT_EQ(seen.matches, 4u);
  EXPECT_EQ(seen.cache_hits, 2u);
  EXPECT_EQ(seen.maximum_fanout, 2u);
  EXPECT_DOUBLE_EQ(seen.average_fanout, 1.0);
}

TEST_F(account_test, without_the_cache_nothing_changes_that_can_be_seen) {
  account_.disable_cache();
  account_.subscribe(a_, "foo.*", {}, "1");
  EXPECT_EQ(publish("foo.a"), 1u);
  subscription* literal = account_.subscribe(a_, "foo.a", {}, "2");
  EXPECT_EQ(publish("foo.a"), 2u);
  account_.unsubscribe(literal);
  EXPECT_EQ(publish("foo.a"), 1u);
  EXPECT_EQ(account_.statistics().cache_hits, 0u);
}

TEST_F(account_test, more_subjects_than_the_cache_holds_are_still_routed) {
  account_.subscribe(a_, "s.*", {}, "1");
  account_.subscribe(b_, "s.77", {}, "2");
  for (int round = 0; round < 2; ++round)
    for (int number = 0; number < 20'000; ++number)
      ASSERT_EQ(publish("s." + std::to_string(number)), number == 77 ? 2u : 1u) << number;
  EXPECT_LE(account_.statistics().cache_entries, 8192u);
}

}  // namespace
}  // namespace tern::routing
