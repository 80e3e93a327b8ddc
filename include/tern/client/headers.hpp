/// Message headers: an ordered multi-map of names and values as they stand on the wire, case kept.
///
///     headers with;
///     with.add("Nats-Msg-Id", "order-17").add("X-Tenant", "acme");
///     auto sent = connection.publish("orders.placed", body, with);
///
/// Names are compared exactly (the server does so too). add() and set() take anything; whoever publishes checks, so a
/// bad header is errc::invalid_header before a byte is written: names are token characters (RFC 9110) without a colon,
/// values have no CR or LF. Thread safety: a plain value. Source: core 2.3, service 11.4.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tern/base/error.hpp>

namespace tern::client {

class headers {
 public:
  using entry = std::pair<std::string, std::string>;

  headers() = default;

  headers& add(std::string_view name, std::string_view value);  ///< Behind what is there, repeats allowed.
  headers& set(std::string_view name, std::string_view value);  ///< Replaces every value of that name.
  headers& erase(std::string_view name);

  /// The first value of that name. The view lives until the next change.
  std::optional<std::string_view> get(std::string_view name) const;
  std::vector<std::string_view> get_all(std::string_view name) const;
  bool contains(std::string_view name) const { return get(name).has_value(); }

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

  /// errc::invalid_header naming the first entry that cannot be sent.
  result<void> validate() const;

  friend bool operator==(const headers&, const headers&) = default;

 private:
  std::vector<entry> entries_;
};

}  // namespace tern::client
