#include "runtime/readiness.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace tern::runtime {
namespace {

std::unexpected<error> failed(const char* what) {
  const int number = errno;
  return fail(errc::io_error, std::string(what) + ": " + std::generic_category().message(number));
}

// Failures are reported whether they are asked for or not, and a level trigger would report them for ever: who wants
// nothing gets an edge.
std::uint32_t mask_of(readiness::events wanted) {
  const std::uint32_t mask = (wanted.read ? std::uint32_t{EPOLLIN} : 0) | (wanted.write ? std::uint32_t{EPOLLOUT} : 0);
  return mask != 0 ? mask : std::uint32_t{EPOLLET};
}

}  // namespace

readiness::readiness() = default;
readiness::~readiness() { close_all(); }

void readiness::close_all() {
  for (int* each : {&set_, &wake_, &alarm_}) {
    if (*each >= 0) ::close(*each);
    *each = -1;
  }
}

result<void> readiness::open() {
  if (set_ >= 0) return {};
  set_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (set_ >= 0) wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ >= 0) alarm_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  bool complete = alarm_ >= 0;
  // By edge, so that neither is ever read: each write and each expiry is a new edge.
  for (int* each : {&wake_, &alarm_}) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    event.data.ptr = each;
    complete = complete && ::epoll_ctl(set_, EPOLL_CTL_ADD, *each, &event) == 0;
  }
  if (!complete) {
    auto failure = failed("reactor");
    close_all();
    return failure;
  }
  batch_ = std::make_unique<epoll_event[]>(events_max);
  return {};
}

int readiness::control(int operation, int descriptor, watcher& by, events wanted) {
  epoll_event event{};
  event.events = mask_of(wanted);
  event.data.ptr = &by;
  return ::epoll_ctl(set_, operation, descriptor, &event);
}

result<void> readiness::watch(int descriptor, watcher& by, events wanted) {
  if (auto opened = open(); !opened) return opened;
  if (control(EPOLL_CTL_ADD, descriptor, by, wanted) != 0) return failed("watch");
  ++watched_;
  return {};
}

void readiness::change(int descriptor, watcher& by, events wanted) {
  [[maybe_unused]] const int outcome = control(EPOLL_CTL_MOD, descriptor, by, wanted);
  assert(outcome == 0);
}

void readiness::forget(int descriptor, watcher& by) {
  [[maybe_unused]] const int outcome = control(EPOLL_CTL_DEL, descriptor, by, {});
  assert(outcome == 0);
  --watched_;
  // What the batch at hand holds for it is not told any more.
  for (std::size_t i = next_; i < count_; ++i) {
    if (batch_[i].data.ptr == &by) batch_[i].data.ptr = nullptr;
  }
}

void readiness::gather(bool may_wait) {
  // What an interrupted batch still held is found again: the trigger is the level.
  next_ = count_ = 0;
  if (watched_ == 0 && !may_wait) return;
  const int found = ::epoll_wait(set_, batch_.get(), static_cast<int>(events_max), may_wait ? -1 : 0);
  for (int i = 0; i < found; ++i) {
    void* const about = batch_[i].data.ptr;
    if (about == &alarm_) alarm_is_set_ = false;
    if (about != &alarm_ && about != &wake_) batch_[count_++] = batch_[i];
  }
}

std::size_t readiness::tell() {
  std::size_t told = 0;
  while (next_ < count_) {
    const epoll_event event = batch_[next_++];
    if (event.data.ptr == nullptr) continue;
    const bool failed = (event.events & (EPOLLHUP | EPOLLERR)) != 0;
    ++told;
    const events what{.read = failed || (event.events & EPOLLIN) != 0,
                      .write = failed || (event.events & EPOLLOUT) != 0};
    static_cast<watcher*>(event.data.ptr)->on_ready(what);
  }
  return told;
}

void readiness::set_alarm(time_point deadline, nanoseconds from_now) {
  if (alarm_is_set_ && alarm_at_ <= deadline) return;
  constexpr nanoseconds second = std::chrono::seconds(1);
  from_now = std::max(from_now, nanoseconds(1));  // zero would unset it
  itimerspec when{};
  when.it_value.tv_sec = from_now / second;
  when.it_value.tv_nsec = (from_now % second).count();
  alarm_is_set_ = ::timerfd_settime(alarm_, 0, &when, nullptr) == 0;
  alarm_at_ = deadline;
}

void readiness::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
}

}  // namespace tern::runtime
