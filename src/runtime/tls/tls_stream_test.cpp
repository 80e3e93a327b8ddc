// Two ends of a pipe, TLS on both, one loop with a clock that stands still.
#include "runtime/tls/tls_stream.hpp"

#include "runtime/shard.hpp"
#include "runtime/tls/test_certificates.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace tern::runtime {
namespace {

std::shared_ptr<const tls_context> context_of(tls_settings settings) {
  auto made = tls_context::make(settings);
  EXPECT_TRUE(made.has_value()) << made.error().message();
  return made ? *made : nullptr;
}

struct tls_world {
  explicit tls_world(std::size_t pipe_bytes = 1 << 20) : network(pipe_bytes), dialler(network.make_transport(loop)) {
    auto opened = dialler->listen({.host = "there", .in_process = true},
                                  [this](std::unique_ptr<byte_stream> stream) { accepted = std::move(stream); });
    listening = std::move(*opened);
    dialler->connect({.host = "there", .in_process = true}, std::chrono::seconds(1),
                     [this](result<std::unique_ptr<byte_stream>> made) { dialled = std::move(*made); });
    loop.run_ready();
  }

  tls_settings server_settings() const {
    return {.role = tls_role::server,
            .identities = {authority.sign("DNS:localhost,IP:127.0.0.1")},
            .demand_peer_certificate = false};
  }
  tls_settings client_settings() const { return {.role = tls_role::client, .trusted_pem = authority.pem()}; }

  // Both handshakes; what each side said of it.
  void handshake(std::shared_ptr<const tls_context> server_context, std::shared_ptr<const tls_context> client_context,
                 const std::string& name = "localhost", handshake_gate* gate = nullptr) {
    server = std::make_unique<tls_stream>(loop, std::move(accepted), std::move(server_context), gate);
    client = std::make_unique<tls_stream>(loop, std::move(dialled), std::move(client_context));
    client->expect_name(name);
    server->handshake([this](result<void> outcome) { server_outcome = std::move(outcome); });
    client->handshake([this](result<void> outcome) { client_outcome = std::move(outcome); });
    loop.run_ready();
  }

  static std::string read_all(byte_stream& from) {
    std::string out;
    std::array<char, 4096> block;
    for (;;) {
      const auto got = from.read(block);
      if (got.state != io_state::done) return out;
      out.append(block.data(), got.bytes);
    }
  }

  paused_clock clock{from_unix_nanoseconds(1'800'000'000'000'000'000)};
  seeded_random randomness{5};
  shard loop{clock, randomness};
  pipe_network network;
  std::unique_ptr<transport> dialler;
  std::unique_ptr<listener> listening;
  std::unique_ptr<byte_stream> accepted, dialled;
  std::unique_ptr<tls_stream> server, client;
  std::optional<result<void>> server_outcome, client_outcome;
  test_authority authority;
};

TEST(tls_stream, both_sides_agree_and_bytes_pass) {
  tls_world world;
  world.handshake(context_of(world.server_settings()), context_of(world.client_settings()));
  ASSERT_TRUE(world.server_outcome && *world.server_outcome);
  ASSERT_TRUE(world.client_outcome && *world.client_outcome);
  EXPECT_EQ(world.server->facts().version, "1.3");
  EXPECT_TRUE(world.server->facts().cipher.starts_with("TLS_")) << world.server->facts().cipher;

  std::string heard;
  world.server->on_readable([&] { heard += tls_world::read_all(*world.server); });
  const std::array<std::string_view, 3> pieces{"PING\r\n", "", "PONG\r\n"};
  EXPECT_EQ(world.client->write(pieces).bytes, 12u);
  world.loop.run_ready();
  EXPECT_EQ(heard, "PING\r\nPONG\r\n");
}

TEST(tls_stream, what_a_client_sends_with_its_last_handshake_message_is_told_of) {
  tls_world world;
  std::string heard;
  world.server =
      std::make_unique<tls_stream>(world.loop, std::move(world.accepted), context_of(world.server_settings()));
  world.client =
      std::make_unique<tls_stream>(world.loop, std::move(world.dialled), context_of(world.client_settings()));
  world.server->handshake([&](result<void> outcome) {
    ASSERT_TRUE(outcome);
    world.server->on_readable([&] { heard += tls_world::read_all(*world.server); });
  });
  world.client->handshake([&](result<void> outcome) {
    ASSERT_TRUE(outcome);
    const std::string_view text = "CONNECT {}\r\n";
    world.client->write({&text, 1});
  });
  world.loop.run_ready();
  EXPECT_EQ(heard, "CONNECT {}\r\n");
}

TEST(tls_stream, large_writes_pass_a_narrow_pipe_whole_and_in_order) {
  tls_world world(8 << 10);
  world.handshake(context_of(world.server_settings()), context_of(world.client_settings()));
  ASSERT_TRUE(world.client_outcome && *world.client_outcome);
  std::string sent;
  for (int number = 0; number < 60'000; ++number) sent += std::to_string(number) + ",";
  std::string heard;
  world.server->on_readable([&] { heard += tls_world::read_all(*world.server); });
  std::string_view left = sent;
  std::function<void()> push = [&] {
    while (!left.empty()) {
      const std::array<std::string_view, 2> pieces{left.substr(0, 10), left.substr(10)};
      const auto put = world.client->write(pieces);
      if (put.state == io_state::would_block) return world.client->on_writable_once([&] { push(); });
      ASSERT_EQ(put.state, io_state::done);
      left.remove_prefix(put.bytes);
    }
  };
  push();
  world.loop.run_ready();
  EXPECT_EQ(heard.size(), sent.size());
  EXPECT_TRUE(heard == sent);
}

TEST(tls_stream, a_pause_holds_back_what_is_decrypted_already) {
  tls_world world;
  world.handshake(context_of(world.server_settings()), context_of(world.client_settings()));
  std::string heard;
  world.server->on_readable([&] {
    std::array<char, 4> block;
    const auto got = world.server->read(block);
    heard.append(block.data(), got.bytes);
    world.server->pause_reading();
  });
  const std::string_view text = "abcdefgh";
  world.client->write({&text, 1});
  world.loop.run_ready();
  EXPECT_EQ(heard, "abcd");
  world.server->resume_reading();
  world.loop.run_ready();
  EXPECT_EQ(heard, "abcdefgh");
}

TEST(tls_stream, the_end_is_told_by_close_notify) {
  tls_world world;
  world.handshake(context_of(world.server_settings()), context_of(world.client_settings()));
  io_state ended = io_state::done;
  world.client->on_readable([&] {
    std::array<char, 64> block;
    ended = world.client->read(block).state;
  });
  world.server->shutdown_write();
  world.loop.run_ready();
  EXPECT_EQ(ended, io_state::end_of_stream);
}

TEST(tls_stream, an_end_without_close_notify_is_an_end_too) {
  tls_world world;
  auto* const below = world.dialled.get();
  world.handshake(context_of(world.server_settings()), context_of(world.client_settings()));
  io_state ended = io_state::done;
  world.server->on_readable([&] {
    std::array<char, 64> block;
    ended = world.server->read(block).state;
  });
  below->shutdown_write();
  world.loop.run_ready();
  EXPECT_EQ(ended, io_state::end_of_stream);
}

TEST(tls_stream, a_stream_may_go_inside_its_own_callback) {
  tls_world world;
  world.handshake(context_of(world.server_settings()), context_of(world.client_settings()));
  world.server->on_readable([&] { world.server.reset(); });
  const std::string_view text = "x";
  world.client->write({&text, 1});
  world.loop.run_ready();
  EXPECT_EQ(world.server, nullptr);
}

TEST(tls_stream, a_client_that_does_not_know_the_authority_refuses) {
  tls_world world;
  const test_authority other("Somebody else");
  world.handshake(context_of(world.server_settings()),
                  context_of({.role = tls_role::client, .trusted_pem = other.pem()}));
  ASSERT_TRUE(world.client_outcome && !*world.client_outcome);
  EXPECT_EQ(world.client_outcome->error().context(),
            "tls: failed to verify certificate: x509: certificate signed by unknown authority");
  ASSERT_TRUE(world.server_outcome && !*world.server_outcome);
  EXPECT_EQ(world.server_outcome->error().context(), "remote error: tls: unknown certificate authority");
}

TEST(tls_stream, a_client_checks_the_name_that_it_dialled) {
  tls_world world;
  world.handshake(context_of(world.server_settings()), context_of(world.client_settings()), "elsewhere.example");
  ASSERT_TRUE(world.client_outcome && !*world.client_outcome);
  EXPECT_NE(world.client_outcome->error().context().find("not valid for the name"), std::string::npos);
}

TEST(tls_stream, an_address_in_the_certificate_counts_as_a_name) {
  tls_world world;
  world.handshake(context_of(world.server_settings()), context_of(world.client_settings()), "127.0.0.1");
  EXPECT_TRUE(world.client_outcome && *world.client_outcome);
}

TEST(tls_stream, verify_demands_a_certificate_of_the_client) {
  tls_world world;
  auto settings = world.server_settings();
  settings.demand_peer_certificate = true;
  settings.trusted_pem = world.authority.pem();
  world.handshake(context_of(settings), context_of(world.client_settings()));
  ASSERT_TRUE(world.server_outcome && !*world.server_outcome);
  EXPECT_EQ(world.server_outcome->error().context(), "tls: client didn't provide a certificate");
}

TEST(tls_stream, a_certificate_of_a_client_is_described) {
  tls_world world;
  auto settings = world.server_settings();
  settings.demand_peer_certificate = true;
  settings.trusted_pem = world.authority.pem();
  auto asking = world.client_settings();
  asking.identities = {world.authority.sign("DNS:alice.example,email:alice@example.com,URI:spiffe://x/alice",
                                            {{"O", "Tern, Inc"}, {"OU", "dev"}, {"CN", "alice"}})};
  world.handshake(context_of(settings), context_of(asking));
  ASSERT_TRUE(world.server_outcome && *world.server_outcome);
  const auto facts = world.server->facts();
  ASSERT_TRUE(facts.peer);
  EXPECT_EQ(facts.peer->subject, "CN=alice,OU=dev,O=Tern\\, Inc");
  EXPECT_EQ(facts.peer->emails, std::vector<std::string>{"alice@example.com"});
  EXPECT_EQ(facts.peer->dns_names, std::vector<std::string>{"alice.example"});
  EXPECT_EQ(facts.peer->uris, std::vector<std::string>{"spiffe://x/alice"});
  EXPECT_EQ(facts.peer->key_sha256.size(), 64u);
  EXPECT_EQ(facts.peer->certificate_sha256.size(), 64u);
}

TEST(tls_stream, pinned_keys_are_compared_after_the_handshake) {
  tls_world world;
  auto settings = world.server_settings();
  settings.demand_peer_certificate = true;
  settings.trusted_pem = world.authority.pem();
  settings.pinned_keys = {std::string(64, 'a')};
  auto asking = world.client_settings();
  asking.identities = {world.authority.sign("DNS:alice")};
  world.handshake(context_of(settings), context_of(asking));
  ASSERT_TRUE(world.server_outcome && !*world.server_outcome);
  EXPECT_EQ(world.server_outcome->error().context(), "certificate not pinned");
}

TEST(tls_stream, plain_text_is_no_handshake) {
  tls_world world;
  world.server =
      std::make_unique<tls_stream>(world.loop, std::move(world.accepted), context_of(world.server_settings()));
  world.server->handshake([&](result<void> outcome) { world.server_outcome = std::move(outcome); });
  const std::string_view text = "CONNECT {\"verbose\":false}\r\nPING\r\n";
  world.dialled->write({&text, 1});
  world.loop.run_ready();
  ASSERT_TRUE(world.server_outcome && !*world.server_outcome);
  EXPECT_EQ(world.server_outcome->error().context(), "tls: first record does not look like a TLS handshake");
}

TEST(tls_stream, a_peer_that_hangs_up_in_the_handshake_is_an_end_of_file) {
  tls_world world;
  world.server =
      std::make_unique<tls_stream>(world.loop, std::move(world.accepted), context_of(world.server_settings()));
  world.server->handshake([&](result<void> outcome) { world.server_outcome = std::move(outcome); });
  world.dialled->close();
  world.loop.run_ready();
  ASSERT_TRUE(world.server_outcome && !*world.server_outcome);
  EXPECT_EQ(world.server_outcome->error().context(), "EOF");
}

TEST(tls_stream, bytes_that_were_read_before_begin_the_handshake) {
  tls_world world;
  world.client =
      std::make_unique<tls_stream>(world.loop, std::move(world.dialled), context_of(world.client_settings()));
  world.client->handshake([&](result<void> outcome) { world.client_outcome = std::move(outcome); });
  world.loop.run_ready();
  std::array<char, 7> first;
  ASSERT_EQ(world.accepted->read(first).bytes, first.size());
  world.server =
      std::make_unique<tls_stream>(world.loop, std::move(world.accepted), context_of(world.server_settings()), nullptr,
                                   std::string(first.data(), first.size()));
  world.server->handshake([&](result<void> outcome) { world.server_outcome = std::move(outcome); });
  world.loop.run_ready();
  EXPECT_TRUE(world.server_outcome && *world.server_outcome);
  EXPECT_TRUE(world.client_outcome && *world.client_outcome);
}

TEST(tls_stream, a_handshake_behind_the_gate_finishes_in_later_turns) {
  tls_world world;
  handshake_gate gate(world.loop);
  world.loop.run_ready();
  while (gate.enter()) {
  }
  world.handshake(context_of(world.server_settings()), context_of(world.client_settings()), "localhost", &gate);
  EXPECT_TRUE(world.server_outcome && *world.server_outcome);
}

TEST(tls_context, errors_have_the_peers_words) {
  const test_authority authority;
  const auto one = authority.sign("DNS:a"), other = authority.sign("DNS:b");
  const auto text = [](tls_settings settings) { return tls_context::make(settings).error().context(); };
  EXPECT_EQ(text({.identities = {{one.chain_pem, other.key_pem}}, .demand_peer_certificate = false}),
            "error parsing X509 certificate/key pair: tls: private key does not match public key");
  EXPECT_EQ(text({.identities = {{"x", "y"}}, .demand_peer_certificate = false}),
            "error parsing X509 certificate/key pair: tls: failed to find any PEM data in certificate input");
  EXPECT_EQ(text({.identities = {one}, .trusted_pem = "x"}), "failed to parse root ca certificate");
  EXPECT_EQ(text({.demand_peer_certificate = false, .cipher_suites = {"foo"}}), "unrecognized cipher foo");
  EXPECT_EQ(text({.demand_peer_certificate = false, .curves = {"foo"}}), "unrecognized curve preference foo");
}

TEST(tls_context, a_list_of_suites_and_curves_is_kept_to) {
  tls_world world;
  auto settings = world.server_settings();
  settings.cipher_suites = {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"};
  settings.curves = {"X25519MLKEM768", "CurveP384"};
  world.handshake(context_of(settings), context_of(world.client_settings()));
  ASSERT_TRUE(world.client_outcome && *world.client_outcome);
  EXPECT_EQ(world.client->facts().version, "1.3");  // whose suites are not chosen
}

TEST(tls_context, a_certificate_says_until_when_it_is_good) {
  tls_world world;
  const auto made = context_of(world.server_settings());
  EXPECT_GT(made->not_after(), from_unix_nanoseconds(1'700'000'000'000'000'000));
  EXPECT_EQ(context_of(world.client_settings())->not_after(), time_point{});
}

}  // namespace
}  // namespace tern::runtime
