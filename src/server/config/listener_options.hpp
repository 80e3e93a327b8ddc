// The options of listeners at the top of a configuration, as the reader's blocks: what is not text, number or boolean
// of `options` alone.
#pragma once

#include "server/config/config_value.hpp"

namespace tern::server {

struct options;
struct config_findings;

void read_tls_option(const config_entry& entry, options& into, config_findings& findings);
void read_websocket_option(const config_entry& entry, options& into, config_findings& findings);
void read_leafnodes_option(const config_entry& entry, options& into, config_findings& findings);
void read_https_option(const config_entry& entry, options& into, config_findings& findings);
void read_https_port_option(const config_entry& entry, options& into, config_findings& findings);
void read_allow_non_tls_option(const config_entry& entry, options& into, config_findings& findings);
// `listen` in the forms that are ternd's own: a list of addresses, a path ("unix:/run/tern.sock"). False: another form.
bool read_own_listen_forms(const config_entry& entry, options& into, config_findings& findings);
void read_proxy_protocol_option(const config_entry& entry, options& into, config_findings& findings);

}  // namespace tern::server
