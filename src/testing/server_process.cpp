#include <tern/testing/server_process.hpp>

#include "runtime/host/child_process.hpp"
#include "runtime/host/files.hpp"

namespace tern::testing {
namespace {

constexpr std::chrono::seconds patience(20);
constexpr std::string_view listening = "Listening for client connections on ";

}  // namespace

struct server_process::implementation {
  std::unique_ptr<runtime::host::scratch_directory> directory = std::make_unique<runtime::host::scratch_directory>();
  std::optional<runtime::host::child_process> child;  // goes before its directory
  std::string url;
};

server_process::server_process(std::unique_ptr<implementation> made) : implementation_(std::move(made)) {}
server_process::server_process(server_process&&) noexcept = default;
server_process& server_process::operator=(server_process&&) noexcept = default;
server_process::~server_process() = default;

result<server_process> server_process::start(const std::string& program) {
  auto made = std::make_unique<implementation>();
  // The server takes the port itself (-1) and says which, so nobody else can take it in between.
  auto child = runtime::host::child_process::start(
      program, {"-a", "127.0.0.1", "-p", "-1", "-js", "-sd", made->directory->path()});
  if (!child) return std::unexpected(std::move(child).error());
  made->child.emplace(*std::move(child));
  auto line = made->child->wait_for_line(listening, patience);
  if (!line) return std::unexpected(std::move(line).error().within(program));
  if (auto ready = made->child->wait_for_line("Server is ready", patience); !ready) {
    return std::unexpected(std::move(ready).error().within(program));
  }
  made->url = "nats://" + line->substr(line->find(listening) + listening.size());
  return server_process(std::move(made));
}

const std::string& server_process::url() const { return implementation_->url; }
const std::string& server_process::directory() const { return implementation_->directory->path(); }
int server_process::process_id() const { return implementation_->child->process_id(); }
std::string server_process::output() const { return implementation_->child->output(); }

result<int> server_process::stop() {
  implementation_->child->terminate();
  return implementation_->child->wait(patience);
}

}  // namespace tern::testing
