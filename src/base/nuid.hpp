// Identifiers as the NATS world writes them: 22 letters and digits, unique without coordination.
#pragma once

#include <cstdint>
#include <string>

namespace tern {

// A random prefix of 12 characters and a counter of 10 that moves in random steps. Seeded by the Random seam, so a
// simulation repeats its identifiers. One thread.
class nuid_source {
 public:
  explicit nuid_source(std::uint64_t seed);
  std::string next();                           // 22 characters
  std::string random_text(std::size_t length);  // letters and digits, for short names
  std::uint64_t random();                       // splitmix64 of the same state; not for secrets

 private:
  void renew_prefix();
  std::uint64_t state_;
  std::string prefix_;
  std::uint64_t sequence_ = 0;
  std::uint64_t step_ = 1;
};

}  // namespace tern
