// Group commit: batches gather, one is in flight, its messages become committed when the disk has it.
#include "storage/segment/name_encoding.hpp"
#include "storage/segment/record_reader.hpp"
#include "storage/state_file.hpp"
#include "storage/store_impl.hpp"

#include <algorithm>

namespace tern::storage {

namespace {
constexpr int memory_rounds = 64;     // commits may stage more; what is left waits for the next turn
constexpr int drain_rounds = 10'000;  // the same while the store closes
}  // namespace

store_impl::store_impl(runtime::disk* disk, store_options options) : core_(disk, std::move(options)) {
  if (disk == nullptr) return;
  core_.repair = [this](std::uint32_t stream) {
    stream_entry* entry = find_entry(stream);
    runtime::disk_batch batch;
    if (entry == nullptr) return false;
    rewrite_unsynced(*entry, batch);
    entry->rewrite_wanted = false;
    return !batch.operations.empty() && core_.disk->execute(std::move(batch)).has_value();
  };
}

store_impl::~store_impl() { *alive_ = false; }

std::string store_impl::journal_path(std::uint32_t epoch) const {
  return path("journal/" + hex_number(epoch) + ".log");
}

void store_impl::run(runtime::disk_batch batch, completion done) {
  if (blocking_) {
    done(core_.disk->execute(std::move(batch)));
    return;
  }
  core_.disk->submit(std::move(batch), [alive = alive_, done = std::move(done)](result<void> outcome) mutable {
    if (*alive) done(std::move(outcome));
  });
}

bool store_impl::busy() const {
  return core_.in_flight || !core_.gathering.empty() || !core_.memory->empty() || begins_journal_ || flush_in_flight_ ||
         settle_in_flight_ || settles_;
}

void store_impl::when_durable(std::move_only_function<void(const result<void>&)> action) {
  // While the disk refuses, something may wait that no batch holds yet (consumers' snapshots).
  auto& batch = !core_.gathering.empty() || failure_ ? core_.batch(core_.disk == nullptr)
                : core_.in_flight                    ? *core_.in_flight
                                                     : *core_.memory;
  batch.actions.push_back(std::move(action));
}

void store_impl::sync() {
  if (unsynced_) sync_wanted_ = true;
  retry_wanted_ = true;
}

void store_impl::commit() {
  if (!core_.memory->empty()) commit_memory();
  if (core_.disk == nullptr || closed_) return;
  if (core_.in_flight || begins_journal_) return;
  if (failure_ && !blocking_ && !retry_wanted_ && gathered() == refused_) return;
  if (epoch_switched_) {
    if (!core_.gathering.empty() || settle_wanted_ || failure_) begin_journal();
    if (!blocking_ || begins_journal_ || epoch_switched_) return;
  }
  submit_next();
  if (core_.gathering.empty()) {
    for (const std::uint32_t id : std::exchange(without_state_, {})) {
      if (stream_entry* entry = find_entry(id)) write_new_consumers(*entry);
    }
  }
  if (!to_flush_.empty() || !to_erase_.empty()) flush();
  if (!settles_ && settle_wanted_ && !core_.in_flight && !begins_journal_) {
    // A settling that failed, or one that somebody asked for.
    if (journals_.size() > 1) {
      start_settling(core_.epoch - 1);
    } else if (core_.gathering.empty()) {
      switch_epoch();
    }
  }
  if (settles_) settle_step();
}

// --- memory streams ---

void store_impl::commit_memory() {
  for (int round = 0; round < memory_rounds && !core_.memory->empty(); ++round) {
    auto batch = std::move(core_.memory);
    core_.memory = std::make_unique<commit_batch>();
    apply(*batch);
    if (core_.memory->empty() && core_.memory->bytes.capacity() < batch->bytes.capacity()) {
      batch->clear();
      core_.memory = std::move(batch);
    }
  }
}

// --- batches ---

void store_impl::submit_next() {
  const bool only_sync = core_.gathering.empty() && sync_wanted_;
  if (core_.gathering.empty() && !only_sync) return;
  runtime::disk_batch operations;
  bool wants_sync = sync_wanted_;
  if (only_sync) {
    core_.in_flight = std::make_unique<commit_batch>();
    core_.in_flight->number = confirmed_batch_;
  } else {
    core_.in_flight = std::move(core_.gathering.front());
    core_.gathering.pop_front();
    auto& batch = *core_.in_flight;
    wants_sync |= batch.wants_sync;
    if (!batch.bytes.empty())
      operations.operations.push_back(runtime::disk_op::write{journal_, journal_end_, batch.bytes});
    journal_end_ += batch.bytes.size();
    unsynced_ = true;
  }
  if (wants_sync) operations.operations.push_back(runtime::disk_op::sync{journal_});
  core_.in_flight->wants_sync = wants_sync;
  sync_wanted_ = false;
  if (core_.gathering.empty() && !settles_ &&
      (journal_end_ > core_.options.journal_bytes || core_.freeable_bytes > core_.options.journal_bytes)) {
    settle_wanted_ = true;
    switch_epoch();
  }
  run(std::move(operations), [this](result<void> outcome) { on_written(std::move(outcome)); });
}

// What is recorded from now on goes to the next journal.
void store_impl::switch_epoch() {
  if (epoch_switched_) return;
  epoch_switched_ = true;
  ++core_.epoch;
  core_.batch_number = 0;
}

void store_impl::on_written(result<void> outcome) {
  auto batch = std::move(core_.in_flight);
  if (!outcome) {
    core_.in_flight = std::move(batch);
    return fail_commits(outcome.error());
  }
  confirmed_batch_ = batch->number;
  if (batch->wants_sync) unsynced_ = false;
  apply(*batch);
  batch->clear();
  core_.spare = std::move(batch);
  if (!to_flush_.empty() || !to_erase_.empty()) flush();
}

void store_impl::apply(commit_batch& batch) {
  applying_ = &batch;
  for (std::size_t at = 0; at < batch.staged.size(); ++at) {
    const staged_entry entry = batch.staged[at];
    if (entry.log != nullptr) {
      const std::string_view from = std::string_view(batch.bytes).substr(entry.offset);
      const std::size_t size = record_header_size + get<std::uint32_t>(from.data() + 20);
      entry.log->commit(from.substr(0, size), entry.subject);
      if (batch.staged[at].log != nullptr) note_flush(*entry.log);
    }
  }
  const result<void> fine;
  // An action may add to the batch that gathers, never to this one.
  for (auto& action : batch.actions) action(fine);
  applying_ = nullptr;
  for (const std::uint32_t id : batch.created) {
    if (stream_entry* entry = find_entry(id)) make_folders(*entry);
  }
  to_erase_.insert(to_erase_.end(), batch.erases.begin(), batch.erases.end());
  for (const auto& [id, directory] : batch.removed) remove_folders(id, directory);
}

void store_impl::note_flush(segmented_log& log) {
  if (log.in_memory()) return;
  stream_entry* entry = find_entry(log.stream());
  if (entry == nullptr || entry->waits_for_flush) return;
  entry->waits_for_flush = true;
  to_flush_.push_back(entry->id);
}

// --- failure ---

// Everything in the batch but messages and skip ranges, which are refused. Deltas become a snapshot later.
void store_impl::carry_over(const commit_batch& from, std::string& records) {
  record_reader reader(from.bytes);
  while (reader.next() == record_reader::item::record) {
    const auto kind = reader.header().kind;
    if (kind == record_kind::message || kind == record_kind::skip) continue;
    if (kind == record_kind::consumer_delta || kind == record_kind::consumer_snapshot) {
      if (stream_entry* entry = find_entry(reader.header().stream)) {
        const auto id = reader.body().size() >= 4 ? get<std::uint32_t>(reader.body().data()) : 0;
        for (auto& [name, consumer] : entry->consumers) consumer->needs_snapshot |= consumer->id == id;
      }
      continue;
    }
    records.append(reader.whole());
  }
}

// The disk has refused a batch, or the beginning of a journal. Messages that wait are refused and forgotten. All else
// (removals, consumers, catalog) has happened in memory and is written again, to a new journal, as soon as the disk
// takes it: what was confirmed before stands in the old one, whose unconfirmed end the new one declares void.
void store_impl::fail_commits(const error& why) {
  commit_batch carried;
  std::vector<segmented_log*> told;
  std::vector<std::move_only_function<void(const result<void>&)>> actions;
  std::deque<std::unique_ptr<commit_batch>> lost;
  if (core_.in_flight) lost.push_back(std::move(core_.in_flight));
  for (auto& each : core_.gathering) lost.push_back(std::move(each));
  core_.gathering.clear();
  for (auto& batch : lost) {
    carry_over(*batch, carried.bytes);
    for (const auto& entry : batch->staged) {
      if (entry.log == nullptr) continue;
      entry.log->drop_staged(entry.subject);
      if (std::find(told.begin(), told.end(), entry.log) == told.end()) told.push_back(entry.log);
    }
    carried.erases.insert(carried.erases.end(), batch->erases.begin(), batch->erases.end());
    carried.created.insert(carried.created.end(), batch->created.begin(), batch->created.end());
    carried.removed.insert(carried.removed.end(), batch->removed.begin(), batch->removed.end());
    for (auto& action : batch->actions) actions.push_back(std::move(action));
  }
  if (begins_journal_) {
    // It holds no records: the same one is begun again.
    journals_.pop_back();
    begins_journal_ = false;
  } else {
    if (!journals_.empty()) journals_.back().last_batch = confirmed_batch_;
    epoch_switched_ = false;
    switch_epoch();
  }
  settle_wanted_ = true;  // the old journal may be in doubt: memory is written out as soon as possible
  if (!carried.bytes.empty()) {
    auto& next = core_.batch(false);
    next.wants_sync = true;
    for (std::size_t at = 0; at < carried.bytes.size();) {
      char* record = carried.bytes.data() + at;
      restamp(record, next.epoch, next.number);
      at += record_header_size + get<std::uint32_t>(record + 20);
    }
    next.bytes.append(carried.bytes);
    next.erases = std::move(carried.erases);
    next.created = std::move(carried.created);
    next.removed = std::move(carried.removed);
  }
  // Deltas that were in these batches, as a snapshot: whoever waits from now on waits for it too.
  for (auto& each : entries_) {
    for (auto& [name, consumer] : each->consumers) {
      if (consumer->needs_snapshot) consumer->append_snapshot();
    }
  }
  for (segmented_log* log : told) {
    // The owner may remove streams.
    const bool lives =
        std::any_of(entries_.begin(), entries_.end(), [log](const auto& each) { return each->messages.get() == log; });
    if (lives) log->on_commit_failed(why);
  }
  note_failure(why);
  const result<void> refused = std::unexpected(why);
  for (auto& action : actions) action(refused);
}

// The disk is not tried again before somebody wants something new, or the timer of sync() asks.
void store_impl::note_failure(const error& why) {
  failure_ = why;
  retry_wanted_ = false;
  refused_ = gathered();
}

// Grows with everything that is written or waits for the disk.
std::uint64_t store_impl::gathered() const {
  std::uint64_t size = 0;
  for (const auto& batch : core_.gathering) size += batch->bytes.size() + batch->actions.size();
  return size;
}

// --- journals ---

std::string store_impl::encode_catalog(std::uint32_t last_epoch) const {
  std::string out;
  append_number(out, format_version);
  append_varint(out, next_stream_);
  append_varint(out, next_consumer_);
  append_varint(out, last_epoch);
  append_varint(out, journals_.size());
  for (const auto& each : journals_) {
    append_varint(out, each.epoch);
    append_varint(out, each.last_batch);
  }
  return out;
}

result<void> store_impl::write_catalog(runtime::disk_batch& batch, std::uint32_t last_epoch) {
  return write_state(*core_.disk, batch, path("catalog"), ++catalog_generation_, encode_catalog(last_epoch));
}

void store_impl::begin_journal() {
  begins_journal_ = true;
  journals_.push_back({core_.epoch});
  auto file = core_.disk->open(journal_path(core_.epoch), runtime::open_mode::create);
  if (!file) return fail_commits(file.error());
  // What earlier journals are worth stands in the new one itself, and in the catalog.
  std::string body;
  append_number(body, format_version);
  append_varint(body, journals_.size() - 1);
  for (const auto& each : journals_) {
    if (each.epoch == core_.epoch) continue;
    append_varint(body, each.epoch);
    append_varint(body, each.last_batch);
  }
  record_header header;
  header.kind = record_kind::journal_header;
  header.epoch = core_.epoch;
  std::string bytes;
  append_record(bytes, header, body);
  const std::uint64_t size = bytes.size();
  runtime::disk_batch batch;
  batch.operations.push_back(runtime::disk_op::truncate{*file, 0});
  batch.operations.push_back(runtime::disk_op::write{*file, 0, std::move(bytes)});
  batch.operations.push_back(runtime::disk_op::sync{*file});
  batch.operations.push_back(runtime::disk_op::sync_directory{path("journal")});
  if (auto made = write_catalog(batch, core_.epoch); !made) return fail_commits(made.error());
  run(std::move(batch), [this, file = std::move(*file), size](result<void> outcome) {
    if (!outcome) return fail_commits(outcome.error());
    begins_journal_ = false;
    epoch_switched_ = false;
    journal_ = file;
    journal_end_ = size;
    confirmed_batch_ = 0;
    unsynced_ = false;
    failure_.reset();
    if (!settles_ && (journals_.size() > 1 || core_.freeable_bytes > 0)) start_settling(core_.epoch - 1);
  });
}

// --- closing ---

result<void> store_impl::drain() {
  for (int round = 0; round < drain_rounds && busy(); ++round) {
    if (failure_ && round > 8) return std::unexpected(*failure_);
    commit();
  }
  return {};
}

result<void> store_impl::close() {
  if (closed_) return {};
  if (core_.disk == nullptr) {
    commit_memory();
    closed_ = true;
    return {};
  }
  // What was submitted runs first; its completions may come too late, so its bytes are written once more.
  blocking_ = true;
  *alive_ = false;
  alive_ = std::make_shared<bool>(true);
  const auto waited = core_.disk->execute({});
  if (core_.in_flight && !begins_journal_) {
    auto& batch = *core_.in_flight;
    runtime::disk_batch again;
    if (!batch.bytes.empty()) {
      again.operations.push_back(runtime::disk_op::write{journal_, journal_end_ - batch.bytes.size(), batch.bytes});
    }
    again.operations.push_back(runtime::disk_op::sync{journal_});
    batch.wants_sync = true;
    on_written(core_.disk->execute(std::move(again)));
  }
  if (begins_journal_) fail_commits(error(errc::closed, "the store closes"));
  if (flush_in_flight_ || settle_in_flight_) {
    flush_in_flight_ = settle_in_flight_ = false;
    gone_consumers_.insert(gone_consumers_.end(), settling_gone_.begin(), settling_gone_.end());
    settling_gone_.clear();
    for (auto& each : entries_) {
      each->messages->flushed(false);
      each->messages->settled(false);
      each->dirty = each->rewrite_wanted = each->consumer_names_unsynced = true;
      each->folders_synced = false;
      for (auto& [name, consumer] : each->consumers) consumer->dirty = true;
      if (each->messages->needs_flush()) note_flush(*each->messages);
      if (each->state == stream_entry::folders::being_made) each->state = stream_entry::folders::missing;
    }
    if (settles_) {
      settle_queue_.clear();
      for (const auto& each : entries_) {
        if (!each->in_memory()) settle_queue_.push_back(each->id);
      }
    }
  }
  for (auto& each : entries_) {
    if (each->state == stream_entry::folders::being_made) each->state = stream_entry::folders::missing;
  }
  auto outcome = drain();
  if (outcome && !failure_) outcome = checkpoint();
  if (outcome && failure_) outcome = std::unexpected(*failure_);
  closed_ = true;
  return outcome;
}

}  // namespace tern::storage
