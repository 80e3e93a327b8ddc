// What a reload may change about listeners: certificates and what goes with them; the rest of it cannot (core 4.4).
// New connections use what is new, those that exist keep their session. Owned by the server; no state of its own.
#pragma once

#include "server/config/reload_plan.hpp"

namespace tern::server {

class listener_reload final : public reload_participant {
 public:
  result<void> prepare(const options& before, const options& after, std::vector<std::string>& lines) override;
  void adopt(const options&, const options&) override {}
};

}  // namespace tern::server
