// What a server reads from a client (core 2): incremental, total, and without copies where a whole operation stands in
// the piece of input.
//
//     parse_outcome outcome = parser.consume(bytes, connection);
//
// The handler is any class with these members, called in the order of the operations; each returns a verdict:
//
//     verdict on_connect(std::string_view json);
//     verdict on_publish_start(const message_head& head);   // the control line is read, the payload is not: limits,
//                                                           // HPUB without negotiated headers, pedantic check
//     verdict on_publish(const message_frame& message);
//     verdict on_subscribe(std::string_view subject, std::string_view queue, std::string_view sid);
//     verdict on_unsubscribe(std::string_view sid, std::uint64_t max);   // 0: at once (also for a max that is no
//     number) verdict on_ping();  verdict on_pong();  verdict on_ok(); verdict on_error(std::string_view text); // a
//     client's -ERR closes with Parse Error verdict on_info(std::string_view json); bool on_gated_operation(char
//     first);                  // see close_gate(); false ends with `stopped`
//
// One connection owns a parser; same thread. After an outcome other than `more` and `paused` the parser is spent.
// Invariants: between two calls the state is that of the bytes so far, however they were cut; the argument buffer holds
// at most two bytes more than max_control_line, the body buffer at most what on_publish_start accepted.
#pragma once

#include "protocol/parser_core.hpp"

namespace tern::protocol {

inline constexpr std::size_t max_control_line_default = 4096;

class server_parser : public parser_core {
 public:
  explicit server_parser(std::size_t max_control_line = max_control_line_default) : parser_core(max_control_line) {}

  template <class Handler>
  parse_outcome consume(std::string_view bytes, Handler& handler);

  // While the gate is closed, each operation that does not begin with C or c is first shown to the handler (core 1.3:
  // authentication is required and CONNECT has not come). New parsers have it open.
  void close_gate() { gate_closed_ = true; }
  void open_gate() { gate_closed_ = false; }
  bool gate_closed() const { return gate_closed_; }

  // While on_subscribe or on_unsubscribe runs: the arguments as they were sent.
  std::string_view line() const { return line_; }

  void set_max_control_line(std::size_t bytes) { line_max_ = bytes; }

 private:
  template <class Handler>
  parse_outcome whole_operation(input& in, Handler& handler);
  template <class Handler>
  parse_outcome step(input& in, Handler& handler);
  template <class Handler>
  parse_outcome argument_step(input& in, Handler& handler);
  template <class Handler>
  parse_outcome body_step(input& in, Handler& handler);
  template <class Handler>
  parse_outcome publish(input& in, std::string_view line, bool with_header, Handler& handler);
  template <class Handler>
  parse_outcome subscribe(input& in, std::string_view line, Handler& handler);
  template <class Handler>
  parse_outcome unsubscribe(input& in, std::string_view line, Handler& handler);

  // False when the arguments are wrong, for which publish_fault() has the words.
  static bool read_publish_line(std::string_view line, bool with_header, message_head& head) {
    const char* at = line.data();
    const char* const end = at + line.size();
    head.line = line;
    head.subject = next_publish_argument(at, end);
    std::string_view first = next_publish_argument(at, end);
    std::string_view second = next_publish_argument(at, end);
    head.with_header = with_header;
    if (!with_header) {
      if (second.empty()) return parse_size(first, head.total_size) && at == end;
      head.reply = first;
      return parse_size(second, head.total_size) && next_publish_argument(at, end).empty() && at == end;
    }
    if (const std::string_view third = next_publish_argument(at, end); !third.empty()) {
      head.reply = first;
      first = second;
      second = third;
    }
    return parse_size(first, head.header_size) && parse_size(second, head.total_size) &&
           head.header_size <= head.total_size && next_publish_argument(at, end).empty() && at == end;
  }
  parse_outcome publish_fault(const input& in, std::string_view line, bool with_header);

  bool gate_closed_ = false;
  std::string_view line_;
};

template <class Handler>
parse_outcome server_parser::consume(std::string_view bytes, Handler& handler) {
  input in{bytes.data(), bytes.data(), bytes.data() + bytes.size()};
  while (in.at != in.end) {
    parse_outcome outcome;
    if (state_ == operation_state::start) [[likely]] {
      if (gate_closed_ && (*in.at | 0x20) != 'c' && !handler.on_gated_operation(*in.at)) {
        return stop(in, parse_outcome::stopped);
      }
      outcome = whole_operation(in, handler);
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

// The common operations in their common spelling, when the line is whole; anything else goes byte by byte.
template <class Handler>
parse_outcome server_parser::whole_operation(input& in, Handler& handler) {
  std::string_view line;
  if (begins(in, "PUB ")) [[likely]] {
    if (whole_line(in, 4, line)) return publish(in, line, false, handler);
  } else if (begins(in, "HPUB ")) {
    if (whole_line(in, 5, line)) return publish(in, line, true, handler);
  } else if (begins(in, "SUB ")) {
    if (whole_line(in, 4, line)) return subscribe(in, line, handler);
  } else if (begins(in, "PING\r\n")) {
    in.at += 6;
    return to_outcome(handler.on_ping());
  }
  return step(in, handler);
}

// Takes at least one byte, or moves from a blank to an argument.
template <class Handler>
parse_outcome server_parser::step(input& in, Handler& handler) {
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
    case minus_err:
      return blank_then(minus_err_blank);
    case hpub:
      return blank_then(hpub_blank);
    case pub:
      return blank_then(pub_blank);
    case sub:
      return blank_then(sub_blank);
    case unsub:
      return blank_then(unsub_blank);
    // These two need no blank before the argument.
    case connect:
      return argument_after_blanks(connect_argument);
    case info:
      return argument_after_blanks(info_argument);
    case minus_err_blank:
      return argument_after_blanks(minus_err_argument);
    case hpub_blank:
      return argument_after_blanks(hpub_argument);
    case pub_blank:
      return argument_after_blanks(pub_argument);
    case sub_blank:
      return argument_after_blanks(sub_argument);
    case unsub_blank:
      return argument_after_blanks(unsub_argument);
    case connect_argument:
    case info_argument:
    case minus_err_argument:
    case hpub_argument:
    case pub_argument:
    case sub_argument:
    case unsub_argument:
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
      if (next == state_ || next == after_m || next == after_hm) return unknown_operation(in);
      state_ = next;
      ++in.at;
      return parse_outcome::more;
    }
  }
}

template <class Handler>
parse_outcome server_parser::argument_step(input& in, Handler& handler) {
  using enum operation_state;
  std::string_view line;
  bool too_long = false;
  const bool whole = collect_line(in, line, too_long);
  if (too_long) return stop(in, parse_outcome::control_line_too_long);
  if (!whole) return parse_outcome::more;
  parse_outcome outcome;
  switch (state_) {
    case hpub_argument:
      return publish(in, line, true, handler);
    case pub_argument:
      return publish(in, line, false, handler);
    case sub_argument:
      outcome = subscribe(in, line, handler);
      break;
    case unsub_argument:
      outcome = unsubscribe(in, line, handler);
      break;
    case info_argument:
      outcome = to_outcome(handler.on_info(line));
      break;
    case minus_err_argument:
      outcome = to_outcome(handler.on_error(line));
      break;
    default:
      outcome = to_outcome(handler.on_connect(line));
      break;
  }
  argument_.clear();
  if (outcome == parse_outcome::more || outcome == parse_outcome::paused) state_ = start;
  return outcome;
}

template <class Handler>
parse_outcome server_parser::publish(input& in, std::string_view line, bool with_header, Handler& handler) {
  message_frame frame;
  if (!read_publish_line(line, with_header, frame)) [[unlikely]] {
    return publish_fault(in, line, with_header);
  }
  if (const verdict said = handler.on_publish_start(frame); said != verdict::go_on) [[unlikely]] {
    return to_outcome(said);
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
  const parse_outcome outcome = to_outcome(handler.on_publish(frame));
  if (!argument_.empty()) argument_.clear();
  state_ = operation_state::start;
  return outcome;
}

template <class Handler>
parse_outcome server_parser::body_step(input& in, Handler& handler) {
  bool wrong = false;
  if (!collect_body(in, wrong)) return wrong ? unknown_operation(in) : parse_outcome::more;
  const parse_outcome outcome = to_outcome(handler.on_publish(body_frame()));
  end_body();
  return outcome;
}

template <class Handler>
parse_outcome server_parser::subscribe(input& in, std::string_view line, Handler& handler) {
  const arguments found(line);
  line_ = line;
  if (found.count == 2) return to_outcome(handler.on_subscribe(found.values[0], std::string_view(), found.values[1]));
  if (found.count == 3) return to_outcome(handler.on_subscribe(found.values[0], found.values[1], found.values[2]));
  return bad_argument(in, "processSub Parse Error", line);
}

template <class Handler>
parse_outcome server_parser::unsubscribe(input& in, std::string_view line, Handler& handler) {
  const arguments found(line);
  if (found.count != 1 && found.count != 2) return bad_argument(in, "processUnsub Parse Error", line);
  line_ = line;
  std::size_t max = 0;
  if (found.count == 2 && !parse_size(found.values[1], max)) max = 0;
  return to_outcome(handler.on_unsubscribe(found.values[0], max));
}

}  // namespace tern::protocol
