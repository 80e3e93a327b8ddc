#include "protocol/headers.hpp"

#include <tern/codec/reflect.hpp>

#include "protocol/writer.hpp"

namespace tern::protocol {
namespace {

constexpr std::size_t npos = std::string_view::npos;

bool is_header_blank(char letter) { return letter == ' ' || letter == '\t'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_header_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_header_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Where the field's line begins: the key behind a CR LF and before a colon.
std::size_t find_field(std::string_view block, std::string_view key) {
  if (key.empty()) return npos;
  for (std::size_t at = block.find(key); at != npos; at = block.find(key, at + 1)) {
    const std::size_t colon = at + key.size();
    if (at >= 2 && block[at - 1] == '\n' && block[at - 2] == '\r' && colon < block.size() && block[colon] == ':') {
      return at;
    }
  }
  return npos;
}

std::string_view value_at(std::string_view block, std::size_t begin) {
  while (begin < block.size() && block[begin] == ' ') ++begin;
  return block.substr(begin, block.find(crlf, begin) - begin);
}

// The block without the lines that `drop` says yes to.
template <class Predicate>
std::string without_lines(std::string_view block, Predicate drop) {
  std::string kept;
  std::size_t at = block.find(crlf);
  if (at == npos) return std::string(block);
  at += crlf.size();
  kept.reserve(block.size());
  kept.append(block, 0, at);
  bool dropped = false;
  while (at < block.size()) {
    const std::size_t end = block.find(crlf, at);
    const std::size_t next = end == npos ? block.size() : end + crlf.size();
    if (drop(block.substr(at, end - at))) {
      dropped = true;
    } else {
      kept.append(block, at, next - at);
    }
    at = next;
  }
  if (dropped && kept.size() <= empty_header_block.size()) kept.clear();
  return kept;
}

}  // namespace

void header_view::iterator::advance() {
  while (next_ < block_.size()) {
    const std::size_t line_at = next_;
    const std::size_t end = block_.find(crlf, line_at);
    const std::string_view line = block_.substr(line_at, end - line_at);
    next_ = end == npos ? npos : end + crlf.size();
    const std::size_t colon = line.find(':');
    if (line.empty()) break;
    if (colon == npos) continue;
    at_ = line_at;
    field_ = {line.substr(0, colon), trimmed(line.substr(colon + 1))};
    return;
  }
  at_ = npos;
  next_ = npos;
}

header_view::iterator header_view::begin() const {
  const std::size_t first = block_.find(crlf);
  return first == npos ? iterator() : iterator(block_, first + crlf.size());
}

std::optional<std::string_view> header_view::get(std::string_view key) const {
  const std::size_t at = find_field(block_, key);
  if (at == npos) return std::nullopt;
  return value_at(block_, at + key.size() + 1);
}

std::optional<std::string_view> header_view::get_non_empty(std::string_view key) const {
  auto value = get(key);
  if (value && value->empty()) value.reset();
  return value;
}

std::optional<std::string_view> header_view::get_ignoring_case(std::string_view key) const {
  for (const auto& [name, value] : *this) {
    if (codec::detail::equal_ignoring_case(name, key)) return value;
  }
  return std::nullopt;
}

int header_view::status() const {
  if (!block_.starts_with(header_line)) return 0;
  std::size_t at = header_line.size();
  if (at >= block_.size() || !is_header_blank(block_[at])) return 0;
  while (at < block_.size() && is_header_blank(block_[at])) ++at;
  if (block_.size() < at + 3) return 0;
  int code = 0;
  for (std::size_t index = at; index < at + 3; ++index) {
    if (block_[index] < '0' || block_[index] > '9') return 0;
    code = code * 10 + (block_[index] - '0');
  }
  return code;
}

std::string_view header_view::description() const {
  if (status() == 0) return {};
  std::string_view line = trimmed(block_.substr(0, block_.find(crlf)).substr(header_line.size()));
  return trimmed(line.substr(3));
}

std::string without_header(std::string_view block, std::string_view key) {
  if (find_field(block, key) == npos) return std::string(block);
  return without_lines(block, [key](std::string_view line) {
    return line.size() > key.size() && line.starts_with(key) && line[key.size()] == ':';
  });
}

std::string without_headers_with_prefix(std::string_view block, std::string_view prefix) {
  return without_lines(block, [prefix](std::string_view line) {
    return line.starts_with(prefix) && line.find(':', prefix.size()) != npos;
  });
}

std::string without_status(std::string_view block) {
  const std::size_t end = block.find(crlf);
  if (end == npos || end == header_line.size() || !block.starts_with(header_line)) return std::string(block);
  std::string kept(header_line);
  kept.append(block.substr(end));
  if (kept.size() <= empty_header_block.size()) kept.clear();
  return kept;
}

void append_header(std::string& block, std::string_view key, std::string_view value) {
  if (block.empty()) {
    block.append(header_line).append(crlf);
  } else if (block.ends_with("\r\n\r\n")) {
    block.resize(block.size() - crlf.size());
  }
  block.append(key).append(": ").append(value).append("\r\n\r\n");
}

void set_header(std::string& block, std::string_view key, std::string_view value) {
  if (find_field(block, key) != npos) block = without_header(block, key);
  append_header(block, key, value);
}

header_builder::header_builder(int status, std::string_view description) : block_(header_line) {
  block_.append(1, ' ').append(std::to_string(status));
  if (!description.empty()) block_.append(1, ' ').append(description);
  block_.append(crlf);
}

std::string status_block(int code, std::string_view text, std::initializer_list<header_field> fields) {
  header_builder builder(code, text);
  for (const auto& [key, value] : fields) builder.add(key, value);
  return std::move(builder).finish();
}

bool is_valid_header_key(std::string_view key) {
  if (key.empty()) return false;
  for (const char letter : key) {
    if (letter <= ' ' || letter >= 0x7f || letter == ':') return false;
  }
  return true;
}

bool is_valid_header_value(std::string_view value) { return value.find_first_of("\r\n") == npos; }

}  // namespace tern::protocol
