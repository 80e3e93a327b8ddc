#include "server/config/option_table.hpp"

#include "base/ascii.hpp"

namespace tern::server {
namespace {

std::vector<option_info> gathered() {
  std::vector<option_info> out;
  for (const auto part :
       {server_options(), jetstream_option_rows(), security_option_rows(), listener_option_rows(), link_option_rows()})
    out.insert(out.end(), part.begin(), part.end());
  return out;
}

std::string path_of(const option_info& what, std::string_view name) {
  return what.block.empty() ? std::string(name) : std::string(what.block) + "." + std::string(name);
}

bool matches(const option_info& what, std::string_view wanted) {
  if (what.is_called(wanted)) return true;
  const std::size_t dot = wanted.rfind('.');
  return dot != std::string_view::npos && wanted.substr(0, dot) == what.block && what.is_called(wanted.substr(dot + 1));
}

std::string described(const option_info& what) {
  std::string out = path_of(what, what.name()) + "\n";
  const auto line = [&out](std::string_view label, std::string_view text) {
    if (!text.empty()) out.append("  ").append(label).append(text).append("\n");
  };
  if (const std::size_t blank = what.names.find(' '); blank != std::string_view::npos)
    line("also:     ", what.names.substr(blank + 1));
  line("type:     ", what.type);
  line("default:  ", what.fallback);
  line("status:   ", to_word(what.status));
  if (what.status == option_status::honoured) line("reload:   ", to_word(what.reload));
  line("", what.text);
  return out;
}

}  // namespace

bool option_info::is_called(std::string_view what) const {
  for (std::string_view rest = names; !rest.empty();) {
    const std::size_t blank = rest.find(' ');
    if (rest.substr(0, blank) == what) return true;
    rest.remove_prefix(blank == std::string_view::npos ? rest.size() : blank + 1);
  }
  return false;
}

std::span<const option_info> option_table() {
  static const std::vector<option_info> all = gathered();
  return all;
}

const option_info* find_option(std::string_view block, std::string_view name) {
  for (const option_info& one : option_table())
    if (one.block == block && one.is_called(name)) return &one;
  return nullptr;
}

std::string refusal_text(const option_info& what, std::string_view as_written) {
  return "option \"" + std::string(as_written) + "\" is not supported by ternd: " + std::string(what.text);
}

std::string without_effect_text(const option_info& what, std::string_view as_written) {
  return "option \"" + std::string(as_written) + "\" has no effect: " + std::string(what.text);
}

std::string explain_option(std::string_view path_or_name) {
  const std::string wanted = lower_case(path_or_name);
  std::string out;
  for (const option_info& one : option_table()) {
    if (!matches(one, wanted)) continue;
    out.append(out.empty() ? "" : "\n").append(described(one));
  }
  return out;
}

std::string_view to_word(option_status what) {
  switch (what) {
    case option_status::honoured:
      return "honoured";
    case option_status::refused:
      return "refused";
    case option_status::without_effect:
      return "accepted with a warning, no effect";
  }
  return "";
}

std::string_view to_word(option_reload what) {
  switch (what) {
    case option_reload::applied:
      return "applied";
    case option_reload::fixed:
      return "an error when it changes";
    case option_reload::none:
      return "";
  }
  return "";
}

}  // namespace tern::server
