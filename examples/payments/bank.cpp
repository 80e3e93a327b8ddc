#include "payments.hpp"

#include <array>
#include <stdexcept>

namespace payments {
namespace {

struct behaviour {
  std::string_view card;
  charge refusal;
  int times;
};
constexpr int always = 1'000'000;
constexpr std::array behaviours{
    behaviour{"busy-once", charge::busy, 1},
    behaviour{"unavailable-once", charge::unavailable, 1},
    behaviour{"unavailable-twice", charge::unavailable, 2},
    behaviour{"declined", charge::declined, always},
    behaviour{"always-busy", charge::busy, always},
    behaviour{"always-unavailable", charge::unavailable, always},
};

}  // namespace

charge bank::answer(std::string_view card, int call) const {
  for (const behaviour& each : behaviours) {
    if (each.card == card && call <= each.times) return each.refusal;
  }
  return charge::ok;
}

boost::asio::awaitable<charge> bank::capture(const payment& what) {
  const int call = ++calls_[what.id];
  if (what.card == "slow-once" && call == 1) co_await tern::service::sleep_for(slowness_);
  if (what.card == "throws-once" && call == 1) throw std::runtime_error("the line to the bank is dead");
  const charge answered = answer(what.card, call);
  // The second charge under one id is the first one again.
  if (answered == charge::ok && charged_.emplace(what.id, what.amount_cents).second)
    charged_cents_ += what.amount_cents;
  co_return answered;
}

}  // namespace payments
