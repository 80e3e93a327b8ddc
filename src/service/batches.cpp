// Batches: gathering them from a consumer or from a Core subscription, and handling one. (service 8, 17)
#include "service/coroutines.hpp"
#include "service/subscription_loop.hpp"

#include <boost/asio/co_spawn.hpp>

namespace tern::service::detail {
namespace {

constexpr std::chrono::milliseconds default_linger(10);
constexpr std::chrono::milliseconds empty_fetch_pause(100);
constexpr int consumer_not_found = 10014;
constexpr int stream_not_found = 10059;

bool is_gone(const error& problem) {
  return problem.code() == errc::consumer_deleted || problem.api_code() == consumer_not_found ||
         problem.api_code() == stream_not_found;
}

}  // namespace

// One batch worker. It ends with the opening that began it.
boost::asio::awaitable<void> subscription_loop::run_batches(std::uint64_t opening) {
  const auto self = shared_from_this();
  const auto app = app_.shared_from_this();
  while (taking_ && opening == opening_) {
    auto received = co_await gather();
    if (!taking_ || opening != opening_) {
      for (const auto& message : received) give_back(message);
      break;
    }
    if (!received.empty()) co_await handle_batch(std::move(received));
  }
}

boost::asio::awaitable<std::vector<client::message>> subscription_loop::gather() {
  if (const auto* from = std::get_if<jetstream_consumer>(&what_.from)) {
    auto fetched = co_await fetch(*from);
    co_return fetched;
  }
  // Core: the first message, then what comes until the batch is full or the linger time is over.
  std::vector<client::message> received;
  std::optional<time_point> until;
  while (taking_ && received.size() < *what_.options.batch) {
    if (!held_.empty()) {
      received.push_back(std::move(held_.front()));
      held_.pop_front();
    } else if (auto item = source_->try_next()) {
      if (*item) {
        received.push_back(*std::move(*item));
      } else {
        on_item_error(item->error());
      }
    } else if (source_->ended()) {
      on_source_ended();
    } else {
      const bool arrived = co_await arrival(until);
      if (!arrived) break;
    }
    if (!until && !received.empty()) until = app_.shard().now() + what_.options.linger.value_or(default_linger);
  }
  co_return received;
}

// True when a message may have come; false when `until` has passed or nothing will come any more.
boost::asio::awaitable<bool> subscription_loop::arrival(std::optional<time_point> until) {
  auto waiter = std::make_shared<client::detail::operation_state<void>>(nullptr);
  timer_queue::timer limit(app_.shard().timers(), [waiter] { waiter->cancel(); });
  if (until) limit.arm(*until);
  arrivals_.push_back(waiter);
  wait_for_next();
  client::operation<void> arriving(waiter);
  auto arrived = co_await std::move(arriving);
  co_return arrived.has_value();
}

boost::asio::awaitable<std::vector<client::message>> subscription_loop::fetch(const jetstream_consumer& from) {
  std::vector<client::message> received;
  client::fetch_options options;
  options.batch(static_cast<std::uint32_t>(*what_.options.batch));
  if (what_.options.linger) {
    options.expires(*what_.options.linger);
  } else {
    options.expires(from.pull_expires()).no_wait();
  }
  auto pull = link_->streams().pull_consumer(from.stream(), consumer_);
  const time_point began = app_.shard().now();
  auto waiter = std::make_shared<client::detail::operation_state<client::fetched>>(nullptr);
  const std::uint64_t wait = next_wait_++;
  gathering_.emplace(wait, [waiter] { waiter->cancel(); });
  pull.fetch(options).then([waiter](result<client::fetched> brought) {
    // Shutdown did not wait for it: what still came goes back.
    if (!waiter->complete(std::move(brought)) && brought) {
      for (auto& message : brought->messages) (void)message.nak();
    }
  });
  client::operation<client::fetched> fetching(waiter);
  auto brought = co_await std::move(fetching);
  gathering_.erase(wait);
  std::optional<error> problem;
  if (!brought) {
    problem = std::move(brought).error();
  } else {
    for (auto& message : brought->messages) received.push_back(std::move(message).release());
    problem = std::move(brought->problem);
  }
  if (!taking_) co_return received;
  if (problem) {
    on_item_error(*problem);
    if (problem->code() == errc::no_responders) {
      auto info = co_await link_->streams().consumer_info(from.stream(), consumer_);
      if (!info) problem = std::move(info).error();
    }
    if (is_gone(*problem)) on_source_ended();
  }
  const bool too_early = problem || app_.shard().now() - began < empty_fetch_pause;
  if (taking_ && received.empty() && too_early) (void)co_await app_.pause(empty_fetch_pause);
  co_return received;
}

boost::asio::awaitable<void> subscription_loop::handle_batch(std::vector<client::message> received) {
  std::vector<std::shared_ptr<delivery_work>> works;
  std::vector<context*> deliveries;
  std::vector<handled> made(received.size());
  for (auto& message : received) {
    auto& work = works.emplace_back(std::make_shared<delivery_work>());
    work->delivery.emplace(std::move(message), name(), app_.state(), time_point::max());
    work->delivery->put_services(this);
    if (work->delivery->attempt() > 1) ++counters_.redeliveries;
    deliveries.push_back(&*work->delivery);
    if (app_.observer() != nullptr) app_.observer()->on_delivery(name(), *work->delivery);
  }
  running_ += works.size();
  counters_.in_flight += works.size();
  in_work_.insert(in_work_.end(), works.begin(), works.end());
  set_current_app(&app_);
  if (what_.handler->asynchronous()) {
    co_await what_.handler->run_batch(deliveries, made);
  } else {
    what_.handler->run_batch_now(deliveries, made);
  }
  const auto decoded = std::count_if(made.begin(), made.end(),
                                     [](const handled& each) { return each.how != handled_how::decode_failed; });
  if (app_.observer() != nullptr && decoded != 0) app_.observer()->on_batch(name(), static_cast<std::size_t>(decoded));
  for (std::size_t i = 0; i < works.size(); ++i) {
    delivery_work& work = *works[i];
    work.made = std::move(made[i]);
    if (can_settle_now(work)) {
      settle_now(work);
    } else {
      co_await settle_later(work);
    }
    end(work);
  }
}

}  // namespace tern::service::detail
