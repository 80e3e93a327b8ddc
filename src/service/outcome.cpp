#include <tern/service/message_traits.hpp>
#include <tern/service/outcome.hpp>

namespace tern::service {

std::string_view to_word(outcome_kind kind) {
  switch (kind) {
    case outcome_kind::ack:
      return "ack";
    case outcome_kind::retry:
      return "retry";
    case outcome_kind::retry_after:
      return "retry_after";
    case outcome_kind::drop:
      return "drop";
    case outcome_kind::none:
      return "none";
  }
  return "unknown";
}

result<std::string> subject_pattern::fill(
    std::initializer_list<std::pair<std::string_view, std::string_view>> values) const {
  std::string filled;
  std::string_view rest = text_;
  while (!rest.empty()) {
    const std::size_t open = rest.find('{');
    filled += rest.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = rest.find('}', open);
    if (close == std::string_view::npos)
      return fail(errc::invalid_subject, "template " + std::string(text_) + " has an open brace");
    const std::string_view token = rest.substr(open + 1, close - open - 1);
    const auto given =
        std::find_if(values.begin(), values.end(), [&](const auto& each) { return each.first == token; });
    if (given == values.end())
      return fail(errc::invalid_subject, "template " + std::string(text_) + ": no value for " + std::string(token));
    if (given->second.empty() || given->second.find_first_of(". \t\r\n*>") != std::string_view::npos) {
      return fail(errc::invalid_subject, "template " + std::string(text_) + ": the value of " + std::string(token) +
                                             " is not one token: " + std::string(given->second));
    }
    filled += given->second;
    rest.remove_prefix(close + 1);
  }
  return filled;
}

}  // namespace tern::service
