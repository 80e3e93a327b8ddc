// Figures of the process and of the machine, for monitoring and for default limits.
#pragma once

#include <tern/base/error.hpp>
#include <tern/base/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tern::runtime::host {

int process_id();
std::string program_name();  // the last part of argv[0]
std::string host_name();
unsigned core_count();  // cores that this process may use
std::uint64_t resident_bytes();
std::uint64_t physical_memory_bytes();  // of the machine, or of the control group when that is smaller
result<std::uint64_t> free_disk_bytes(
    const std::string& path);  // for an unprivileged writer; the nearest existing parent counts
std::optional<std::string> environment_variable(const std::string& name);

nanoseconds processor_time_used();  // by all threads of the process, user and kernel

// Percent of one core between two looks, as nats-server's `cpu` (a busy process with two threads shows up to 200). One
// thread.
class processor_usage {
 public:
  double percent(time_point now);  // since the last call; the first counts from construction

  explicit processor_usage(time_point now);

 private:
  time_point last_at_;
  nanoseconds last_used_;
  double last_percent_ = 0;
};

// Addresses of the interfaces that are up, IPv4 before IPv6, without loopback and link-local ones.
std::vector<std::string> interface_addresses();

// Numeric text of a host's addresses, asking the system's resolver. Blocks; for start-up and worker threads.
result<std::vector<std::string>> resolve_host(const std::string& name);

}  // namespace tern::runtime::host
