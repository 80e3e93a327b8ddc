#include "server/config/config_parser.hpp"

#include "runtime/host/files.hpp"
#include "runtime/host/process.hpp"
#include "server/config/config_lexer.hpp"

#include <utility>
#include <vector>

namespace tern::server {
namespace {

constexpr int nesting_max = 200;  // maps and arrays in each other
constexpr int include_depth_max = 20;

bool is_line_end(int letter) { return letter == '\n' || letter == '\r'; }

class parser {
 public:
  parser(std::string_view text, std::string path, const config_source& source, int include_depth)
      : lexer_(text),
        file_(std::make_shared<const std::string>(std::move(path))),
        source_(source),
        include_depth_(include_depth) {}

  result<config_value> read_document() {
    config_value root;
    scopes_.push_back(&root);
    if (auto read = read_top(root, false); !read) return std::unexpected(std::move(read).error());
    return root;
  }

  // A value of the environment, alone.
  result<config_value> read_single() {
    config_value root;
    scopes_.push_back(&root);
    config_value out;
    lexer_.skip_blanks();
    if (auto read = read_value(out, 0); !read) return std::unexpected(std::move(read).error());
    return out;
  }

 private:
  // Items of the file, or of the braces around them.
  result<void> read_top(config_value& root, bool in_braces) {
    while (true) {
      lexer_.skip_blanks_and_lines();
      if (lexer_.at_comment()) {
        lexer_.skip_comment();
        continue;
      }
      if (lexer_.peek() == config_lexer::end) {
        if (in_braces) return lexer_.fail_here("Unexpected EOF processing map.");
        return {};
      }
      if (in_braces && lexer_.peek() == '}') {
        lexer_.take();
        return {};
      }
      if (!in_braces && lexer_.peek() == '{') {
        lexer_.take();
        if (auto read = read_top(root, true); !read) return read;
        continue;
      }
      if (auto read = read_item(root, false, 0); !read) return read;
      if (auto ended = end_item(in_braces); !ended) return ended;
    }
  }

  result<void> end_item(bool in_braces) {
    lexer_.skip_blanks();
    const int letter = lexer_.peek();
    if (letter == config_lexer::end || lexer_.at_comment() || (in_braces && letter == '}')) return {};
    if (is_line_end(letter) || letter == ',' || letter == ';' || letter == '}') {
      lexer_.take();
      return {};
    }
    return lexer_.fail_here("Expected a top-level value to end with a new line, comment or EOF, but got '" +
                            lexer_.letter() + "' instead.");
  }

  // `key = value` or `include path`.
  result<void> read_item(config_value& into, bool in_map, int depth) {
    auto key = lexer_.read_key(in_map);
    if (!key) return std::unexpected(std::move(key).error());
    if (key->ends_at_blank && is_include(key->text)) return read_include(into);
    const config_place place{file_, key->line, key->column};
    lexer_.skip_blanks_and_lines();
    if (lexer_.peek() == '=' || lexer_.peek() == ':') {
      lexer_.take();
      if (in_map)
        lexer_.skip_blanks_and_lines();
      else
        lexer_.skip_blanks();
    }
    if (lexer_.peek() == config_lexer::end) {
      if (in_map) return lexer_.fail_here("Unexpected EOF processing map.");
      const config_place here{file_, lexer_.line(), lexer_.column()};
      return fail(errc::config_error, "config is invalid (" + here.text() + ")");
    }
    if (in_map && lexer_.peek() == ',') return lexer_.fail_here("Unexpected map value terminator \",\".");
    config_value value;
    value.place = place;
    if (auto read = read_value(value, depth); !read) return read;
    put(into, std::move(key->text), std::move(value));
    return {};
  }

  static bool is_include(std::string_view word) {
    if (word.size() != 7) return false;
    for (std::size_t at = 0; at < word.size(); ++at)
      if ((word[at] | 0x20) != "include"[at]) return false;
    return true;
  }

  static void put(config_value& into, std::string key, config_value value) {
    for (config_entry& entry : into.entries) {
      if (entry.key != key) continue;
      entry.value = std::move(value);
      return;
    }
    into.entries.push_back({std::move(key), std::move(value), false});
  }

  // Keeps value.place.
  result<void> read_value(config_value& value, int depth) {
    if (depth > nesting_max) return lexer_.fail_here("Nested too deeply");
    if (lexer_.peek() == '[') return read_array(value, depth);
    if (lexer_.peek() == '{') return read_map(value, depth);
    const int line = lexer_.line();
    auto scalar = lexer_.read_scalar();
    if (!scalar) return std::unexpected(std::move(scalar).error());
    config_place place = std::move(value.place);
    if (scalar->variable) {
      auto found = look_up(*scalar->variable, line);
      if (!found) return std::unexpected(std::move(found).error());
      value = std::move(*found);
    } else {
      value = std::move(scalar->value);
    }
    value.place = std::move(place);
    return {};
  }

  result<void> read_array(config_value& value, int depth) {
    value.what = config_value::kind::array;
    lexer_.take();
    while (true) {
      lexer_.skip_blanks_and_lines();
      if (lexer_.at_comment()) {
        lexer_.skip_comment();
        continue;
      }
      if (lexer_.peek() == ']') {
        lexer_.take();
        return {};
      }
      if (lexer_.peek() == ',') return lexer_.fail_here("Unexpected array value terminator ','.");
      if (lexer_.peek() == config_lexer::end) return lexer_.fail_here("Unexpected EOF processing array.");
      config_value element;
      element.place = {file_, lexer_.line(), lexer_.column()};
      if (auto read = read_value(element, depth + 1); !read) return read;
      value.elements.push_back(std::move(element));
      if (auto ended = end_element(); !ended) return ended;
    }
  }

  result<void> end_element() {
    while (true) {
      lexer_.skip_blanks();
      if (!lexer_.at_comment()) break;
      lexer_.skip_comment();
    }
    const int letter = lexer_.peek();
    if (letter == ',' || is_line_end(letter)) {
      lexer_.take();
      return {};
    }
    if (letter == ']') return {};
    return lexer_.fail_here("Expected an array value terminator \",\" or an array terminator \"]\", but got '" +
                            lexer_.letter() + "' instead.");
  }

  result<void> read_map(config_value& value, int depth) {
    value.what = config_value::kind::map;
    lexer_.take();
    scopes_.push_back(&value);
    while (true) {
      lexer_.skip_blanks_and_lines();
      if (lexer_.at_comment()) {
        lexer_.skip_comment();
        continue;
      }
      const int letter = lexer_.peek();
      if (letter == '}') {
        lexer_.take();
        scopes_.pop_back();
        return {};
      }
      if (letter == config_lexer::end) return lexer_.fail_here("Unexpected EOF processing map.");
      if (letter == ']') return lexer_.fail_here("Unexpected array end ']' processing map.");
      if (auto read = read_item(value, true, depth + 1); !read) return read;
      if (auto ended = end_map_item(); !ended) return ended;
    }
  }

  result<void> end_map_item() {
    while (true) {
      lexer_.skip_blanks();
      if (!lexer_.at_comment()) break;
      lexer_.skip_comment();
    }
    const int letter = lexer_.peek();
    if (letter == ',' || letter == ';' || is_line_end(letter)) {
      lexer_.take();
      return {};
    }
    if (letter == '}') return {};
    return lexer_.fail_here("Expected a map value terminator \",\" or a map terminator \"}\", but got '" +
                            lexer_.letter() + "' instead.");
  }

  result<void> read_include(config_value& into) {
    auto named = lexer_.read_include_path();
    if (!named) return std::unexpected(std::move(named).error());
    const auto within = [&named](error why) {
      return fail(errc::config_error, "error parsing include file '" + *named + "', " + why.context());
    };
    if (include_depth_ >= include_depth_max) return within(error(errc::config_error, "included too deeply"));
    const std::size_t slash = file_->rfind('/');
    const std::string directory = slash == std::string::npos ? "" : file_->substr(0, slash + 1);
    const std::string path = named->starts_with('/') ? *named : directory + *named;
    auto text = source_.read_file(path);
    if (!text) return within(std::move(text).error());
    auto included = parser(*text, path, source_, include_depth_ + 1).read_document();
    if (!included) return within(std::move(included).error());
    for (config_entry& entry : included->entries) {
      const bool variable = entry.used_as_variable;
      std::string key = entry.key;
      put(into, std::move(entry.key), std::move(entry.value));
      for (config_entry& placed : into.entries)
        if (placed.key == key) placed.used_as_variable = placed.used_as_variable || variable;
    }
    return {};
  }

  // The nearest block that has the key by now, then the environment.
  result<config_value> look_up(const std::string& name, int line) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      for (config_entry& entry : (*scope)->entries) {
        if (entry.key != name) continue;
        entry.used_as_variable = true;
        return entry.value;
      }
    }
    if (const auto text = source_.environment(name)) {
      config_source closed{source_.read_file, [](const std::string&) { return std::nullopt; }};
      return parser(*text, *file_, closed, include_depth_).read_single();
    }
    return fail(errc::config_error,
                "variable reference for '" + name + "' on line " + std::to_string(line) + " can not be found");
  }

  config_lexer lexer_;
  std::shared_ptr<const std::string> file_;
  const config_source& source_;
  int include_depth_;
  std::vector<config_value*> scopes_;  // from the outermost block to the one being read
};

}  // namespace

config_source config_source_of_host() {
  return {
      .read_file = [](const std::string& path) -> result<std::string> { return runtime::host::read_text_file(path); },
      .environment = [](const std::string& name) { return runtime::host::environment_variable(name); },
  };
}

result<config_value> parse_config(std::string_view text, const std::string& path, const config_source& source) {
  return parser(text, path, source, 0).read_document();
}

result<config_value> parse_config_file(const std::string& path, const config_source& source) {
  auto text = source.read_file(path);
  if (!text) return std::unexpected(std::move(text).error());
  return parse_config(*text, path, source);
}

}  // namespace tern::server
