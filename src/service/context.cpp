#include <tern/service/context.hpp>

#include "base/numbers.hpp"

namespace tern::service {

std::optional<std::string_view> context::header(std::string_view name) const {
  if (headers_) return headers_->get(name);
  return message_.header(name);
}

client::headers& context::headers() {
  if (!headers_) headers_ = message_.headers();
  return *headers_;
}

std::uint64_t context::attempt() const {
  if (metadata_) return metadata_->delivered;
  const auto copies = message_.header("Tern-Retry-Count");
  if (!copies) return 1;
  const auto count = parse_decimal(*copies);
  return count ? *count + 1 : 1;
}

}  // namespace tern::service
