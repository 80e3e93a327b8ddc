// What a reload would change (core 4.4): judged as a whole before anything happens.
#pragma once

#include "server/config/options.hpp"

#include <string>
#include <vector>

namespace tern::server {

struct reload_plan {
  // What the log says of each change, in the order of the peer: up to users and accounts; then come those of other
  // owners (certificates), which the participants tell, then the rest.
  std::vector<std::string> first, rest;
};

// Fails with the peer's text when something changes that cannot change while the server runs. Both as configured:
// nothing worked out. `port` is the one that is in use.
result<reload_plan> plan_reload(const options& before, const options& after, int port);

// Where a server's options come from. Owned by the process or the embedding program; outlives the server.
class option_source {
 public:
  virtual ~option_source() = default;
  // Reads the file again, with what else was asked for. An error's context is what the log says.
  virtual result<options> load() = 0;
  // Judges what the process itself has to change (log file, pid file, ports file): nothing is changed yet.
  virtual result<void> prepare(const options& before, const options& after) = 0;
  virtual void adopt(const options& before, const options& after) = 0;
};

// A part of the server that owns a block of the options: users and accounts, certificates. Owned by the server.
class reload_participant {
 public:
  virtual ~reload_participant() = default;
  // Judges the change and prepares it: everything that can fail fails here, with the peer's text, and nothing is in
  // force yet. Appends what the log will say of each change ("authorization users"), without the "Reloaded: " before
  // it.
  virtual result<void> prepare(const options& before, const options& after, std::vector<std::string>& lines) = 0;
  // The server has adopted `after`, between two turns.
  virtual void adopt(const options& before, const options& after) = 0;
  // Another participant has refused.
  virtual void forget() {}
};

}  // namespace tern::server
