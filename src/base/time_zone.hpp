// A time zone, as far as anybody here needs one. Where they come from is runtime/host's business.
#pragma once

#include <tern/base/time.hpp>

namespace tern {

// Immutable; any thread.
class time_zone {
 public:
  virtual ~time_zone() = default;
  virtual nanoseconds offset_at(time_point at) const = 0;  // what is added to UTC then; whole seconds
};

}  // namespace tern
