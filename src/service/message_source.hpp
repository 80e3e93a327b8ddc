// The two kinds of sources: a pull stream of a consumer, and a Core subscription.
#pragma once

#include "service/subscription_loop.hpp"

#include <memory>

namespace tern::service::detail {

std::unique_ptr<message_source> make_pull_source(client::pull_stream stream);
std::unique_ptr<message_source> make_core_source(client::subscription subscription);

}  // namespace tern::service::detail
