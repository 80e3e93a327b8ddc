// The batch fetch (service 17).
#include "client/jetstream/pull_fixture.hpp"

namespace tern::client {
namespace {

using namespace std::chrono_literals;

class fetch_test : public pull_test {
 protected:
  void fetch(const fetch_options& with) {
    fetching.emplace(billing.fetch(with));
    run();
    const auto words = words_of_line(peer->text(), "SUB _INBOX.");
    ASSERT_EQ(words.size(), 3u);
    inbox = words[1];
    sid = words[2];
  }
  std::optional<operation<fetched>> fetching;
};

TEST_F(fetch_test, sends_what_was_asked_and_ends_when_the_batch_is_full_service_17) {
  fetch(fetch_options().batch(2).expires(5s).no_wait());
  EXPECT_EQ(count_of(peer->text(), R"({"batch":2,"expires":5000000000,"no_wait":true})"), 1u) << peer->text();
  deliver(1);
  EXPECT_FALSE(fetching->done());
  deliver(1);
  ASSERT_TRUE(fetching->done());
  auto batch = fetching->get();
  EXPECT_EQ(batch->messages.size(), 2u);
  EXPECT_FALSE(batch->problem);
  EXPECT_EQ(count_of(peer->text(), "UNSUB " + sid), 1u);
}

TEST_F(fetch_test, ends_with_a_partial_batch_at_404_and_408) {
  for (const auto* line : {"404 No Messages", "408 Request Timeout"}) {
    peer->take();
    fetch(fetch_options().batch(10));
    deliver(3);
    status(line);
    auto batch = fetching->get();
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ(batch->messages.size(), 3u);
    EXPECT_FALSE(batch->problem);
  }
}

TEST_F(fetch_test, nothing_at_all_is_no_error) {
  fetch(fetch_options().batch(10));
  status("404 No Messages");
  auto batch = fetching->get();
  ASSERT_TRUE(batch.has_value());
  EXPECT_TRUE(batch->messages.empty());
  EXPECT_EQ(batch->status, 404);
}

TEST_F(fetch_test, the_guard_ends_it_five_seconds_after_its_expiry) {
  fetch(fetch_options().batch(10).expires(2s));
  deliver(1);
  advance(7s - 1ns);
  EXPECT_FALSE(fetching->done());
  advance(1ns);
  auto batch = fetching->get();
  EXPECT_EQ(batch->messages.size(), 1u);
  EXPECT_FALSE(batch->problem);
}

TEST_F(fetch_test, another_status_is_an_error_behind_what_came) {
  fetch(fetch_options().batch(10));
  deliver(1);
  status("409 Consumer Deleted");
  auto batch = fetching->get();
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->messages.size(), 1u);
  EXPECT_EQ(batch->problem->code(), errc::consumer_deleted);
  peer->take();
  fetch(fetch_options());
  status("503");
  EXPECT_EQ(fetching->get().error().code(), errc::no_responders);
}

TEST_F(fetch_test, two_missed_heartbeats_end_it) {
  fetch(fetch_options().batch(10).expires(30s).heartbeat(1s));
  advance(1s);
  status("100 Idle Heartbeat");
  advance(2s - 1ns);
  EXPECT_FALSE(fetching->done());
  advance(1ns);
  EXPECT_EQ(fetching->get().error().code(), errc::missing_heartbeat);
}

}  // namespace
}  // namespace tern::client
