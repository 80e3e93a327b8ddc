// The service as a program: NATS_URL names the server, else nats://localhost:4222.
#include "payments.hpp"

#include <cstdlib>

int main(int argc, char** argv) {
  return tern::service::run_main(argc, argv, [] {
    payments::settings with;
    if (const char* url = std::getenv("NATS_URL")) with.url = url;
    return payments::make_app(with);
  });
}
