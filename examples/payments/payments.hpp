// A payment service: it captures authorised payments through a bank and tells a dashboard about each capture.
//
//   payments.authorized  (stream PAYMENTS)  --> capture --> payments.captured  (Core) --> refresh
//                                                 `--> payments.dead (stream PAYMENTS_DEAD), after five attempts
#pragma once

#include <tern/service/app.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace payments {

// --- the messages: plain structs, which travel as JSON ---

struct payment {
  std::uint64_t id;
  std::string card;
  std::uint64_t amount_cents;
};

struct captured {
  std::uint64_t payment;
  std::uint64_t amount_cents;
};

// --- the bank ---

enum class charge { ok, busy, unavailable, declined };

/// A client of a bank that does not exist. The card says how it answers: "busy-once", "unavailable-once",
/// "unavailable-twice", "declined", "always-busy", "always-unavailable", "slow-once" (answers after 61 seconds),
/// "throws-once"; every other card is fine. The payment's id is the idempotency key: charging twice charges once.
class bank {
 public:
  explicit bank(std::chrono::nanoseconds back_off = std::chrono::seconds(30),
                std::chrono::nanoseconds slowness = std::chrono::seconds(61))
      : back_off_(back_off), slowness_(slowness) {}

  boost::asio::awaitable<charge> capture(const payment& what);

  /// How long a busy bank asks its callers to wait.
  std::chrono::nanoseconds back_off() const { return back_off_; }
  int calls(std::uint64_t payment) const { return calls_.contains(payment) ? calls_.at(payment) : 0; }
  std::uint64_t charged_cents() const { return charged_cents_; }

 private:
  charge answer(std::string_view card, int call) const;

  std::chrono::nanoseconds back_off_, slowness_;
  std::map<std::uint64_t, int> calls_;              // by payment
  std::map<std::uint64_t, std::uint64_t> charged_;  // by payment: cents
  std::uint64_t charged_cents_ = 0;
};

// --- the application ---

struct settings {
  std::string url = "nats://localhost:4222";
  std::shared_ptr<payments::bank> bank;                            // default: one of its own
  std::chrono::nanoseconds busy_delay = std::chrono::seconds(30);  // of its own bank
  std::chrono::nanoseconds ack_wait = std::chrono::seconds(60);    // above the slowest answer of the bank
  std::size_t workers = 1;                                         // payments at once
  bool keep_alive = false;                                         // or tell the server that we are still at it
  bool capped = true;                                              // five attempts, then payments.dead
  std::shared_ptr<tern::service::log_sink> log;                    // default: the standard error stream
};

/// The streams PAYMENTS and PAYMENTS_DEAD must exist when it starts.
tern::service::app make_app(const settings& with = {});

}  // namespace payments

// Each of these lives on one subject, so nobody else has to name it.
template <>
struct tern::service::message_traits<payments::payment> {
  static constexpr subject_pattern subject{"payments.authorized"};
};
template <>
struct tern::service::message_traits<payments::captured> {
  static constexpr subject_pattern subject{"payments.captured"};
};
