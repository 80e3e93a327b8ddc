// Small pieces for spawning coroutines on the application's loop.
#pragma once

#include <exception>

namespace tern::service::detail {

// Handlers' exceptions end where they are called; one that gets here is a defect of the framework and must not be lost.
inline constexpr auto rethrow_nothing = [](std::exception_ptr problem) {
  if (problem) std::terminate();
};
}  // namespace tern::service::detail
