// What the two halves of the TCP transport share: streams (tcp_stream.cpp), and how they come to be (tcp.cpp).
#pragma once

#include "runtime/readiness.hpp"
#include "runtime/transport.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <unistd.h>
#include <memory>
#include <optional>
#include <utility>

namespace tern::runtime {

bool would_block(int error_number);
void set_option(int descriptor, int level, int option, int value);
endpoint endpoint_of(const boost::asio::ip::tcp::endpoint& from);
std::optional<endpoint> local_of(int descriptor);

// A socket of the reactor, closed with it. Subclasses are told of their own descriptor only.
class watched_socket : public readiness::watcher {
 public:
  watched_socket(readiness& reactor, int descriptor) : reactor_(reactor), descriptor_(descriptor) {}
  ~watched_socket() { close(); }
  watched_socket(const watched_socket&) = delete;
  watched_socket& operator=(const watched_socket&) = delete;

  int descriptor() const { return descriptor_; }
  bool closed() const { return descriptor_ < 0; }

  result<void> watch(readiness::events wanted) {
    auto outcome = reactor_.watch(descriptor_, *this, wanted);
    watched_ = outcome.has_value();
    told_about_ = wanted;
    return outcome;
  }

  // No system call unless something changes.
  void tell_about(readiness::events wanted) {
    if (closed() || wanted == told_about_) return;
    told_about_ = wanted;
    reactor_.change(descriptor_, *this, wanted);
  }
  readiness::events told_about() const { return told_about_; }

  void close() {
    if (closed()) return;
    if (watched_) reactor_.forget(descriptor_, *this);
    ::close(std::exchange(descriptor_, -1));
  }

 private:
  readiness& reactor_;
  int descriptor_;
  bool watched_ = false;
  readiness::events told_about_;
};

// Takes the descriptor of a connected socket, also when it fails.
result<std::unique_ptr<byte_stream>> make_tcp_stream(readiness& reactor, int descriptor,
                                                     const boost::asio::ip::tcp::endpoint& peer);
// The same for a Unix socket; `at` is both ends.
result<std::unique_ptr<byte_stream>> make_unix_stream(readiness& reactor, int descriptor, const endpoint& at);

}  // namespace tern::runtime
