#include <tern/client/headers.hpp>

#include <algorithm>

#include "protocol/headers.hpp"

namespace tern::client {

headers& headers::add(std::string_view name, std::string_view value) {
  entries_.emplace_back(name, value);
  return *this;
}

headers& headers::set(std::string_view name, std::string_view value) {
  // The first one keeps its place in the order.
  const auto first = std::ranges::find(entries_, name, &entry::first);
  if (first == entries_.end()) return add(name, value);
  first->second = value;
  entries_.erase(std::remove_if(first + 1, entries_.end(), [&](const entry& one) { return one.first == name; }),
                 entries_.end());
  return *this;
}

headers& headers::erase(std::string_view name) {
  std::erase_if(entries_, [&](const entry& one) { return one.first == name; });
  return *this;
}

std::optional<std::string_view> headers::get(std::string_view name) const {
  const auto found = std::ranges::find(entries_, name, &entry::first);
  if (found == entries_.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string_view> headers::get_all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : entries_) {
    if (key == name) values.push_back(value);
  }
  return values;
}

result<void> headers::validate() const {
  for (const auto& [name, value] : entries_) {
    if (!protocol::is_valid_header_key(name)) {
      return fail(errc::invalid_header, "header name '" + name + "' has characters that are not allowed");
    }
    if (!protocol::is_valid_header_value(value)) {
      return fail(errc::invalid_header, "the value of header '" + name + "' has a line break");
    }
  }
  return {};
}

}  // namespace tern::client
