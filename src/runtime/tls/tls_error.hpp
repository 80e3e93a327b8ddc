// What went wrong in a TLS handshake, in the words of the peer's log where it has some: operators look for them.
#pragma once

#include <string>

struct ssl_st;

namespace tern::runtime {

// Empties the thread's queue of OpenSSL errors.
std::string tls_failure_text(const ssl_st* of);

}  // namespace tern::runtime
