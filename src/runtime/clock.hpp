// Seam 1 of 4: time. Nothing outside src/runtime reads an operating system clock.
#pragma once

#include <tern/base/time.hpp>

namespace tern::runtime {

class clock {
 public:
  virtual ~clock() = default;
  // Nanoseconds since the Unix epoch, never smaller than what an earlier call returned. Any thread.
  virtual time_point now() noexcept = 0;
};

// Steady time with the offset of the system clock at the start. When the system clock steps forward it is followed;
// when it steps back, time goes on steadily, so that no deadline moves away and no timestamp of a stream goes back.
class real_clock final : public clock {
 public:
  real_clock();
  time_point now() noexcept override;

 private:
  struct state;
  static state& shared();
};

// Stands still until somebody moves it. One thread.
class paused_clock final : public clock {
 public:
  explicit paused_clock(time_point start) : now_(start) {}
  time_point now() noexcept override { return now_; }
  void advance_to(time_point at) {
    if (at > now_) now_ = at;
  }

 private:
  time_point now_;
};

}  // namespace tern::runtime
