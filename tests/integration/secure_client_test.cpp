// The client over TLS and WebSockets, against ternd and against nats-server: the same outcomes (core 1.5, 1.6, 8).
#include <tern/client/connection.hpp>

#include "runtime/host/child_process.hpp"
#include "runtime/host/files.hpp"
#include "runtime/tls/test_certificates.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace tern::client {
namespace {

using namespace std::chrono_literals;
using runtime::host::child_process;

std::string reference_server() {
  const char* named = std::getenv("TERN_NATS_SERVER");
  if (named != nullptr && *named != '\0') return named;
  const std::string own = TERN_TOOLS "/venv/bin/nats-server";  // where tools/setup puts it
  return std::ifstream(own).good() ? own : "nats-server";
}

class secure_client : public testing::TestWithParam<const char*> {
 protected:
  secure_client() {
    write("ca.pem", authority.pem());
    write_pair("server", authority.sign("DNS:localhost,IP:127.0.0.1"));
    write_pair("client", authority.sign("DNS:alice"));
  }

  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(runtime::host::write_text_file(path(name), text));
  }
  void write_pair(const std::string& name, const runtime::tls_key_pair& pair) {
    write(name + ".pem", pair.chain_pem);
    write(name + ".key", pair.key_pem);
  }
  std::string path(const std::string& name) const { return directory.path() + "/" + name; }
  std::string tls_block(const std::string& more = "") const {
    return "tls { cert_file: \"" + path("server.pem") + "\", key_file: \"" + path("server.key") + "\", ca_file: \"" +
           path("ca.pem") + "\", " + more + " }";
  }

  // Starts the server of this test; ports of what it listens on.
  void start(const std::string& config) {
    write("server.conf", config);
    const std::string program = std::string(GetParam()) == "ternd" ? TERN_TERND : reference_server();
    auto started = child_process::start(program, {"-a", "127.0.0.1", "-p", "-1", "-c", path("server.conf")});
    ASSERT_TRUE(started.has_value()) << started.error().message();
    server.emplace(*std::move(started));
    const auto ready = server->wait_for_line("Server is ready", 10s);
    ASSERT_TRUE(ready.has_value()) << ready.error().message();
    port = port_of("Listening for client connections on ");
    if (config.find("websocket") != std::string::npos) websocket_port = port_of("Listening for websocket clients on ");
  }
  std::string port_of(std::string_view line_part) const {
    const auto line = server->wait_for_line(line_part, 5s);
    return line ? line->substr(line->rfind(':') + 1) : "";
  }

  // A round trip of a message larger than any buffer on the way.
  static void exchange(const options& with) {
    auto connected = connection::connect(with).get();
    ASSERT_TRUE(connected.has_value()) << connected.error().message();
    auto heard = connected->subscribe("a");
    ASSERT_TRUE(heard.has_value());
    const std::string body(300'000, 'b');
    ASSERT_TRUE(connected->publish("a", body));
    ASSERT_TRUE(connected->publish("a", "small"));
    const auto first = heard->next(10s).get();
    ASSERT_TRUE(first.has_value()) << first.error().message();
    EXPECT_TRUE(first->payload() == body);
    EXPECT_EQ(heard->next(10s).get()->payload(), "small");
  }
  static std::string failure(const options& with) {
    auto connected = connection::connect(with).get();
    return connected ? "connected" : connected.error().message();
  }
  options trusting(const std::string& url) const {
    return options(url).tls_authority(path("ca.pem")).connect_timeout(5s);
  }

  runtime::host::scratch_directory directory;
  runtime::test_authority authority;
  std::optional<child_process> server;
  std::string port, websocket_port;
};

TEST_P(secure_client, upgrades_when_the_server_demands_it_core_1_5) {
  start(tls_block());
  exchange(trusting("nats://127.0.0.1:" + port));
  exchange(trusting("tls://localhost:" + port));
}

TEST_P(secure_client, refuses_a_server_that_it_does_not_trust) {
  start(tls_block());
  EXPECT_NE(failure(options("tls://127.0.0.1:" + port)).find("unknown authority"), std::string::npos);
  auto with = trusting("tls://127.0.0.1:" + port);
  EXPECT_NE(failure(with.tls_server_name("elsewhere.example")).find("not valid for the name"), std::string::npos);
  exchange(options("tls://127.0.0.1:" + port).tls_insecure());
}

TEST_P(secure_client, shows_its_certificate_where_it_is_asked_for_core_1_5) {
  start(tls_block("verify: true"));
  EXPECT_NE(failure(trusting("tls://127.0.0.1:" + port)), "connected");
  exchange(trusting("tls://127.0.0.1:" + port).tls_certificate(path("client.pem"), path("client.key")));
}

TEST_P(secure_client, speaks_tls_first_core_1_6) {
  start(tls_block("handshake_first: true"));
  exchange(trusting("tls://127.0.0.1:" + port).tls_handshake_first());
}

TEST_P(secure_client, insists_on_tls_when_its_url_does) {
  start("debug: false");
  EXPECT_NE(failure(trusting("tls://127.0.0.1:" + port)).find("no TLS"), std::string::npos);
}

TEST_P(secure_client, uses_tls_that_is_optional_when_its_url_says_so_core_1_5) {
  start("allow_non_tls: true\n" + tls_block());
  exchange(trusting("nats://127.0.0.1:" + port));
  exchange(trusting("tls://127.0.0.1:" + port));
}

TEST_P(secure_client, goes_through_a_websocket_core_8) {
  start("websocket { listen: \"127.0.0.1:-1\", no_tls: true, compression: true }");
  exchange(options("ws://127.0.0.1:" + websocket_port));
  exchange(options("ws://127.0.0.1:" + websocket_port + "/some/path").websocket_compression());
}

TEST_P(secure_client, goes_through_a_websocket_within_tls_core_8) {
  start("websocket { listen: \"127.0.0.1:-1\", " + tls_block() + " }");
  exchange(trusting("wss://localhost:" + websocket_port));
  EXPECT_NE(failure(options("wss://localhost:" + websocket_port)).find("unknown authority"), std::string::npos);
}

TEST_P(secure_client, says_so_when_no_websocket_is_there) {
  start("debug: false");
  EXPECT_NE(failure(options("ws://127.0.0.1:" + port).connect_timeout(2s)).find("WebSocket"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(servers, secure_client, testing::Values("ternd", "nats_server"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace tern::client
