// Tests of the client that run twice: against nats-server and against ternd, each started once per program.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include <tern/client/connection.hpp>
#include <tern/client/jetstream.hpp>
#include <tern/testing/server_process.hpp>

namespace tern::client {

class with_server : public ::testing::TestWithParam<const char*> {
 protected:
  static std::string program(std::string_view which) {
    if (which == "ternd") return TERN_TERND;
    const char* named = std::getenv("TERN_NATS_SERVER");
    if (named != nullptr && *named != '\0') return named;
    const std::string own = TERN_TOOLS "/venv/bin/nats-server";  // where tools/setup puts it
    return std::ifstream(own).good() ? own : "nats-server";
  }
  static result<std::string> url_of(const std::string& which) {
    static std::map<std::string, testing::server_process> running;
    if (const auto found = running.find(which); found != running.end()) return found->second.url();
    auto started = testing::server_process::start(program(which));
    if (!started) return std::unexpected(std::move(started).error());
    return running.emplace(which, *std::move(started)).first->second.url();
  }
  void SetUp() override {
    const auto at = url_of(GetParam());
    ASSERT_TRUE(at.has_value()) << at.error().message();
    url = *at;
    auto connected = connection::connect(options(url).name("integration")).get();
    ASSERT_TRUE(connected.has_value()) << connected.error().message();
    nats = *std::move(connected);
    js = jetstream(nats);
    const auto left = js.stream_names().get();
    ASSERT_TRUE(left.has_value()) << left.error().message();
    for (const auto& name : *left) ASSERT_TRUE(js.delete_stream(name).get().has_value()) << name;
  }
  client::stream_info stream(stream_config config) {
    config.storage = storage_type::memory;
    auto created = js.create_stream(config).get();
    EXPECT_TRUE(created.has_value()) << created.error().message();
    return created.value_or(client::stream_info());
  }

  std::string url;
  connection nats;
  jetstream js;
};

// What an operation brought; a test failure with its message when it failed.
template <class T>
T must(result<T> outcome) {
  EXPECT_TRUE(outcome.has_value()) << outcome.error().message();
  if constexpr (std::is_void_v<T>) {
    return;
  } else {
    return outcome ? *std::move(outcome) : T{};
  }
}

inline std::string name_of_server(const ::testing::TestParamInfo<const char*>& about) { return about.param; }

}  // namespace tern::client
