/// Where a message type lives: its subject, said once beside the type.
///
///     struct captured { std::uint64_t payment; std::uint64_t amount_cents; };
///     template <> struct tern::service::message_traits<captured> {
///       static constexpr tern::service::subject_pattern subject{"payments.captured"};
///     };
///
/// Three forms: fixed; a template with named tokens (`orders.{tenant}.placed`, values given when publishing); none,
/// then whoever publishes or replies names the subject. Source: service specification section 1.
#pragma once

#include <tern/base/error.hpp>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace tern::service {

class subject_pattern {
 public:
  consteval explicit subject_pattern(std::string_view text) : text_(text) {}
  constexpr std::string_view text() const { return text_; }
  constexpr bool is_template() const { return text_.find('{') != std::string_view::npos; }
  /// The subject with each `{name}` replaced. Each value is exactly one token, else errc::invalid_subject.
  result<std::string> fill(std::initializer_list<std::pair<std::string_view, std::string_view>> values) const;

 private:
  std::string_view text_;
};

template <class T>
struct message_traits {};

template <class T>
concept has_subject = requires {
  { message_traits<T>::subject.text() } -> std::convertible_to<std::string_view>;
};
template <class T>
concept has_fixed_subject = has_subject<T> && !message_traits<T>::subject.is_template();

}  // namespace tern::service
