// Reads the options of a server, one small reader for each, and the table that finds it (core 4.2). Those of JetStream
// stand in jetstream_reader.cpp; blocks of other owners have readers of their own. Lives during one run over a tree.
#pragma once

#include "server/config/block_errors.hpp"
#include "server/config/listener_options.hpp"
#include "server/config/option_table.hpp"
#include "server/config/options.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>

namespace tern::server {

// One run over a tree. Every take_ function notes an error instead of setting when the value does not fit.
class option_reader {
 public:
  option_reader(options& into, config_findings& findings) : into_(into), findings_(findings), errors_(findings) {}

  void read(const config_value& tree);

 private:
  struct rule {
    std::string_view name;
    void (option_reader::*take)(const config_entry&);
  };
  static std::span<const rule> rules();
  static std::span<const rule> jetstream_rules();

  void complain(const config_value& at, const std::string& text) { errors_.at(at, text); }
  void wrong_type(const config_value& at, std::string_view wanted) { errors_.wrong_type(at, wanted); }

  bool take_int(const config_value& from, int& to) {
    std::int64_t wide = 0;
    if (!errors_.take(from, wide)) return false;
    to = static_cast<int>(
        std::clamp<std::int64_t>(wide, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
    return true;
  }
  bool take_duration(const config_entry& entry, nanoseconds& to, bool seconds_allowed = true);
  bool take_address(const config_entry& entry, std::string& host, int& port);

  template <auto Member>
  void boolean(const config_entry& entry) {
    errors_.take(entry.value, into_.*Member);
  }
  // Either wants a trace to begin with.
  template <auto Member>
  void tracing(const config_entry& entry) {
    if (errors_.take(entry.value, into_.*Member)) into_.trace = into_.trace || into_.*Member;
  }
  template <auto Member>
  void integer(const config_entry& entry) {
    errors_.take(entry.value, into_.*Member);
  }
  template <auto Member>
  void small_integer(const config_entry& entry) {
    take_int(entry.value, into_.*Member);
  }
  template <auto Member>
  void text(const config_entry& entry) {
    errors_.take(entry.value, into_.*Member);
  }
  template <auto Member>
  void duration(const config_entry& entry) {
    take_duration(entry, into_.*Member);
  }
  template <auto Member>
  void jetstream_integer(const config_entry& entry) {
    errors_.take(entry.value, into_.jetstream.*Member);
  }
  template <auto Member>
  void jetstream_duration(const config_entry& entry) {
    take_duration(entry, into_.jetstream.*Member);
  }
  template <auto Member>
  void jetstream_text(const config_entry& entry) {
    errors_.take(entry.value, into_.jetstream.*Member);
  }
  template <auto Member>
  void jetstream_boolean(const config_entry& entry) {
    errors_.take(entry.value, into_.jetstream.*Member);
  }

  void listen(const config_entry& entry) {
    if (!read_own_listen_forms(entry, into_, findings_)) take_address(entry, into_.host, into_.port);
  }
  void http(const config_entry& entry) { take_address(entry, into_.http_host, into_.http_port); }
  void server_name(const config_entry& entry);
  void max_subscription_tokens(const config_entry& entry);
  void write_timeout(const config_entry& entry);
  void lame_duck_duration(const config_entry& entry);
  void lame_duck_grace_period(const config_entry& entry);
  void tags(const config_entry& entry);
  void metadata(const config_entry& entry);
  void jetstream(const config_entry& entry);
  void jetstream_sync_interval(const config_entry& entry);
  void jetstream_limits(const config_entry& entry);
  void jetstream_batch_limits(const config_entry& entry);
  void read_block(std::string_view block, const config_value& tree, std::span<const rule> takes);
  void without_effect(const option_info& what, const config_entry& entry);
  void feature_flags(const config_entry& entry);
  bool take_limit(const config_entry& entry, std::int64_t& to);
  void max_payload(const config_entry& entry) { take_limit(entry, into_.max_payload); }
  void max_control_line(const config_entry& entry) { take_limit(entry, into_.max_control_line); }
  template <auto Member>
  void jetstream_size(const config_entry& entry) {
    take_storage_size(entry, into_.jetstream.*Member);
  }
  void take_storage_size(const config_entry& entry, std::int64_t& to);

  options& into_;
  config_findings& findings_;
  block_errors errors_;
};

}  // namespace tern::server
