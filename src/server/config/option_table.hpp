// Every option of a configuration file, at every level of it (core 4.2), in one table: the reader asks it what an
// option is, and `ternd --explain`, the reference page and the manual pages are printed from it. Constant data; any
// thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tern::server {

enum class option_status : std::uint8_t {
  honoured,
  refused,         // the start fails with `text`, which says why and what to do instead
  without_effect,  // the value is checked and a warning is logged; `text` says why nothing changes
};

enum class option_reload : std::uint8_t {
  applied,
  fixed,  // a reload that changes it fails as a whole
  none,   // nothing to reload: refused, or without effect
};

struct option_info {
  std::string_view block;     // where it stands: "" is the top of the file, "accounts.*" a map with names of its own
  std::string_view names;     // the name, then its aliases, parted by blanks
  std::string_view type;      // begins with boolean, number, bytes, duration, text, path, address, map or array
  std::string_view fallback;  // what holds when it is not given; may be empty
  option_status status = option_status::honoured;
  option_reload reload = option_reload::applied;
  std::string_view text;

  std::string_view name() const { return names.substr(0, names.find(' ')); }
  bool is_called(std::string_view what) const;  // by its name or an alias
};

// One block after another, in the order in which a reader of the reference wants them.
std::span<const option_info> option_table();
// `name` in lower case. Null: there is no such option.
const option_info* find_option(std::string_view block, std::string_view name);
// What an error or a warning says of it, without the place.
std::string refusal_text(const option_info& what, std::string_view as_written);
std::string without_effect_text(const option_info& what, std::string_view as_written);

// For a person: what `jetstream.max_mem_store`, or `max_payload` in whatever block, means. Empty: nothing of that name.
std::string explain_option(std::string_view path_or_name);
std::string_view to_word(option_status what);
std::string_view to_word(option_reload what);

// The parts of the table, each in a file of its own.
std::span<const option_info> server_options();
std::span<const option_info> jetstream_option_rows();
std::span<const option_info> security_option_rows();
std::span<const option_info> listener_option_rows();
std::span<const option_info> link_option_rows();

}  // namespace tern::server
