// Message headers as bytes: `NATS/1.0[ <code>[ <description>]] CRLF (<key>: <value> CRLF)* CRLF` (core 2.3). A block is
// kept as it came, order, case and duplicates included; nothing is parsed until a key is asked for. Looking up is
// case-sensitive, at line starts only.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tern::protocol {

inline constexpr std::string_view header_line = "NATS/1.0";
inline constexpr std::string_view empty_header_block = "NATS/1.0\r\n\r\n";

using header_field = std::pair<std::string_view, std::string_view>;

// A view: the block must outlive it. Any bytes are a legal block, what cannot be read is not there.
class header_view {
 public:
  class iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = header_field;
    using difference_type = std::ptrdiff_t;
    using pointer = const header_field*;
    using reference = const header_field&;

    iterator() = default;
    const header_field& operator*() const { return field_; }
    const header_field* operator->() const { return &field_; }
    iterator& operator++() {
      advance();
      return *this;
    }
    iterator operator++(int) {
      const iterator before = *this;
      advance();
      return before;
    }
    bool operator==(const iterator& other) const { return at_ == other.at_; }

   private:
    friend class header_view;
    iterator(std::string_view block, std::size_t at) : block_(block), next_(at) { advance(); }
    void advance();
    std::string_view block_;
    std::size_t at_ = std::string_view::npos;  // of the current line; npos: the end
    std::size_t next_ = std::string_view::npos;
    header_field field_;
  };

  header_view() = default;
  explicit header_view(std::string_view block) : block_(block) {}

  bool empty() const { return block_.empty(); }
  std::string_view block() const { return block_; }

  // The first value of the key: blanks after the colon are dropped, nothing else is.
  std::optional<std::string_view> get(std::string_view key) const;
  // The same, where an empty value counts as absent (jetstream 5.4).
  std::optional<std::string_view> get_non_empty(std::string_view key) const;
  std::optional<std::string_view> get_ignoring_case(std::string_view key) const;
  bool has(std::string_view key) const { return get(key).has_value(); }

  // Status of the first line: 0 and empty when there is none.
  int status() const;
  std::string_view description() const;

  // All lines that have a colon, in order; keys as they stand, values without the blanks around.
  iterator begin() const;
  iterator end() const { return {}; }

 private:
  std::string_view block_;
};

// Each gives a new block; it is empty ("no headers") when no field is left.
std::string without_header(std::string_view block, std::string_view key);
std::string without_headers_with_prefix(std::string_view block, std::string_view prefix);
// The status taken out of the first line; a bare `NATS/1.0` block without a status stays as it is (jetstream 5.4).
std::string without_status(std::string_view block);

// Adds a field behind the last one; an empty block becomes one with this field.
void append_header(std::string& block, std::string_view key, std::string_view value);
// Replaces all fields of the key by one at the end.
void set_header(std::string& block, std::string_view key, std::string_view value);

// Builds a block front to back.
//     auto block = header_builder().add("Nats-Msg-Id", id).finish();
class header_builder {
 public:
  header_builder() : block_(header_line) { block_ += "\r\n"; }
  explicit header_builder(int status, std::string_view description = {});
  header_builder& add(std::string_view key, std::string_view value) & {
    block_.append(key).append(": ").append(value).append("\r\n");
    return *this;
  }
  header_builder&& add(std::string_view key, std::string_view value) && {
    add(key, value);
    return std::move(*this);
  }
  std::string finish() && {
    block_ += "\r\n";
    return std::move(block_);
  }

 private:
  std::string block_;
};

// `NATS/1.0 <code> <text>` and fields, ready to send.
std::string status_block(int code, std::string_view text = {}, std::initializer_list<header_field> fields = {});

// What a client may put into a header: a key without blanks, colon and control characters; a value on one line.
bool is_valid_header_key(std::string_view key);
bool is_valid_header_value(std::string_view value);

}  // namespace tern::protocol
