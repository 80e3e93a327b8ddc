// What a client reads from a server (core 2): INFO, MSG, HMSG, PING, PONG, +OK and -ERR; incremental, total, and
// without copies where a whole operation stands in the piece of input.
//
// The handler is any class with these members, called in the order of the operations; each returns a verdict:
//
//     verdict on_info(std::string_view json);
//     verdict on_message(const message_frame& message);
//     verdict on_ping();  verdict on_pong();  verdict on_ok();
//     verdict on_error(std::string_view text);   // without the quotes
//
// One connection owns a parser; same thread. After an outcome other than `more` and `paused` the parser is spent.
// Invariants as those of server_parser.
#pragma once

#include "protocol/parser_core.hpp"

namespace tern::protocol {

// A server's INFO may list many servers; nothing it sends has a longer line.
inline constexpr std::size_t server_line_max = 1024 * 1024;

class client_parser : public parser_core {
 public:
  client_parser() : parser_core(server_line_max) {}

  template <class Handler>
  parse_outcome consume(std::string_view bytes, Handler& handler);

 private:
  template <class Handler>
  parse_outcome step(input& in, Handler& handler);
  template <class Handler>
  parse_outcome argument_step(input& in, Handler& handler);
  template <class Handler>
  parse_outcome message(input& in, std::string_view line, bool with_header, Handler& handler);
  template <class Handler>
  parse_outcome body_step(input& in, Handler& handler);

  static bool read_message_line(std::string_view line, bool with_header, message_head& head) {
    const char* at = line.data();
    const char* const end = at + line.size();
    head.subject = next_argument(at, end);
    head.sid = next_argument(at, end);
    head.with_header = with_header;
    std::string_view sizes[3];
    std::size_t count = 0;
    while (count < 3 && !(sizes[count] = next_argument(at, end)).empty()) ++count;
    const std::size_t needed = with_header ? 2 : 1;
    if (count == needed + 1) head.reply = sizes[0];
    if (count != needed && count != needed + 1) return false;
    if (with_header && !parse_size(sizes[count - 2], head.header_size)) return false;
    return parse_size(sizes[count - 1], head.total_size) && head.header_size <= head.total_size &&
           next_argument(at, end).empty();
  }
  static std::string_view without_quotes(std::string_view text) {
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    if (text.size() >= 2 && text.front() == '\'' && text.back() == '\'') return text.substr(1, text.size() - 2);
    return text;
  }
};

template <class Handler>
parse_outcome client_parser::consume(std::string_view bytes, Handler& handler) {
  input in{bytes.data(), bytes.data(), bytes.data() + bytes.size()};
  while (in.at != in.end) {
    parse_outcome outcome;
    // Messages in their common spelling, when the line is whole; anything else goes byte by byte.
    std::string_view line;
    if (state_ == operation_state::start && begins(in, "MSG ") && whole_line(in, 4, line)) [[likely]] {
      outcome = message(in, line, false, handler);
    } else if (state_ == operation_state::start && begins(in, "HMSG ") && whole_line(in, 5, line)) {
      outcome = message(in, line, true, handler);
    } else {
      outcome = step(in, handler);
    }
    if (outcome != parse_outcome::more) [[unlikely]] {
      taken_ = static_cast<std::size_t>(in.at - in.begin);
      return outcome;
    }
  }
  taken_ = bytes.size();
  return parse_outcome::more;
}

template <class Handler>
parse_outcome client_parser::step(input& in, Handler& handler) {
  using enum operation_state;
  const auto blank_then = [&](operation_state blank) {
    if (!is_blank(*in.at)) return unknown_operation(in);
    ++in.at;
    state_ = blank;
    return parse_outcome::more;
  };
  const auto argument_after_blanks = [&](operation_state argument) {
    if (is_blank(*in.at)) {
      ++in.at;
    } else {
      argument_.clear();
      state_ = argument;
    }
    return parse_outcome::more;
  };
  switch (state_) {
    case hmsg:
      return blank_then(hmsg_blank);
    case msg:
      return blank_then(msg_blank);
    case info:
      return argument_after_blanks(info_argument);
    case minus_err:
      return argument_after_blanks(minus_err_argument);
    case hmsg_blank:
      return argument_after_blanks(hmsg_argument);
    case msg_blank:
      return argument_after_blanks(msg_argument);
    case info_argument:
    case minus_err_argument:
    case hmsg_argument:
    case msg_argument:
      return argument_step(in, handler);
    case body:
    case body_end_cr:
    case body_end_lf:
      return body_step(in, handler);
    case ping:
      if (!skip_line(in)) return parse_outcome::more;
      state_ = start;
      return to_outcome(handler.on_ping());
    case pong:
      if (!skip_line(in)) return parse_outcome::more;
      state_ = start;
      return to_outcome(handler.on_pong());
    case plus_ok:
      if (!skip_line(in)) return parse_outcome::more;
      state_ = start;
      return to_outcome(handler.on_ok());
    default: {
      const operation_state next = after_letter(state_, *in.at);
      // What only clients send.
      if (next == state_ || next == after_s || next == after_u || next == after_c || next == after_pu ||
          next == after_hp)
        return unknown_operation(in);
      state_ = next;
      ++in.at;
      return parse_outcome::more;
    }
  }
}

template <class Handler>
parse_outcome client_parser::argument_step(input& in, Handler& handler) {
  using enum operation_state;
  std::string_view line;
  bool too_long = false;
  const bool whole = collect_line(in, line, too_long);
  if (too_long) return stop(in, parse_outcome::control_line_too_long);
  if (!whole) return parse_outcome::more;
  if (state_ == hmsg_argument || state_ == msg_argument) return message(in, line, state_ == hmsg_argument, handler);
  const bool is_info = state_ == info_argument;
  const parse_outcome outcome = to_outcome(is_info ? handler.on_info(line) : handler.on_error(without_quotes(line)));
  argument_.clear();
  if (outcome == parse_outcome::more || outcome == parse_outcome::paused) state_ = start;
  return outcome;
}

template <class Handler>
parse_outcome client_parser::message(input& in, std::string_view line, bool with_header, Handler& handler) {
  message_frame frame;
  if (!read_message_line(line, with_header, frame)) [[unlikely]] {
    return bad_argument(in, with_header ? "malformed HMSG" : "malformed MSG", line);
  }
  const std::size_t size = frame.total_size;
  if (in.left() < size + 2) [[unlikely]] {
    begin_body(frame, line);
    return parse_outcome::more;
  }
  if (in.at[size] != '\r' || in.at[size + 1] != '\n') [[unlikely]] {
    const bool has_cr = in.at[size] == '\r';
    state_ = has_cr ? operation_state::body_end_lf : operation_state::body_end_cr;
    in.at += size + (has_cr ? 1 : 0);
    return unknown_operation(in);
  }
  frame.body = {in.at, size};
  in.at += size + 2;
  const parse_outcome outcome = to_outcome(handler.on_message(frame));
  if (!argument_.empty()) argument_.clear();
  state_ = operation_state::start;
  return outcome;
}

template <class Handler>
parse_outcome client_parser::body_step(input& in, Handler& handler) {
  bool wrong = false;
  if (!collect_body(in, wrong)) return wrong ? unknown_operation(in) : parse_outcome::more;
  const parse_outcome outcome = to_outcome(handler.on_message(body_frame()));
  end_body();
  return outcome;
}

}  // namespace tern::protocol
