// In a steady state a delivered message costs no heap allocation (design section 4).
#include "server/server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace {
std::atomic<std::size_t> allocations = 0;
}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
// Whatever the standard library allocates by must be what is freed here.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size == 0 ? 1 : size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace tern::server {
namespace {

// A peer that hands over what it is told and swallows what it gets, without memory of its own.
class fake_stream final : public runtime::byte_stream {
 public:
  runtime::io_result read(std::span<char> into) override {
    if (input.empty()) return {.state = runtime::io_state::would_block};
    const std::size_t size = std::min(into.size(), input.size());
    std::copy_n(input.data(), size, into.data());
    input.remove_prefix(size);
    return {.bytes = size};
  }
  runtime::io_result write(std::span<const std::string_view> pieces) override {
    std::size_t size = 0;
    for (const std::string_view piece : pieces) size += piece.size();
    written += size;
    return {.bytes = size};
  }
  void on_readable(ready_callback callback) override { readable = std::move(callback); }
  void pause_reading() override {}
  void resume_reading() override {}
  void on_writable_once(ready_callback) override {}
  void shutdown_write() override {}
  void close() override {}
  const runtime::endpoint& local() const override { return at; }
  const runtime::endpoint& peer() const override { return at; }

  std::string_view input;
  std::size_t written = 0;
  ready_callback readable;
  runtime::endpoint at{.host = "fake", .in_process = true};
};

class fake_transport final : public runtime::transport {
 public:
  class fake_listener final : public runtime::listener {
   public:
    const runtime::endpoint& local() const override { return at; }
    void close() override {}
    runtime::endpoint at{.host = "fake", .in_process = true};
  };
  result<std::unique_ptr<runtime::listener>> listen(const runtime::endpoint&, accept_callback accept) override {
    accept_ = std::move(accept);
    return std::make_unique<fake_listener>();
  }
  void connect(const runtime::endpoint&, nanoseconds, connect_callback) override {}
  fake_stream& dial() {
    auto made = std::make_unique<fake_stream>();
    fake_stream& out = *made;
    accept_(std::move(made));
    return out;
  }

 private:
  accept_callback accept_;
};

class allocation : public testing::Test {
 protected:
  allocation() {
    options settings;
    settings.in_process_name = "fake";
    settings.listen_on_network = false;
    under_test_ = *server::create({.loop = loop_, .in_process = &transport_, .log = log_}, settings);
    EXPECT_TRUE(under_test_->start().has_value());
  }
  ~allocation() override { under_test_.reset(); }

  fake_stream& client(std::string_view subscriptions = {}) {
    fake_stream& out = transport_.dial();
    feed(out, "CONNECT {\"verbose\":false,\"headers\":true}\r\nPING\r\n");
    feed(out, subscriptions);
    return out;
  }
  void feed(fake_stream& to, std::string_view bytes) {
    to.input = bytes;
    while (!to.input.empty()) {
      to.readable();
      loop_.run_ready(1);
    }
  }
  // What one more round of the same bytes allocates when everything is warm.
  std::size_t allocations_of(fake_stream& publisher, std::string_view bytes) {
    for (int round = 0; round < 3; ++round) feed(publisher, bytes);
    const std::size_t before = allocations;
    feed(publisher, bytes);
    return allocations - before;
  }

  runtime::paused_clock clock_{from_unix_nanoseconds(1'000'000'000)};
  runtime::seeded_random random_{3};
  runtime::shard loop_{clock_, random_};
  runtime::host::silent_log log_;
  fake_transport transport_;
  std::unique_ptr<server> under_test_;
};

std::string repeated(std::string_view what, int times) {
  std::string out;
  for (int time = 0; time < times; ++time) out += what;
  return out;
}

TEST_F(allocation, none_for_one_publisher_and_one_subscriber) {
  client("SUB foo 1\r\n");
  fake_stream& publisher = client();
  EXPECT_EQ(allocations_of(publisher, repeated("PUB foo 16\r\n0123456789abcdef\r\n", 10'000)), 0u);
}

TEST_F(allocation, none_for_fan_out) {
  for (int number = 0; number < 8; ++number) client("SUB foo.> 1\r\n");
  fake_stream& publisher = client();
  EXPECT_EQ(allocations_of(publisher, repeated("PUB foo.bar 16\r\n0123456789abcdef\r\n", 5'000)), 0u);
}

TEST_F(allocation, none_for_queue_groups) {
  for (int number = 0; number < 8; ++number) client("SUB foo workers 1\r\n");
  fake_stream& publisher = client();
  EXPECT_EQ(allocations_of(publisher, repeated("PUB foo 16\r\n0123456789abcdef\r\n", 5'000)), 0u);
}

TEST_F(allocation, none_for_headers_requests_and_many_subjects) {
  client("SUB svc.* 1\r\n");
  fake_stream& publisher = client();
  std::string bytes;
  for (int number = 0; number < 1000; ++number)
    bytes += "HPUB svc." + std::to_string(number) + " _INBOX.x.1 18 20\r\nNATS/1.0\r\nA: b\r\n\r\nhi\r\n";
  EXPECT_EQ(allocations_of(publisher, bytes), 0u);
}

TEST_F(allocation, only_the_shared_body_for_a_large_payload) {
  for (int number = 0; number < 8; ++number) client("SUB foo 1\r\n");
  fake_stream& publisher = client();
  EXPECT_LE(allocations_of(publisher, "PUB foo 20000\r\n" + std::string(20'000, 'x') + "\r\n"), 4u);
}

}  // namespace
}  // namespace tern::server
