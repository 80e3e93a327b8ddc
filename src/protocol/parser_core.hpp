// What the server's and the client's parser share: lines and bodies that come in pieces, arguments, faults. Not for use
// by itself.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "protocol/operation_state.hpp"
#include "protocol/parse_outcome.hpp"

namespace tern::protocol {

inline bool is_blank(char letter) { return letter == ' ' || letter == '\t'; }

// What separates arguments; CR and LF do so inside an argument line, as for the peer.
inline bool separates(char letter) { return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n'; }

// The next argument of a control line, empty when there is none; `at` moves behind it.
inline std::string_view next_argument(const char*& at, const char* end) {
  while (at != end && separates(*at)) ++at;
  const char* const begin = at;
  while (at != end && !separates(*at)) ++at;
  return {begin, static_cast<std::size_t>(at - begin)};
}

// The same for PUB and HPUB, where only a blank separates. A CR ends the arguments: `at` stays before it, so that it is
// not `end` in the end. (The peer takes a CR into subjects, which breaks the lines that receivers get.)
inline std::string_view next_publish_argument(const char*& at, const char* end) {
  while (at != end && is_blank(*at)) ++at;
  const char* const begin = at;
  while (at != end && !separates(*at)) ++at;
  return {begin, static_cast<std::size_t>(at - begin)};
}

// All arguments of a control line; `count` goes one past the most that any operation takes, to tell "too many".
struct arguments {
  static constexpr std::size_t max = 5;
  std::array<std::string_view, max + 1> values;
  std::size_t count = 0;

  explicit arguments(std::string_view line) {
    const char* at = line.data();
    const char* const end = at + line.size();
    while (count <= max) {
      values[count] = next_argument(at, end);
      if (values[count].empty()) return;
      ++count;
    }
  }
};

// One to nine digits; anything else is no size (core 2).
inline bool parse_size(std::string_view text, std::size_t& size) {
  if (text.empty() || text.size() > 9) return false;
  std::size_t value = 0;
  for (const char letter : text) {
    const auto digit = static_cast<unsigned char>(letter - '0');
    if (digit > 9) return false;
    value = value * 10 + digit;
  }
  size = value;
  return true;
}

class parser_core {
 public:
  // Bytes of the last input that were consumed, when the outcome is not `more`.
  std::size_t taken() const { return taken_; }
  // Why the last outcome is an error.
  const parse_fault& fault() const { return fault_; }
  // Nothing of an operation has been read.
  bool at_operation_start() const { return state_ == operation_state::start; }
  // Memory held, for accounting.
  std::size_t buffered() const { return argument_.capacity() + body_.capacity(); }

 protected:
  struct input {
    const char* begin;
    const char* at;
    const char* end;
    std::size_t left() const { return static_cast<std::size_t>(end - at); }
  };

  explicit parser_core(std::size_t line_max) : line_max_(line_max) {}

  // Takes bytes up to LF; true when the line is whole: `line` is then what stands before LF and one CR. Sets
  // `too_long`.
  bool collect_line(input& in, std::string_view& line, bool& too_long);
  // What the limit counts: everything before LF but one CR at the end. It holds for pieces of a line as for the whole.
  bool exceeds_limit(std::string_view piece) const {
    return piece.size() - (!piece.empty() && piece.back() == '\r' ? 1 : 0) > line_max_;
  }
  // Cuts off the CR. A line with a CR elsewhere and none at its end loses its last byte, as for the peer.
  static std::string_view without_cr(std::string_view line) {
    if (line.empty()) return line;
    if (line.back() == '\r' || line.find('\r') != std::string_view::npos) line.remove_suffix(1);
    return line;
  }
  static bool begins(const input& in, std::string_view letters) {
    return in.left() >= letters.size() && std::memcmp(in.at, letters.data(), letters.size()) == 0;
  }
  // The arguments behind the first `skip` bytes when they begin there, the line is whole and not too long; then it is
  // taken. Otherwise nothing is, and going on byte by byte finds out.
  bool whole_line(input& in, std::size_t skip, std::string_view& line) const {
    const char* const begin = in.at + skip;
    if (begin == in.end || is_blank(*begin) || *begin == '\n') return false;
    const auto* newline = static_cast<const char*>(std::memchr(begin, '\n', static_cast<std::size_t>(in.end - begin)));
    if (newline == nullptr) return false;
    const std::string_view piece(begin, static_cast<std::size_t>(newline - begin));
    if (exceeds_limit(piece)) [[unlikely]]
      return false;
    line = without_cr(piece);
    in.at = newline + 1;
    return true;
  }
  // Skips to behind the next LF; false when there is none yet.
  static bool skip_line(input& in) {
    const void* newline = std::memchr(in.at, '\n', in.left());
    in.at = newline == nullptr ? in.end : static_cast<const char*>(newline) + 1;
    return newline != nullptr;
  }

  // Begins to gather a body that is not whole in the input; `line` is what the views of `head` point into.
  void begin_body(const message_head& head, std::string_view line);
  // Takes bytes of the body; `wrong` when CR LF does not follow on it.
  bool collect_body(input& in, bool& wrong);
  message_frame body_frame() {
    message_frame frame;
    static_cast<message_head&>(frame) = head_;
    frame.body = std::string_view(body_).substr(0, head_.total_size);
    frame.buffer = &body_;
    return frame;
  }
  void end_body();

  parse_outcome stop(const input& in, parse_outcome outcome) {
    taken_ = static_cast<std::size_t>(in.at - in.begin);
    return outcome;
  }
  parse_outcome unknown_operation(const input& in);
  parse_outcome bad_argument(const input& in, std::string_view reason, std::string_view line);

  std::size_t line_max_;
  std::size_t taken_ = 0;
  operation_state state_ = operation_state::start;
  std::string argument_;  // of an incomplete line, then what head_ points into
  std::string body_;      // with its CR LF
  message_head head_;     // while the body comes in
  parse_fault fault_;

 private:
  static constexpr std::size_t body_reserve_max = 1024 * 1024;  // a peer that only announces a body holds no more
  static constexpr std::size_t body_retained_max = 64 * 1024;
  static constexpr std::size_t snippet_max = 32;
};

inline parse_outcome to_outcome(verdict said) {
  switch (said) {
    case verdict::go_on:
      return parse_outcome::more;
    case verdict::pause:
      return parse_outcome::paused;
    case verdict::stop:
      return parse_outcome::stopped;
    case verdict::bad_argument:
      return parse_outcome::bad_argument;
    case verdict::payload_too_large:
      return parse_outcome::payload_too_large;
  }
  return parse_outcome::stopped;
}

}  // namespace tern::protocol
