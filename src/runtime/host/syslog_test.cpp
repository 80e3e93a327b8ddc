#include "runtime/host/syslog.hpp"

#include "runtime/clock.hpp"
#include "runtime/host/files.hpp"
#include "runtime/host/service_manager.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cstdlib>
#include <cstring>

namespace tern::runtime::host {
namespace {

// Takes datagrams at a path.
class mailbox {
 public:
  explicit mailbox(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, path.data(), path.size());
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  }
  ~mailbox() { ::close(socket_); }
  std::string take() {
    char text[512];
    const auto size = ::recv(socket_, text, sizeof text, MSG_DONTWAIT);
    return size < 0 ? std::string() : std::string(text, static_cast<std::size_t>(size));
  }

 private:
  const int socket_;
};

constexpr time_point noon = from_unix_nanoseconds(1'800'000'000'500'000'000);

TEST(syslog, lines_have_priority_time_host_and_program_core_4_7) {
  EXPECT_EQ(syslog_line(log_level::info, "Server is ready", noon, "h", "ternd", 7),
            "<29>2027-01-15T08:00:00Z h ternd[7]: Server is ready\n");
  EXPECT_TRUE(syslog_line(log_level::fatal, "x", noon, "h", "t", 7).starts_with("<26>"));
  EXPECT_TRUE(syslog_line(log_level::debug, "x", noon, "h", "t", 7).starts_with("<31>"));
}

TEST(syslog, sends_to_a_server_and_never_waits_for_it) {
  const scratch_directory folder;
  const std::string path = folder.path() + "/log";
  mailbox server(path);
  const auto target = open_remote_syslog("unix://" + path);
  ASSERT_TRUE(target.has_value());
  (*target)->write(log_level::warn, "hello", noon);
  EXPECT_NE(server.take().find("]: hello\n"), std::string::npos);
  for (int times = 0; times < 10'000; ++times) (*target)->write(log_level::warn, std::string(400, 'x'), noon);
  SUCCEED() << "what did not fit is lost";
}

TEST(syslog, an_address_that_is_none_is_refused) {
  for (const char* url : {"", "localhost:514", "ftp://x:1", "udp://localhost", "unix://", "unix:///nonexistent/log"})
    EXPECT_FALSE(open_remote_syslog(url).has_value()) << url;
}

TEST(syslog, the_process_log_writes_there_without_its_own_head) {
  const scratch_directory folder;
  mailbox server(folder.path() + "/log");
  real_clock clock;
  auto log = open_log({.remote_syslog = "unix://" + folder.path() + "/log"}, clock);
  ASSERT_TRUE(log.has_value());
  (*log)->info("Server is ready");
  EXPECT_TRUE(server.take().ends_with("]: Server is ready\n"));
}

TEST(service_manager, is_told_when_it_asks_to_be) {
  const scratch_directory folder;
  const std::string path = folder.path() + "/notify";
  mailbox manager(path);
  notify_service_manager("READY=1");
  EXPECT_EQ(manager.take(), "");
  ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  notify_service_manager("READY=1");
  ::unsetenv("NOTIFY_SOCKET");
  EXPECT_EQ(manager.take(), "READY=1");
}

}  // namespace
}  // namespace tern::runtime::host
