// What is wrong with an application before anything goes over the network. (service 3)
#pragma once

#include <tern/service/detail/definition.hpp>

namespace tern::service::detail {

result<void> validate_definition(const app_definition& definition);

}  // namespace tern::service::detail
