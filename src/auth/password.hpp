// Comparing what a client has shown with what is configured (core 3.1). Stateless; any thread.
#pragma once

#include <string>
#include <string_view>

namespace tern::auth {

// `$2a$`, `$2b$`, `$2x$` or `$2y$`: a hash that takes its time to compare.
bool is_bcrypt(std::string_view stored);
// Costs 10 to 100 ms: not for a loop. Any thread.
bool bcrypt_matches(std::string_view stored, std::string_view shown);
// In a time that does not tell where the difference is.
bool equal_secret(std::string_view stored, std::string_view shown);

}  // namespace tern::auth
