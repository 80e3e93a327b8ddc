#include "auth/permissions.hpp"

#include <gtest/gtest.h>

namespace tern::auth {
namespace {

using answer = permissions::answer;

TEST(permissions, publish_needs_an_allow_entry_if_there_are_any_and_no_deny_entry_core_3_3) {
  const permissions rights({.publish = {.allow = {"orders.>", "a.*"}, .deny = {"orders.secret.>"}}});
  EXPECT_TRUE(rights.may_publish("orders.new"));
  EXPECT_TRUE(rights.may_publish("a.b"));
  EXPECT_FALSE(rights.may_publish("a.b.c"));
  EXPECT_FALSE(rights.may_publish("orders.secret.x"));
  EXPECT_FALSE(rights.may_publish("other"));
  EXPECT_TRUE(permissions({}).may_publish("anything"));
}

TEST(permissions, many_subjects_do_not_mix_up_what_is_remembered) {
  const permissions rights({.publish = {.deny = {"s.*.odd"}}});
  for (int round = 0; round < 2; ++round)
    for (int n = 0; n < 1000; ++n) {
      EXPECT_FALSE(rights.may_publish("s." + std::to_string(n) + ".odd"));
      EXPECT_TRUE(rights.may_publish("s." + std::to_string(n) + ".even"));
    }
}

TEST(permissions, who_may_only_answer_publishes_nothing_by_himself_core_3_3) {
  EXPECT_FALSE(permissions({.responses = response_permission{}}).may_publish("a"));
  EXPECT_TRUE(permissions({.publish = {.allow = {"a"}}, .responses = response_permission{}}).may_publish("a"));
}

TEST(permissions, a_subscription_must_be_within_an_allow_entry_core_3_3) {
  const permissions rights({.subscribe = {.allow = {"w.*"}}});
  EXPECT_EQ(rights.may_subscribe("w.a", ""), answer::allowed);
  EXPECT_EQ(rights.may_subscribe("w.*", ""), answer::allowed);
  EXPECT_EQ(rights.may_subscribe("w.>", ""), answer::denied);
  EXPECT_EQ(rights.may_subscribe("x", ""), answer::denied);
}

TEST(permissions, a_wider_subscription_over_a_deny_is_allowed_in_part_core_3_3) {
  const permissions rights({.subscribe = {.deny = {"a.secret"}}});
  EXPECT_EQ(rights.may_subscribe("a.secret", ""), answer::denied);
  EXPECT_EQ(rights.may_subscribe("a.*", ""), answer::allowed_in_part);
  EXPECT_EQ(rights.may_subscribe("b.*", ""), answer::allowed);
  EXPECT_TRUE(rights.denies_delivery("a.secret"));
  EXPECT_FALSE(rights.denies_delivery("a.other"));
}

TEST(permissions, queue_entries_decide_for_queues_where_there_are_some_core_3_3) {
  const permissions plain({.subscribe = {.allow = {"foo"}}});
  EXPECT_EQ(plain.may_subscribe("foo", "any"), answer::allowed);
  const permissions one({.subscribe = {.allow = {"foo v1"}}});
  EXPECT_EQ(one.may_subscribe("foo", "v1"), answer::allowed);
  EXPECT_EQ(one.may_subscribe("foo", "v2"), answer::denied);
  EXPECT_EQ(one.may_subscribe("foo", ""), answer::denied);
  const permissions both({.subscribe = {.allow = {"foo", "foo *.dev"}}});
  EXPECT_EQ(both.may_subscribe("foo", ""), answer::allowed);
  EXPECT_EQ(both.may_subscribe("foo", "a.dev"), answer::allowed);
  EXPECT_EQ(both.may_subscribe("foo", "prod"), answer::denied);
  const permissions denied({.subscribe = {.deny = {"foo v1"}}});
  EXPECT_EQ(denied.may_subscribe("foo", "v1"), answer::denied);
  EXPECT_EQ(denied.may_subscribe("foo", "v2"), answer::allowed);
  EXPECT_EQ(denied.may_subscribe("foo", ""), answer::allowed);
}

}  // namespace
}  // namespace tern::auth
