// Folders, first states and segment bytes: what follows a commit onto the disk without being waited for.
#include "storage/state_file.hpp"
#include "storage/store_impl.hpp"

#include <variant>

namespace tern::storage {

void store_impl::make_folders(stream_entry& what) {
  if (what.state == stream_entry::folders::being_made) return;
  if (what.state == stream_entry::folders::made) return write_new_consumers(what);
  what.state = stream_entry::folders::being_made;
  runtime::disk_batch batch;
  const std::string name_folder = directory_of(what.directory);
  for (const auto& each : {directory_of(name_folder), name_folder, what.directory, what.segments_directory(),
                           what.consumers_directory()}) {
    batch.operations.push_back(runtime::disk_op::make_directory{each});
  }
  run(std::move(batch), [this, id = what.id](result<void> outcome) {
    stream_entry* entry = find_entry(id);
    if (entry == nullptr) return;
    entry->state = outcome ? stream_entry::folders::made : stream_entry::folders::missing;
    if (!outcome) {
      note_failure(outcome.error());
      return;
    }
    write_new_consumers(*entry);
    note_flush(*entry->messages);
  });
}

// The first state of a stream and of new consumers, so that not the journal alone knows them. Only when nothing
// gathers: a state must not tell of what the journal does not have.
void store_impl::write_new_consumers(stream_entry& what) {
  if (!core_.gathering.empty()) {
    without_state_.push_back(what.id);
    return;
  }
  runtime::disk_batch batch;
  const bool fresh = what.generation == 0;
  if (fresh) {
    if (!write_state(*core_.disk, batch, what.directory + "/state", ++what.generation, what.encode(true))) return;
  }
  for (auto& [name, each] : what.consumers) {
    if (each->memory || each->generation != 0) continue;
    if (!write_state(*core_.disk, batch, what.consumer_base(each->id), ++each->generation, each->encode(true))) return;
  }
  if (batch.operations.empty()) return;
  // The journal makes them durable; these copies only have to be there.
  std::erase_if(batch.operations, [](const auto& each) {
    return std::holds_alternative<runtime::disk_op::sync>(each) ||
           std::holds_alternative<runtime::disk_op::sync_directory>(each);
  });
  run(std::move(batch), [this](result<void> outcome) {
    if (!outcome) note_failure(outcome.error());
  });
}

void store_impl::remove_folders(std::uint32_t id, const std::string& directory) {
  runtime::disk_batch batch;
  const std::string trash = path("trash/" + std::to_string(id));
  batch.operations.push_back(runtime::disk_op::make_directory{directory_of(directory_of(directory))});
  batch.operations.push_back(runtime::disk_op::make_directory{directory_of(directory)});
  batch.operations.push_back(runtime::disk_op::make_directory{directory});
  batch.operations.push_back(runtime::disk_op::rename{directory, trash});
  batch.operations.push_back(runtime::disk_op::sync_directory{directory_of(directory)});
  batch.operations.push_back(runtime::disk_op::sync_directory{path("trash")});
  batch.operations.push_back(runtime::disk_op::remove_tree{trash});
  run(std::move(batch), [this, id](result<void> outcome) {
    if (!outcome)
      core_.note(finding::severity::warning,
                 "files of removed stream " + std::to_string(id) + " remain: " + outcome.error().message());
  });
}

void store_impl::flush() {
  if (flush_in_flight_ || settle_in_flight_) return;
  runtime::disk_batch batch;
  std::vector<std::uint32_t> flushed, waiting;
  for (const auto& each : to_erase_) {
    if (each.log != nullptr) each.log->erase_bytes(batch, each);
  }
  to_erase_.clear();
  for (const std::uint32_t id : to_flush_) {
    stream_entry* entry = find_entry(id);
    if (entry == nullptr) continue;
    if (entry->state != stream_entry::folders::made) {
      entry->waits_for_flush = false;  // asked for again when they are
      if (entry->state == stream_entry::folders::missing) make_folders(*entry);
      continue;
    }
    if (auto outcome = entry->messages->flush(batch, entry->segments_directory()); !outcome) {
      note_failure(outcome.error());
      waiting.push_back(id);
      continue;
    }
    entry->waits_for_flush = false;
    flushed.push_back(id);
  }
  to_flush_ = std::move(waiting);
  if (batch.operations.empty()) return;
  flush_in_flight_ = true;
  run(std::move(batch), [this, flushed = std::move(flushed)](result<void> outcome) {
    flush_in_flight_ = false;
    for (const std::uint32_t id : flushed) {
      stream_entry* entry = find_entry(id);
      if (entry == nullptr) continue;
      entry->messages->flushed(outcome.has_value());
      if (!outcome || entry->messages->needs_flush()) note_flush(*entry->messages);
    }
    if (!outcome) {
      note_failure(outcome.error());
    } else if (!epoch_switched_) {
      failure_.reset();
    }
  });
}

}  // namespace tern::storage
