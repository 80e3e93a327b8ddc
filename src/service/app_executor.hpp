// The executor of an application that shares its thread with others, as in tests: whatever runs through it finds its
// own application in current_app(), also after a coroutine was suspended.
#pragma once

#include "service/app_core.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <memory>

namespace tern::service::detail {

// Always posts, so that one application's work never runs inside another's.
class app_executor {
 public:
  app_executor(boost::asio::io_context& context, std::weak_ptr<app_core> app)
      : context_(&context), app_(std::move(app)) {}

  boost::asio::execution_context& query(boost::asio::execution::context_t) const noexcept { return *context_; }
  static constexpr boost::asio::execution::blocking_t::never_t query(boost::asio::execution::blocking_t) noexcept {
    return {};
  }

  template <class Work>
  void execute(Work&& work) const {
    boost::asio::post(*context_, [app = app_, work = std::decay_t<Work>(std::forward<Work>(work))]() mutable {
      if (const auto alive = app.lock()) set_current_app(alive.get());
      work();
    });
  }

  friend bool operator==(const app_executor& a, const app_executor& b) noexcept {
    return a.context_ == b.context_ && !a.app_.owner_before(b.app_) && !b.app_.owner_before(a.app_);
  }
  friend bool operator!=(const app_executor& a, const app_executor& b) noexcept { return !(a == b); }

 private:
  boost::asio::io_context* context_;
  std::weak_ptr<app_core> app_;
};

}  // namespace tern::service::detail
