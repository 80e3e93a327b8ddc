#include "routing/account_imports.hpp"

#include <gtest/gtest.h>

namespace tern::routing {
namespace {

class listener final : public receiver {
 public:
  bool deliver(subscription&, const message& what) override {
    got.push_back(std::string(what.subject) + "|" + std::string(what.reply) + "|" + std::string(what.payload));
    replies.emplace_back(what.reply);
    headers.emplace_back(what.headers);
    return true;
  }
  std::vector<std::string> got, replies, headers;
};

class imports_test : public testing::Test {
 protected:
  ~imports_test() override {
    imports.adopt({}, {});
    exporter.end_turn(), importer.end_turn();
  }
  service_import service(answers expected = answers::one) {
    return {.from = &exporter,
            .routes = &routes,
            .subject = "price",
            .local = "ask",
            .expected = expected,
            .threshold = std::chrono::seconds(10)};
  }
  std::size_t ask(std::string_view reply) {
    return importer.publish({.subject = "ask", .reply = reply, .headers = {}, .payload = "?"});
  }

  time_point now = from_unix_nanoseconds(0);
  timer_queue timers;
  account exporter{"E", 1}, importer{"I", 2};
  response_routes routes{exporter, timers, [this] { return now; }, 3};
  account_imports imports{importer, [](std::string& out, const receiver*, const account& asking, const account*, bool) {
                            out = "{\"acc\":\"" + asking.name() + "\"}";
                          }};
  listener here, there;
};

TEST_F(imports_test, a_stream_reaches_subscriptions_before_and_after_the_import_under_its_local_subject_core_3_4) {
  importer.subscribe(here, "far.news.*", {}, "1");
  imports.adopt({{.from = &exporter, .subject = "news.>", .local = "far.news.>", .prefix = "far."}}, {});
  subscription* const wide = importer.subscribe(there, ">", {}, "2");
  exporter.publish({.subject = "news.a", .reply = "r", .headers = {}, .payload = "x"});
  exporter.publish({.subject = "news.a.b", .reply = {}, .headers = {}, .payload = "y"});
  exporter.publish({.subject = "other", .reply = {}, .headers = {}, .payload = "z"});
  EXPECT_EQ(here.got, std::vector<std::string>{"far.news.a|r|x"});
  EXPECT_EQ(there.got, (std::vector<std::string>{"far.news.a|r|x", "far.news.a.b||y"}));
  importer.unsubscribe(wide);
  exporter.publish({.subject = "news.c", .reply = {}, .headers = {}, .payload = "w"});
  EXPECT_EQ(there.got.size(), 2u);
  EXPECT_EQ(here.got.size(), 2u);
  EXPECT_EQ(importer.publish({.subject = "far.news.q", .reply = {}, .headers = {}, .payload = {}}), 1u);
  imports.adopt({}, {});
  EXPECT_EQ(exporter.publish({.subject = "news.d", .reply = {}, .headers = {}, .payload = {}}), 0u);
}

TEST_F(imports_test, a_service_answers_under_a_private_subject_once_core_3_4) {
  exporter.subscribe(there, "price", {}, "1");
  importer.subscribe(here, "inbox", {}, "1");
  imports.adopt({}, {service()});
  EXPECT_EQ(ask("inbox"), 1u);
  ASSERT_EQ(there.got.size(), 1u);
  EXPECT_TRUE(there.replies[0].starts_with("_R_."));
  EXPECT_NE(there.headers[0].find("Nats-Request-Info: {\"acc\":\"I\"}"), std::string::npos);
  EXPECT_EQ(exporter.publish({.subject = there.replies[0], .reply = {}, .headers = {}, .payload = "42"}), 1u);
  EXPECT_EQ(exporter.publish({.subject = there.replies[0], .reply = {}, .headers = {}, .payload = "43"}), 0u);
  EXPECT_EQ(here.got, std::vector<std::string>{"inbox||42"});
}

TEST_F(imports_test, without_a_taker_nobody_has_taken_it_and_no_route_stays_open_core_3_4) {
  imports.adopt({}, {service()});
  EXPECT_EQ(ask("inbox"), 0u);
  EXPECT_EQ(routes.size(), 0u);
}

TEST_F(imports_test, chunks_end_with_an_empty_one_and_every_route_at_its_threshold_core_3_4) {
  exporter.subscribe(there, "price", {}, "1");
  importer.subscribe(here, "inbox", {}, "1");
  imports.adopt({}, {service(answers::chunks)});
  ask("inbox"), ask("inbox");
  const auto answer = [&](int which, std::string_view text) {
    return exporter.publish(
        {.subject = there.replies[static_cast<std::size_t>(which)], .reply = {}, .headers = {}, .payload = text});
  };
  EXPECT_EQ(answer(0, "a") + answer(0, "b") + answer(0, ""), 3u);
  EXPECT_EQ(answer(0, "c"), 0u);
  now += std::chrono::seconds(9);
  timers.run_due(now);
  EXPECT_EQ(answer(1, "a"), 1u) << "an answer begins the threshold anew";
  now += std::chrono::seconds(9);
  timers.run_due(now);
  EXPECT_EQ(answer(1, "b"), 1u);
  now += std::chrono::seconds(20);
  timers.run_due(now);
  EXPECT_EQ(answer(1, "c"), 0u);
  EXPECT_EQ(routes.size(), 0u);
}

TEST_F(imports_test, services_that_import_each_other_end_core_3_4) {
  response_routes back(importer, timers, [this] { return now; }, 4);
  account_imports circle(exporter, [](std::string&, const receiver*, const account&, const account*, bool) {});
  imports.adopt({}, {service()});
  circle.adopt({}, {{.from = &importer, .routes = &back, .subject = "ask", .local = "price"}});
  EXPECT_EQ(ask("inbox"), 0u);
  EXPECT_EQ(routes.size() + back.size(), 0u);
  circle.adopt({}, {});
}

}  // namespace
}  // namespace tern::routing
