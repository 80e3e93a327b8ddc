#include "protocol/parser_core.hpp"

#include "protocol/writer.hpp"

namespace tern::protocol {

std::string parse_fault::log_line(std::string_view kind) const {
  if (!argument.empty()) return argument;
  std::string line(kind);
  line.append(" parser ERROR, state=").append(std::to_string(state)).append(", i=").append(std::to_string(at));
  line.append(": proto='").append(quoted(snippet)).append("...'");
  return line;
}

bool parser_core::collect_line(input& in, std::string_view& line, bool& too_long) {
  const auto* newline = static_cast<const char*>(std::memchr(in.at, '\n', in.left()));
  const char* const stop = newline == nullptr ? in.end : newline;
  const std::string_view piece(in.at, static_cast<std::size_t>(stop - in.at));
  in.at = newline == nullptr ? in.end : newline + 1;
  if (newline != nullptr && argument_.empty()) {
    line = without_cr(piece);
    too_long = exceeds_limit(piece);
    return true;
  }
  // One byte more than the limit may be a CR; what is beyond it needs no room.
  const std::size_t room = line_max_ + 2 - std::min(argument_.size(), line_max_ + 2);
  argument_.append(piece.substr(0, room));
  too_long = exceeds_limit(argument_);
  if (newline == nullptr) return false;
  line = without_cr(argument_);
  return true;
}

void parser_core::begin_body(const message_head& head, std::string_view line) {
  head_ = head;
  if (line.data() != argument_.data()) {
    const auto rebase = [&](std::string_view& view) {
      if (!view.empty()) view = {argument_.data() + (view.data() - line.data()), view.size()};
    };
    argument_.assign(line);
    head_.line = argument_;
    rebase(head_.subject);
    rebase(head_.sid);
    rebase(head_.reply);
  }
  body_.clear();
  body_.reserve(std::min(head_.total_size + 2, body_reserve_max));
  state_ = operation_state::body;
}

bool parser_core::collect_body(input& in, bool& wrong) {
  const std::size_t whole = head_.total_size + 2;
  const std::size_t take = std::min(in.left(), whole - body_.size());
  if (body_.size() + take > body_.capacity()) body_.reserve(std::min(whole, 2 * (body_.size() + take)));
  const std::size_t before = body_.size();
  body_.append(in.at, take);
  state_ = operation_state::body;
  if (body_.size() >= head_.total_size) state_ = operation_state::body_end_cr;
  if (body_.size() > head_.total_size) {
    wrong = body_[head_.total_size] != '\r';
    if (!wrong) {
      state_ = operation_state::body_end_lf;
      wrong = body_.size() == whole && body_[head_.total_size + 1] != '\n';
    }
    if (wrong) {
      const std::size_t bad = head_.total_size + (state_ == operation_state::body_end_lf ? 1 : 0);
      in.at += bad - before;
      return false;
    }
  }
  in.at += take;
  return body_.size() == whole;
}

void parser_core::end_body() {
  if (body_.capacity() > body_retained_max) {
    std::string().swap(body_);
  } else {
    body_.clear();
  }
  argument_.clear();
  state_ = operation_state::start;
}

parse_outcome parser_core::unknown_operation(const input& in) {
  fault_ = {};
  fault_.state = static_cast<int>(state_);
  fault_.at = static_cast<std::size_t>(in.at - in.begin);
  // The peer shows up to 32 bytes, never the last one of the input.
  const std::size_t shown = in.left() == 0 ? 0 : std::min(in.left() - 1, snippet_max);
  fault_.snippet.assign(in.at, shown);
  return stop(in, parse_outcome::unknown_operation);
}

parse_outcome parser_core::bad_argument(const input& in, std::string_view reason, std::string_view line) {
  fault_ = {};
  fault_.state = static_cast<int>(state_);
  fault_.at = static_cast<std::size_t>(in.at - in.begin);
  fault_.argument.assign(reason).append(": ").append(quoted(line));
  return stop(in, parse_outcome::bad_argument);
}

}  // namespace tern::protocol
