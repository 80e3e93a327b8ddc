// Settling: segments are synced and states written, stream by stream between the commits, until the older journals are
// not needed any more. Recovery then begins where the newest state ends.
#include "storage/segment/record_reader.hpp"
#include "storage/state_file.hpp"
#include "storage/store_impl.hpp"

#include <algorithm>

namespace tern::storage {

namespace {
constexpr std::size_t consumers_per_step = 64;
}  // namespace

// Everything up to that epoch can be let go once it stands in segments and state files.
void store_impl::start_settling(std::uint32_t through) {
  settles_ = true;
  settle_wanted_ = false;
  settles_through_ = through;
  settle_queue_.clear();
  for (const auto& each : entries_) {
    if (!each->in_memory() && (each->dirty || each->messages->dirty())) settle_queue_.push_back(each->id);
  }
}

// Runs where nothing gathers: what the states tell is then in a journal batch that runs before they are written.
void store_impl::settle_step() {
  if (settle_in_flight_ || flush_in_flight_ || !core_.gathering.empty()) return;
  while (!settle_queue_.empty()) {
    stream_entry* entry = find_entry(settle_queue_.back());
    if (entry == nullptr) {
      settle_queue_.pop_back();
      continue;
    }
    if (entry->state != stream_entry::folders::made) {
      make_folders(*entry);
      if (entry->state != stream_entry::folders::made) return;  // continues with a later commit
    }
    runtime::disk_batch batch;
    auto outcome = add_stream_state(*entry, batch);
    if (!outcome)
      return on_stream_settled(entry->id, std::unexpected(outcome.error()));  // what the batch holds is not on its way
    // Some consumers or segments may be left for the next step.
    if (!entry->dirty && !entry->compacted_one) settle_queue_.pop_back();
    if (batch.operations.empty()) continue;
    settle_in_flight_ = true;
    run(std::move(batch), [this, id = entry->id](result<void> written) { on_stream_settled(id, std::move(written)); });
    return;
  }
  finish_settling();
}

void store_impl::on_stream_settled(std::uint32_t id, result<void> outcome) {
  settle_in_flight_ = false;
  const auto gone = std::exchange(settling_gone_, {});
  if (stream_entry* entry = find_entry(id)) {
    if (!outcome) gone_consumers_.insert(gone_consumers_.end(), gone.begin(), gone.end());
    entry->messages->flushed(outcome.has_value());
    entry->messages->settled(outcome.has_value());
    if (!outcome) {
      entry->dirty = entry->rewrite_wanted = true;
      entry->folders_synced = false;
      entry->consumer_names_unsynced = true;
      for (auto& [name, each] : entry->consumers) each->dirty = true;
      note_flush(*entry->messages);
    } else {
      entry->messages->give_memory_back();
    }
  }
  if (!outcome) {
    note_failure(outcome.error());
    settles_ = false;
    settle_wanted_ = true;
  }
}

// The journals have every record that no sync of a segment has confirmed.
void store_impl::rewrite_unsynced(stream_entry& what, runtime::disk_batch& batch) {
  what.messages->rewrite_header(batch);
  for (const auto& journal : journals_) {
    const auto bytes = read_file(*core_.disk, journal_path(journal.epoch));
    record_reader reader(bytes ? std::string_view(*bytes) : std::string_view());
    for (auto item = reader.next(); item != record_reader::item::end; item = reader.next()) {
      const auto& header = reader.header();
      if (item != record_reader::item::record || header.kind != record_kind::message || header.stream != what.id)
        continue;
      if (header.batch <= journal.last_batch) what.messages->rewrite(batch, header, reader.whole());
    }
  }
}

result<void> store_impl::add_stream_state(stream_entry& what, runtime::disk_batch& batch) {
  if (what.rewrite_wanted) rewrite_unsynced(what, batch);
  what.rewrite_wanted = false;
  if (auto outcome = what.messages->flush(batch, what.segments_directory()); !outcome) return outcome;
  what.compacted_one = what.messages->compact(batch, what.segments_directory());
  what.messages->settle(batch, what.segments_directory());
  if (!what.folders_synced) {
    const std::string name_folder = directory_of(what.directory);
    for (const auto& each : {path("streams"), directory_of(name_folder), name_folder, what.directory}) {
      batch.operations.push_back(runtime::disk_op::sync_directory{each});
    }
    what.folders_synced = true;
  }
  if (auto outcome = write_state(*core_.disk, batch, what.directory + "/state", ++what.generation, what.encode());
      !outcome) {
    return outcome;
  }
  for (auto& each : what.messages->take_emptied(what.segments_directory())) {
    batch.operations.push_back(runtime::disk_op::unlink{std::move(each)});
  }
  std::size_t written = 0;
  what.dirty = false;
  for (auto& [name, each] : what.consumers) {
    if (each->memory || !each->dirty) continue;
    if (++written > consumers_per_step) {
      what.dirty = true;
      break;
    }
    if (auto outcome =
            write_state(*core_.disk, batch, what.consumer_base(each->id), ++each->generation, each->encode());
        !outcome) {
      return outcome;
    }
    each->dirty = false;
  }
  bool removed = what.consumer_names_unsynced;
  for (const auto& [stream, base] : gone_consumers_) {
    if (stream != what.id) continue;
    remove_state(batch, base);
    settling_gone_.emplace_back(stream, base);
    removed = true;
  }
  std::erase_if(gone_consumers_, [&](const auto& each) { return each.first == what.id; });
  if (removed) batch.operations.push_back(runtime::disk_op::sync_directory{what.consumers_directory()});
  what.consumer_names_unsynced = false;
  return {};
}

// The older journals are not needed: first the catalog says so, then they go. Damaged ones are set aside.
void store_impl::finish_settling() {
  runtime::disk_batch batch;
  std::vector<journal_file> kept, gone;
  for (const auto& each : journals_) (each.epoch > settles_through_ ? kept : gone).push_back(each);
  std::swap(journals_, kept);
  const std::uint32_t last_epoch = journals_.empty() ? settles_through_ : journals_.back().epoch;
  if (auto outcome = write_catalog(batch, last_epoch); !outcome) {
    std::swap(journals_, kept);
    note_failure(outcome.error());
    settles_ = false;
    settle_wanted_ = true;
    return;
  }
  for (const auto& each : gone) {
    if (each.damaged) {
      batch.operations.push_back(runtime::disk_op::make_directory{path("damaged")});
      batch.operations.push_back(
          runtime::disk_op::rename{journal_path(each.epoch), path("damaged/" + std::to_string(each.epoch) + ".log")});
    } else {
      batch.operations.push_back(runtime::disk_op::unlink{journal_path(each.epoch)});
    }
  }
  batch.operations.push_back(runtime::disk_op::sync_directory{path("journal")});
  settle_in_flight_ = true;
  run(std::move(batch), [this, kept = std::move(kept)](result<void> outcome) mutable {
    settle_in_flight_ = false;
    settles_ = false;
    core_.freeable_bytes = 0;
    if (outcome) {
      if (!epoch_switched_) failure_.reset();
      return;
    }
    note_failure(outcome.error());
    settle_wanted_ = true;
    // The older ones may still be there; recovery ignores what the catalog does not name.
    std::erase_if(kept, [this](const auto& each) { return each.epoch > settles_through_; });
    journals_.insert(journals_.begin(), kept.begin(), kept.end());
  });
}

// A clean stop: everything stands in segments and states, no journal is left.
result<void> store_impl::checkpoint() {
  if (journals_.empty() && !core_.freeable_bytes) return {};
  start_settling(core_.epoch);
  while (settles_) settle_step();
  if (failure_) return std::unexpected(*failure_);
  journal_.reset();
  return {};
}

}  // namespace tern::storage
