// Which operation a subject of the JetStream API names, how its answers look, and who does it (jetstream 2).
#pragma once

#include "jetstream/account_streams.hpp"
#include "jetstream/api.hpp"

#include <span>
#include <string_view>

namespace tern::jetstream {

inline constexpr std::string_view api_prefix = "$JS.API.";

struct api_route {
  std::string_view pattern;  // of what follows the prefix
  api_operation operation;
  void (*handle)(account_streams& in, api_request& request);
};

// Null for subjects that are no operation: they stay unanswered (1.4).
const api_route* find_route(std::string_view subject_after_prefix);
// Subjects below the prefix that their assets answer themselves, so that nobody answering means no responders (8.2,
// 15).
bool is_asset_subject(std::string_view subject_after_prefix);

}  // namespace tern::jetstream
