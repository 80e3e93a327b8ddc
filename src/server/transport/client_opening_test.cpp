// The opening of a connection over a pipe, with a clock that stands still.
#include "server/transport/client_opening.hpp"

#include "runtime/shard.hpp"
#include "runtime/tls/test_certificates.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>

namespace tern::server {
namespace {

using runtime::tls_role;
using refusal = client_opening::owner::refusal;

class opening_world final : private client_opening::owner {
 public:
  opening_world() {
    transport_ = network_.make_transport(loop);
    listening_ = std::move(*transport_->listen({.host = "there", .in_process = true},
                                               [this](auto accepted) { stream = std::move(accepted); }));
    transport_->connect({.host = "there", .in_process = true}, std::chrono::seconds(1),
                        [this](auto made) { client = std::move(*made); });
    run();
    plan.timeout = std::chrono::seconds(2);
    plan.first_fallback = std::chrono::milliseconds(50);
  }

  void use_tls() {
    plan.tls = *runtime::tls_context::make(
        {.role = tls_role::server, .identities = {authority.sign("DNS:localhost")}, .demand_peer_certificate = false});
  }
  void begin() {
    opening.emplace(loop, gate_, plan, static_cast<client_opening::owner&>(*this), stream, facts);
    opening->begin();
    run();
  }
  // What a timer puts off to the next turn is a nanosecond away.
  void run() {
    loop.run_ready();
    while (loop.next_deadline() && *loop.next_deadline() <= clock_.now() + nanoseconds(1)) {
      clock_.advance_to(*loop.next_deadline());
      loop.run_ready();
    }
  }
  void advance(nanoseconds by) {
    clock_.advance_to(clock_.now() + by);
    run();
  }
  void send(std::string_view bytes) {
    client->write({&bytes, 1});
    run();
  }
  std::string take() {
    std::array<char, 4096> block;
    const auto got = client->read(block);
    return {block.data(), got.bytes};
  }
  void handshake() {
    auto around = std::make_unique<runtime::tls_stream>(
        loop, std::move(client),
        *runtime::tls_context::make({.role = tls_role::client, .trusted_pem = authority.pem()}));
    around->expect_name("localhost");
    around->handshake([this](result<void> outcome) { client_outcome = std::move(outcome); });
    client = std::move(around);
    run();
  }

  runtime::seeded_random randomness_{3};
  runtime::paused_clock clock_{from_unix_nanoseconds(1'800'000'000'000'000'000)};
  runtime::shard loop{clock_, randomness_};
  runtime::handshake_gate gate_{loop};
  runtime::test_authority authority;
  opening_plan plan;
  connection_facts facts;
  std::unique_ptr<runtime::byte_stream> stream, client;
  std::optional<client_opening> opening;
  std::optional<std::string> first_bytes;  // set by opened()
  std::optional<refusal> why;
  std::optional<result<void>> client_outcome;
  std::string log;

 private:
  void opening_wants_info() override {
    const std::string_view info = "INFO\r\n";
    stream->write({&info, 1});
  }
  void opening_log(runtime::host::log_level, const std::string& text) override { log += text + "\n"; }
  void opened(std::string_view already_read) override { first_bytes = already_read; }
  void refused(refusal reason) override { why = reason; }

  runtime::pipe_network network_;
  std::unique_ptr<runtime::transport> transport_;
  std::unique_ptr<runtime::listener> listening_;
};

TEST(client_opening, info_then_tls_core_1_5) {
  opening_world world;
  world.use_tls();
  world.begin();
  EXPECT_EQ(world.take(), "INFO\r\n");
  world.handshake();
  ASSERT_TRUE(world.first_bytes);
  EXPECT_TRUE(world.client_outcome && *world.client_outcome);
  ASSERT_TRUE(world.facts.tls);
  EXPECT_FALSE(world.facts.tls_first);
  EXPECT_NE(world.log.find("TLS handshake complete\nTLS version 1.3, cipher suite TLS_AES_128_GCM_SHA256\n"),
            std::string::npos);
}

TEST(client_opening, a_silent_client_fails_at_the_timeout_core_1_5) {
  opening_world world;
  world.use_tls();
  world.begin();
  world.advance(std::chrono::milliseconds(1999));
  EXPECT_FALSE(world.why);
  world.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(world.why, refusal::tls_failed);
  EXPECT_NE(world.log.find("TLS handshake timeout"), std::string::npos);
}

TEST(client_opening, plain_text_where_tls_is_due_fails_core_1_5) {
  opening_world world;
  world.use_tls();
  world.begin();
  world.send("CONNECT {\"verbose\":false}\r\nPING\r\n");
  EXPECT_EQ(world.why, refusal::tls_failed);
  EXPECT_NE(world.log.find("TLS handshake error: tls: first record does not look like a TLS handshake"),
            std::string::npos);
}

TEST(client_opening, with_allow_non_tls_the_first_byte_decides_core_1_5) {
  opening_world plain;
  plain.use_tls();
  plain.plan.plain_too = true;
  plain.begin();
  EXPECT_EQ(plain.take(), "INFO\r\n");
  plain.send("CONNECT {}\r\n");
  EXPECT_EQ(plain.first_bytes, "CONNECT {}\r\n");
  EXPECT_FALSE(plain.facts.tls);

  opening_world secure;
  secure.use_tls();
  secure.plan.plain_too = true;
  secure.begin();
  EXPECT_EQ(secure.take(), "INFO\r\n");
  secure.handshake();
  EXPECT_TRUE(secure.first_bytes && secure.facts.tls);

  opening_world silent;
  silent.use_tls();
  silent.plan.plain_too = true;
  silent.begin();
  silent.advance(std::chrono::seconds(2));
  EXPECT_TRUE(silent.first_bytes);
}

TEST(client_opening, tls_first_sends_info_inside_core_1_6) {
  opening_world world;
  world.use_tls();
  world.plan.first = handshake_first::always;
  world.begin();
  EXPECT_EQ(world.take(), "");
  world.handshake();
  EXPECT_EQ(world.take(), "INFO\r\n");
  EXPECT_TRUE(world.facts.tls_first);
}

TEST(client_opening, tls_first_with_a_fallback_waits_for_bytes_core_1_6) {
  opening_world eager;
  eager.use_tls();
  eager.plan.first = handshake_first::with_fallback;
  eager.begin();
  eager.handshake();
  EXPECT_TRUE(eager.facts.tls_first);
  EXPECT_EQ(eager.take(), "INFO\r\n");

  opening_world patient;
  patient.use_tls();
  patient.plan.first = handshake_first::with_fallback;
  patient.begin();
  patient.advance(std::chrono::milliseconds(49));
  EXPECT_EQ(patient.take(), "");
  patient.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(patient.take(), "INFO\r\n");
  patient.handshake();
  EXPECT_TRUE(patient.first_bytes && patient.facts.tls);
  EXPECT_FALSE(patient.facts.tls_first);
}

TEST(client_opening, a_proxy_names_the_client_before_tls_core_1_7) {
  opening_world world;
  world.use_tls();
  world.plan.proxy_header = true;
  world.begin();
  EXPECT_EQ(world.take(), "INFO\r\n");
  world.send("PROXY TCP4 10.1.2.3 ");
  world.send("10.0.0.1 5555 4222\r\n");
  world.handshake();
  ASSERT_TRUE(world.first_bytes);
  EXPECT_EQ(world.facts.proxied_peer->text(), "10.1.2.3:5555");
}

TEST(client_opening, bytes_behind_a_proxy_header_are_the_protocols_core_1_7) {
  opening_world world;
  world.plan.proxy_header = true;
  world.begin();
  world.send("PROXY UNKNOWN\r\nPING\r\n");
  EXPECT_EQ(world.first_bytes, "PING\r\n");
  EXPECT_FALSE(world.facts.proxied_peer);
}

TEST(client_opening, a_broken_or_unfinished_proxy_header_is_refused_core_1_7) {
  opening_world broken;
  broken.plan.proxy_header = true;
  broken.begin();
  broken.send("PROXY NONSENSE\r\n");
  EXPECT_EQ(broken.why, refusal::bad_proxy_header);

  opening_world slow;
  slow.plan.proxy_header = true;
  slow.begin();
  slow.advance(std::chrono::hours(1));
  EXPECT_FALSE(slow.why);  // a client without a header may take its time
  slow.send("PROXY ");
  slow.advance(std::chrono::seconds(5));
  EXPECT_EQ(slow.why, refusal::bad_proxy_header);
}

TEST(client_opening, a_peer_that_hangs_up_is_told_of) {
  opening_world world;
  world.plan.proxy_header = true;
  world.begin();
  world.client->close();
  world.run();
  EXPECT_EQ(world.why, refusal::hung_up);
}

}  // namespace
}  // namespace tern::server
