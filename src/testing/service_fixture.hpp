// Shared by the tests of the service framework: a world with a stream ORDERS, and small applications in it.
#pragma once

#include <tern/testing/harness.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tern::testing {

struct order {
  std::uint64_t id;
  std::string item;
};
struct receipt {
  std::uint64_t order;
};
inline bool operator==(const receipt& a, const receipt& b) { return a.order == b.order; }

using texts = std::vector<std::string>;

class service_test : public ::testing::Test {
 protected:
  service_test() { world_.broker().stream("ORDERS", {"orders.>"}); }

  template <class... Registrations>
  static service::app make(Registrations... registrations) {
    return service::app_builder("shop", "1.0.0")
        .broker(service::nats("nats://localhost:4222"),
                [&](auto& scope) { (scope.include(std::move(registrations)), ...); })
        .build();
  }
  template <class... Registrations>
  test_app start(Registrations... registrations) {
    return world_.start(make(std::move(registrations)...));
  }
  // Subscribed to ORDERS under the name "packing".
  template <class Handler>
  static auto packing(Handler handler) {
    return service::subscriber(service::jetstream("orders.new").stream("ORDERS").durable("packing"), std::move(handler))
        .name("packing");
  }
  template <class Handler>
  static auto core_packing(Handler handler) {
    return service::subscriber(service::core("core.orders"), std::move(handler)).name("packing");
  }
  void publish(std::uint64_t id, const client::headers& headers = {}) {
    world_.broker().publish("orders.new", std::string_view(codec::to_json(order{id, "lamp"})), headers);
  }
  void publish_core(std::uint64_t id, const client::headers& headers = {}) {
    world_.broker().publish("core.orders", std::string_view(codec::to_json(order{id, "lamp"})), headers);
  }

  world world_;
};

}  // namespace tern::testing
