// A message on its way through the shard. All views live as long as the call that hands it over.
#pragma once

#include <string_view>

namespace tern::routing {

struct message {
  std::string_view subject;  // what the receiver is shown; routing may have gone by another (a pull's inbox)
  std::string_view reply;
  std::string_view headers;  // the raw block with its final empty line, or empty
  std::string_view payload;
};

}  // namespace tern::routing
