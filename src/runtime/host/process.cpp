#include "runtime/host/process.hpp"

#include "base/numbers.hpp"
#include "runtime/host/files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

namespace tern::runtime::host {
namespace {

std::string_view without_end_of_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

// A limit of a control group; "max" and a missing file are none.
std::optional<std::uint64_t> limit_in(const std::string& path) {
  const auto text = read_text_file(path);
  return text ? parse_decimal(without_end_of_line(*text)) : std::nullopt;
}

std::optional<std::string> text_of(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN];
  const void* bytes = nullptr;
  if (address->sa_family == AF_INET) bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  if (address->sa_family == AF_INET6) bytes = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  if (bytes == nullptr || ::inet_ntop(address->sa_family, bytes, text, sizeof text) == nullptr) return std::nullopt;
  return text;
}

}  // namespace

int process_id() { return static_cast<int>(::getpid()); }
std::string program_name() { return program_invocation_short_name; }

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
  return name;
}

unsigned core_count() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (::sched_getaffinity(0, sizeof usable, &usable) == 0) {
    return static_cast<unsigned>(std::max(1, CPU_COUNT(&usable)));
  }
  return static_cast<unsigned>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

std::uint64_t resident_bytes() {
  // "size resident shared ...", in pages.
  const auto text = read_text_file("/proc/self/statm");
  if (!text) return 0;
  const std::size_t start = text->find(' ');
  if (start == std::string::npos) return 0;
  const auto pages = parse_decimal(std::string_view(*text).substr(start + 1, text->find(' ', start + 1) - start - 1));
  return pages.value_or(0) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t physical_memory_bytes() {
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  std::uint64_t bytes = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    if (const auto limit = limit_in(path)) bytes = std::min(bytes, *limit);
  }
  return bytes;
}

result<std::uint64_t> free_disk_bytes(const std::string& path) {
  std::string at = absolute_path(path);
  struct statvfs status{};
  while (::statvfs(at.c_str(), &status) != 0) {
    const std::size_t slash = at.rfind('/');
    if (errno != ENOENT || at.size() <= 1 || slash == std::string::npos) {
      return fail(errc::io_error, "statfs " + path + ": " + go_error_text(errno));
    }
    at.resize(std::max<std::size_t>(slash, 1));
  }
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

std::optional<std::string> environment_variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

nanoseconds processor_time_used() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + nanoseconds(used.tv_nsec);
}

processor_usage::processor_usage(time_point now) : last_at_(now), last_used_(processor_time_used()) {}

double processor_usage::percent(time_point now) {
  const nanoseconds used = processor_time_used();
  if (now > last_at_) {
    const auto worked = static_cast<double>((used - last_used_).count());
    last_percent_ = 100.0 * worked / static_cast<double>((now - last_at_).count());
    last_at_ = now;
    last_used_ = used;
  }
  return last_percent_;
}

std::vector<std::string> interface_addresses() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  std::vector<std::string> four, six;
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0 || (each->ifa_flags & IFF_LOOPBACK) != 0) continue;
    const auto text = text_of(each->ifa_addr);
    if (!text) continue;
    if (each->ifa_addr->sa_family == AF_INET) four.push_back(*text);
    if (each->ifa_addr->sa_family == AF_INET6 && !text->starts_with("fe80")) six.push_back(*text);
  }
  ::freeifaddrs(first);
  four.insert(four.end(), six.begin(), six.end());
  return four;
}

result<std::vector<std::string>> resolve_host(const std::string& name) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (const int status = ::getaddrinfo(name.c_str(), nullptr, &wanted, &first); status != 0) {
    return fail(errc::not_found, "lookup " + name + ": " + ::gai_strerror(status));
  }
  std::vector<std::string> addresses;
  for (const addrinfo* each = first; each != nullptr; each = each->ai_next) {
    if (auto text = text_of(each->ai_addr); text && std::ranges::find(addresses, *text) == addresses.end()) {
      addresses.push_back(std::move(*text));
    }
  }
  ::freeaddrinfo(first);
  return addresses;
}

}  // namespace tern::runtime::host
