// Publishing allocates nothing per message: counted, not hoped for (service 11, performance B21).
#include "client/fake_peer.hpp"

#include <cstdlib>
#include <new>

namespace {

thread_local std::size_t allocations = 0;

void* counted(std::size_t size) {
  ++allocations;
  void* const memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// The array forms come here too, unless a sanitizer has its own: so all four are replaced alike.
void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size == 0 ? 1 : size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size == 0 ? 1 : size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

namespace tern::client {
namespace {

class publish_allocation : public client_test {
 protected:
  // Allocations of the publishes alone: what the script at the other end keeps is not counted.
  std::size_t of_round(int messages, const std::string& payload) {
    const std::size_t before = allocations;
    for (int i = 0; i < messages; ++i) {
      if (!nats.publish("orders.placed", payload)) return ~std::size_t{0};
      if (!nats.publish_with_reply("orders.asked", "reply.here", payload)) return ~std::size_t{0};
    }
    const std::size_t during = allocations - before;
    run();
    peer->take();
    return during;
  }
};

TEST_F(publish_allocation, a_published_message_allocates_nothing_in_the_steady_state) {
  connect();
  for (const std::size_t size : {0u, 16u, 128u, 4096u}) {
    const std::string payload(size, 'x');
    for (int warm_up = 0; warm_up < 4; ++warm_up) of_round(100, payload);
    EXPECT_EQ(of_round(100, payload), 0u) << size;
  }
}

}  // namespace
}  // namespace tern::client
