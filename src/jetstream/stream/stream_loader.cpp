#include "jetstream/stream/stream_loader.hpp"

#include "jetstream/consumer/consumer_checks.hpp"
#include "jetstream/consumer/consumer_set_state.hpp"

#include <algorithm>
#include <utility>

namespace tern::jetstream {

result<std::unique_ptr<stream_loader>> stream_loader::begin(const target& into, stored_stream what,
                                                            storage::sequence first) {
  what.loading = true;
  const std::string name = what.config.name;
  auto record = into.store->create_stream(into.account, name, codec::to_json(what), into.level,
                                          std::max<storage::sequence>(first, 1));
  if (!record) return std::unexpected(std::move(record.error()));
  return std::unique_ptr<stream_loader>(new stream_loader(into, std::move(what), **record));
}

stream_loader::stream_loader(const target& into, stored_stream what, storage::stream_record& record)
    : into_(into), what_(std::move(what)), record_(&record) {
  record.set_owner(this);
  last_ = record.log().state().last;
}

stream_loader::~stream_loader() {
  record_->set_owner(nullptr);
  if (!finished_) into_.store->remove_stream(*record_);
}

result<void> stream_loader::append(const storage::new_message& what) {
  if (failure_) return std::unexpected(*failure_);
  if (what.number <= last_)
    return fail(errc::corrupted, "message sequence " + std::to_string(what.number) + " out of order");
  last_ = what.number;
  bytes_ += what_.config.storage == storage_type::memory
                ? storage::memory_record_bytes(what.subject.size(), what.headers.size(), what.payload.size())
                : storage::file_record_bytes(what.subject.size(), what.headers.size(), what.payload.size());
  record_->log().append(what);
  return {};
}

void stream_loader::remove(const std::vector<std::uint64_t>& numbers) {
  for (const std::uint64_t number : numbers) record_->log().remove(number);
}

void stream_loader::add_consumer(const archived_consumer& what, time_point created) {
  stored_consumer stored{what.name, created, what.config};
  stored.config.name = what.name;
  stamp_consumer_metadata(stored.config);
  auto& record = record_->create_consumer(what.name, codec::to_json(stored), what.config.mem_storage);
  delta_writer state;
  state.whole(from_peer_state(what.state, what.config));
  record.append_delta(state.bytes());
}

void stream_loader::finish(storage::sequence last, time_point last_time) {
  if (last > last_) record_->log().skip_to(last, last_time);
  what_.loading = false;
  record_->set_metadata(codec::to_json(what_));
  finished_ = true;
}

}  // namespace tern::jetstream
