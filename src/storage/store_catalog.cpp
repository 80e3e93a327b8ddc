// Streams and consumers: making, finding, changing and removing them. Every change is a record in the journal.
#include "storage/segment/name_encoding.hpp"
#include "storage/state_file.hpp"
#include "storage/store_impl.hpp"

#include <algorithm>

namespace tern::storage {

std::string_view to_word(durability level) {
  switch (level) {
    case durability::synced:
      return "synced";
    case durability::written:
      return "written";
    case durability::memory:
      return "memory";
  }
  return "unknown";
}

// --- consumers ---

void consumer_entry::set_metadata(std::string bytes) {
  configuration = std::move(bytes);
  ++revision;
  if (memory) return;
  dirty = of.dirty = true;
  std::string body;
  append_varint(body, id);
  append_text(body, configuration);
  store.append_control(record_kind::consumer_update, of.id, revision, body, of.how_durable == durability::synced);
}

void consumer_entry::append_delta(std::string_view bytes) {
  if (memory) {
    if (!snapshot_source && known.deltas.empty()) known.deltas.emplace_back(bytes);  // of a restore, for resume()
    return;
  }
  dirty = of.dirty = true;
  auto& batch = store.control_batch(of.how_durable == durability::synced);
  if (needs_snapshot) {  // after a failed commit: one snapshot will say it all
    ++deltas;
    if (!snapshot_source) known.deltas.emplace_back(bytes);
    return;
  }
  record_header header;
  header.kind = record_kind::consumer_delta;
  header.epoch = batch.epoch;
  header.batch = batch.number;
  header.stream = of.id;
  header.sequence = ++deltas;
  // Joined in place: deltas are as frequent as messages.
  const std::size_t start = batch.bytes.size();
  char prefix[record_header_size + 4];
  put(prefix + record_header_size, id);
  batch.bytes.append(prefix, sizeof prefix).append(bytes);
  header.body_length = static_cast<std::uint32_t>(4 + bytes.size());
  header.body_hash = hash64(std::string_view(batch.bytes).substr(start + record_header_size));
  write_header(batch.bytes.data() + start, header);
  if (!snapshot_source) known.deltas.emplace_back(bytes);
}

void consumer_entry::set_snapshot_source(std::function<std::string()> source) {
  snapshot_source = std::move(source);
  if (snapshot_source) known = {};
}

void consumer_entry::append_snapshot() {
  needs_snapshot = false;
  std::string body;
  append_number(body, id);
  append_text(body, snapshot_source ? snapshot_source() : known.snapshot);
  append_varint(body, snapshot_source ? 0 : known.deltas.size());
  if (!snapshot_source) {
    for (const auto& each : known.deltas) append_text(body, each);
  }
  store.append_control(record_kind::consumer_snapshot, of.id, deltas, body, of.how_durable == durability::synced);
}

std::string consumer_entry::encode(bool fresh) const {
  std::string out;
  append_number(out, format_version);
  append_varint(out, id);
  append_text(out, title);
  append_varint(out, revision);
  append_text(out, configuration);
  append_varint(out, fresh ? 0 : deltas);
  append_text(out, fresh ? std::string() : snapshot_source ? snapshot_source() : known.snapshot);
  const std::size_t count = fresh || snapshot_source ? 0 : known.deltas.size();
  append_varint(out, count);
  for (std::size_t at = 0; at < count; ++at) append_text(out, known.deltas[at]);
  return out;
}

// --- streams ---

stream_entry::stream_entry(store_impl& owner, std::uint32_t number, std::string account, std::string name,
                           durability level, sequence first)
    : store(owner),
      id(number),
      account_name(std::move(account)),
      stream_name(std::move(name)),
      how_durable(level),
      first_sequence(first) {
  directory = owner.stream_directory(account_name, stream_name, id);
  messages = std::make_unique<segmented_log>(owner.core(), id, "stream " + stream_name, in_memory(), first);
  messages->set_sync(level == durability::synced);
}

std::string stream_entry::encode(bool fresh) const {
  std::string out;
  append_number(out, format_version);
  append_varint(out, id);
  append_text(out, account_name);
  append_text(out, stream_name);
  out.push_back(static_cast<char>(how_durable));
  append_varint(out, first_sequence);
  append_varint(out, revision);
  append_text(out, configuration);
  append_text(out, fresh ? segmented_log::encode_new_state(first_sequence) : messages->encode_state());
  return out;
}

void stream_entry::set_metadata(std::string bytes) {
  configuration = std::move(bytes);
  ++revision;
  if (in_memory()) return;
  dirty = true;
  std::string body;
  body.push_back(static_cast<char>(how_durable));
  append_text(body, configuration);
  store.append_control(record_kind::stream_update, id, revision, body, true);
}

void stream_entry::set_level(durability level) {
  if (level == how_durable || level == durability::memory || in_memory()) return;
  how_durable = level;
  messages->set_sync(level == durability::synced);
  set_metadata(configuration);
}

consumer_record& stream_entry::create_consumer(const std::string& name, std::string metadata, bool memory) {
  if (const auto found = consumers.find(name); found != consumers.end()) {
    found->second->set_metadata(std::move(metadata));
    return *found->second;
  }
  auto made = std::make_unique<consumer_entry>(store, *this, store.new_consumer_id(), name, memory || in_memory());
  auto& consumer = *made;
  consumer.configuration = std::move(metadata);
  consumers.emplace(name, std::move(made));
  if (!consumer.memory) {
    dirty = true;
    std::string body;
    append_varint(body, consumer.id);
    append_text(body, name);
    append_text(body, consumer.configuration);
    store.append_control(record_kind::consumer_create, id, consumer.revision, body, how_durable == durability::synced);
    store.created(id);
  }
  return consumer;
}

consumer_record* stream_entry::find_consumer(const std::string& name) {
  const auto found = consumers.find(name);
  return found == consumers.end() ? nullptr : found->second.get();
}

std::vector<std::string> stream_entry::consumer_names() const {
  std::vector<std::string> names;
  for (const auto& [name, each] : consumers) names.push_back(name);
  return names;
}

void stream_entry::remove_consumer(const std::string& name) {
  const auto found = consumers.find(name);
  if (found == consumers.end()) return;
  if (!found->second->memory) {
    dirty = true;
    std::string body;
    append_varint(body, found->second->id);
    store.append_control(record_kind::consumer_delete, id, 0, body, how_durable == durability::synced);
    store.consumer_removed(*this, found->second->id);
  }
  consumers.erase(found);
}

// --- the store ---

std::string store_impl::stream_directory(const std::string& account, const std::string& name, std::uint32_t id) const {
  return path("streams/" + encode_name(account) + "/" + encode_name(name) + "/" + std::to_string(id));
}

commit_batch& store_impl::control_batch(bool wants_sync) {
  auto& batch = core_.batch(false);
  batch.wants_sync |= wants_sync;
  return batch;
}

void store_impl::append_control(record_kind kind, std::uint32_t stream, std::uint64_t number, std::string_view body,
                                bool wants_sync) {
  auto& batch = control_batch(wants_sync);
  record_header header;
  header.kind = kind;
  header.epoch = batch.epoch;
  header.batch = batch.number;
  header.stream = stream;
  header.sequence = number;
  append_record(batch.bytes, header, body);
}

void store_impl::created(std::uint32_t stream) { core_.batch(false).created.push_back(stream); }

stream_entry* store_impl::find_entry(std::uint32_t id) {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

result<stream_record*> store_impl::create_stream(const std::string& account, const std::string& name,
                                                 std::string metadata, durability level, sequence first_sequence) {
  if (closed_) return fail(errc::closed, "the store is closed");
  if (by_name_.contains({account, name})) return fail(errc::already_exists, "stream " + name + " exists");
  for (const auto& each : offline_) {
    if (each.account == account && each.name == name) {
      return fail(errc::already_exists, "stream " + name + " is offline: " + each.reason);
    }
  }
  if (level != durability::memory && core_.disk == nullptr) {
    return fail(errc::unsupported, "stream " + name + ": this store has no disk", "use memory storage");
  }
  auto made = std::make_unique<stream_entry>(*this, next_stream_++, account, name, level, first_sequence);
  auto& entry = *made;
  entry.configuration = std::move(metadata);
  by_name_[{account, name}] = &entry;
  by_id_[entry.id] = &entry;
  entries_.push_back(std::move(made));
  if (level != durability::memory) {
    std::string body;
    append_text(body, account);
    append_text(body, name);
    body.push_back(static_cast<char>(level));
    append_varint(body, first_sequence);
    append_text(body, entry.configuration);
    append_control(record_kind::stream_create, entry.id, entry.revision, body, true);
    created(entry.id);
  }
  return &entry;
}

stream_record* store_impl::find_stream(const std::string& account, const std::string& name) {
  const auto found = by_name_.find({account, name});
  return found == by_name_.end() ? nullptr : found->second;
}

std::vector<stream_record*> store_impl::streams() {
  std::vector<stream_record*> out;
  for (const auto& [name, each] : by_name_) out.push_back(each);
  return out;
}

void store_impl::consumer_removed(stream_entry& of, std::uint32_t consumer) {
  gone_consumers_.emplace_back(of.id, of.consumer_base(consumer));
}

void store_impl::remove_stream(stream_record& what) {
  auto& entry = static_cast<stream_entry&>(what);
  // Nothing that is staged for it may be told to it any more.
  const auto forget = [log = entry.messages.get()](commit_batch& batch) {
    for (auto& each : batch.staged) {
      if (each.log == log) each.log = nullptr;
    }
    std::erase_if(batch.erases, [log](const auto& each) { return each.log == log; });
  };
  if (core_.in_flight) forget(*core_.in_flight);
  for (auto& batch : core_.gathering) forget(*batch);
  forget(*core_.memory);
  if (applying_ != nullptr) forget(*applying_);
  std::erase_if(to_erase_, [&](const auto& each) { return each.log == entry.messages.get(); });
  if (!entry.in_memory()) {
    append_control(record_kind::stream_delete, entry.id, 0, {}, true);
    core_.batch(false).removed.emplace_back(entry.id, entry.directory);
    std::erase_if(gone_consumers_, [&](const auto& each) { return each.first == entry.id; });
  }
  by_name_.erase({entry.account_name, entry.stream_name});
  by_id_.erase(entry.id);
  std::erase_if(entries_, [&](const auto& each) { return each.get() == &entry; });
}

std::uint64_t store_impl::disk_bytes() const {
  std::uint64_t bytes = journal_end_;
  for (const auto& each : entries_) bytes += each->messages->file_bytes();
  return bytes;
}

}  // namespace tern::storage
