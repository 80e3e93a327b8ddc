#include "jetstream/account_streams.hpp"

#include "jetstream/stream/stream.hpp"
#include "jetstream/stream/stream_transfers.hpp"

#include <algorithm>

namespace tern::jetstream {
namespace {

using protocol::jetstream_errc;

std::uint64_t reserved_by(const stream_config& config) {
  return config.max_bytes > 0 ? static_cast<std::uint64_t>(config.max_bytes) : 0;
}

bool exceeds(std::uint64_t use, std::int64_t limit) { return limit >= 0 && use > static_cast<std::uint64_t>(limit); }

}  // namespace

account_streams::account_streams(routing::account& account, environment& surroundings, const account_limits& given,
                                 byte_usage& server)
    : limits(given), account_(account), surroundings_(surroundings), server_(server) {}

account_streams::~account_streams() {
  transfers.reset();
  streams.clear();
  server_.memory -= used_.memory + staged_.memory;
  server_.storage -= used_.storage + staged_.storage;
}

stream* account_streams::find(std::string_view name) const {
  const auto found = streams.find(name);
  return found == streams.end() ? nullptr : found->second.get();
}

void account_streams::list(stream& what) {
  for (const std::string& subject : what.config().subjects) by_subject_.insert(subject, &what);
  reserved_.of(what.config().storage) += reserved_by(what.config());
}

void account_streams::unlist(stream& what) {
  for (const std::string& subject : what.config().subjects) by_subject_.remove(subject, &what);
  reserved_.of(what.config().storage) -= reserved_by(what.config());
}

bool account_streams::overlaps(const std::vector<std::string>& subjects, std::string_view except) const {
  bool found = false;
  for (const std::string& subject : subjects) {
    if (!found) by_subject_.for_each_overlap(subject, [&](const stream* one) { found = found || one->name() != except; });
  }
  return found;
}

std::vector<const stream*> account_streams::matching(std::string_view subject_filter) const {
  std::vector<const stream*> found;
  if (subject_filter.empty()) {
    for (const auto& [name, one] : streams) found.push_back(one.get());
    return found;
  }
  by_subject_.for_each_overlap(subject_filter, [&](const stream* one) { found.push_back(one); });
  const auto by_name = [](const stream* one) -> const std::string& { return one->name(); };
  std::ranges::sort(found, {}, by_name);
  const auto twice = std::ranges::unique(found);
  found.erase(twice.begin(), twice.end());
  return found;
}

std::optional<protocol::api_error> account_streams::check_reservation(const stream_config& config,
                                                                      const stream_config* before) const {
  const bool in_memory = config.storage == storage_type::memory;
  const std::int64_t stream_cap = in_memory ? limits.memory_max_stream_bytes : limits.storage_max_stream_bytes;
  if (limits.max_bytes_required && config.max_bytes <= 0)
    return protocol::make_api_error(jetstream_errc::stream_max_bytes_required);
  if (stream_cap > 0 && config.max_bytes > stream_cap)
    return protocol::make_api_error(jetstream_errc::stream_max_stream_bytes_exceeded);
  const std::uint64_t wanted = reserved_by(config);
  const std::uint64_t held = before == nullptr ? 0 : reserved_by(*before);
  if (wanted <= held) return {};
  const std::uint64_t sum = reserved(config.storage) - held + wanted;
  if (exceeds(sum, account_limit(config.storage)) || exceeds(sum, server_limit(config.storage)))
    return protocol::make_api_error(in_memory ? jetstream_errc::memory_resources_exceeded
                                              : jetstream_errc::storage_resources_exceeded);
  return {};
}

bool account_streams::at_stream_limit() const {
  return limits.max_streams >= 0 && streams.size() >= static_cast<std::size_t>(limits.max_streams);
}

void account_streams::add_used(storage_type kind, std::int64_t change) {
  used_.of(kind) += static_cast<std::uint64_t>(change);
  server_.of(kind) += static_cast<std::uint64_t>(change);
}

void account_streams::add_staged(storage_type kind, std::int64_t change) {
  staged_.of(kind) += static_cast<std::uint64_t>(change);
  server_.of(kind) += static_cast<std::uint64_t>(change);
}

bool account_streams::server_is_full(storage_type kind) const { return exceeds(server_.of(kind), server_limit(kind)); }

bool account_streams::account_is_full(storage_type kind, std::uint64_t record_bytes) const {
  return exceeds(used_.of(kind) + staged_.of(kind) + record_bytes, account_limit(kind));
}

std::int64_t account_streams::account_limit(storage_type kind) const {
  return kind == storage_type::memory ? limits.max_memory : limits.max_storage;
}

std::int64_t account_streams::server_limit(storage_type kind) const {
  const auto& server_limits = surroundings_.settings.server_limits;
  return kind == storage_type::memory ? server_limits.max_memory : server_limits.max_storage;
}

}  // namespace tern::jetstream
