#include "payments.hpp"

#include <variant>

namespace payments {
namespace {

using namespace tern::service;

// What the handlers share; opened once, when the application starts.
struct clients {
  std::shared_ptr<payments::bank> bank;
};

// What is returned decides what becomes of the payment. A captured one is published, then acknowledged.
boost::asio::awaitable<std::variant<captured, outcome>> capture(const payment& what, nats::delivered_count attempt,
                                                                state<bank> bank) {
  if (attempt > 1) log::info("seen before", {{"payment", what.id}, {"delivered", attempt}});
  const charge answered = co_await bank->capture(what);  // named first: gcc 12 breaks `switch (co_await ...)`
  switch (answered) {
    case charge::ok:
      break;
    case charge::busy:
      co_return retry_after(bank->back_off());  // past its rate limit: the server holds it that long
    case charge::unavailable:
      co_return retry();  // no answer: again at once
    case charge::declined:
      log::warn("card declined, payment given up", {{"payment", what.id}});
      co_return drop();  // the next attempt would get the same answer
  }
  co_return captured{what.id, what.amount_cents};
}

// A dashboard that misses an update gets the next one, so Core will do. There is nothing to acknowledge there: the
// framework says so, once a minute, because who writes `ack()` may believe in a redelivery that does not exist.
outcome refresh(const captured& what) {
  log::info("dashboard updated", {{"payment", what.payment}, {"cents", what.amount_cents}});
  return ack();
}

// What is the same for every variant of the capture.
auto capturing(const settings& with) {
  return subscriber(jetstream("payments.authorized").stream("PAYMENTS").durable("capture").ack_wait(with.ack_wait),
                    capture)
      .name("capture")
      .workers(with.workers)
      .reply<captured>();
}

}  // namespace

app make_app(const settings& with) {
  auto open_bank = [with](std::monostate) {
    return clients{with.bank ? with.bank : std::make_shared<bank>(with.busy_delay)};
  };
  return app_builder("payments", "0.1.0")
      .on_startup(open_bank)
      .log_to(with.log)
      .broker(nats(with.url),
              [&with](auto& scope) {
                auto registration = capturing(with);
                if (with.keep_alive) registration = std::move(registration).keep_alive();
                if (with.capped) registration = std::move(registration).max_attempts(5).dead_letter("payments.dead");
                scope.include(std::move(registration));
                scope.include(subscriber(core("payments.captured"), refresh).name("refresh"));
              })
      .build();
}

}  // namespace payments
