// How a segmented_log's bytes reach its files, and the state that makes them findable after a restart.
#include "storage/segment/name_encoding.hpp"
#include "storage/segment/segment_footer.hpp"
#include "storage/segment/segmented_log.hpp"

#include <algorithm>

namespace tern::storage {

namespace {
constexpr std::uint64_t tail_limit = 2 << 20;  // trimmed to half of it
}  // namespace

std::string segment_path(const std::string& directory, std::uint64_t number) {
  return directory + "/" + hex_number(number) + ".seg";
}

// Segments before this place are complete on the disk (not synced, but written).
std::size_t segmented_log::flush_start() const {
  return static_cast<std::size_t>(
      std::lower_bound(segments_.begin(), segments_.end(), flushed_below_,
                       [](const auto& each, std::uint64_t number) { return each->number < number; }) -
      segments_.begin());
}

bool segmented_log::needs_flush() const {
  for (std::size_t at = flush_start(); at < segments_.size(); ++at) {
    if (segments_[at]->submitted < segments_[at]->size || segments_[at]->wants_footer()) return true;
  }
  return false;
}

result<void> segmented_log::flush(runtime::disk_batch& batch, const std::string& directory) {
  for (std::size_t at = flush_start(); at < segments_.size(); ++at) {
    auto& what = *segments_[at];
    const bool has_bytes = what.submitted < what.size;
    if (!has_bytes && !what.wants_footer()) continue;
    if (what.file == nullptr) {
      auto file = core_.disk->open(segment_path(directory, what.number), runtime::open_mode::create);
      if (!file) return std::unexpected(std::move(file.error()).within(title_));
      what.file = std::move(*file);
      what.name_unsynced = true;
    }
    if (has_bytes) {
      batch.operations.push_back(runtime::disk_op::write{
          what.file, what.submitted, what.tail.substr(static_cast<std::size_t>(what.submitted - what.tail_base))});
      what.submitted = what.size;
    }
    if (what.wants_footer()) {
      // The header tells the last sequence from now on, so that it survives its messages (storage D5).
      batch.operations.push_back(runtime::disk_op::write{
          what.file, 0, encode_segment_header({format_version, 0, 0, stream_, what.number, what.base, what.last})});
      auto footer = encode_footer(what, stream_, [this](subject_id id) { return subjects_.name(id); });
      const std::uint64_t end = what.size + footer.size();
      // An earlier life may have left a longer footer.
      if (what.file_size > end) batch.operations.push_back(runtime::disk_op::truncate{what.file, end});
      what.file_size = end;
      batch.operations.push_back(runtime::disk_op::write{what.file, what.size, std::move(footer)});
      what.footer_submitted = true;
    }
    what.unsynced = true;
  }
  return {};
}

void segmented_log::erase_bytes(runtime::disk_batch& batch, const erase_request& what) {
  for (auto& each : segments_) {
    if (each->number != what.segment_number) continue;
    // Compaction has left it out already.
    if (each->places[each->index_of(what.number)].offset != what.offset) return;
    // A header of the same size takes the message's place, so that a scan still finds what follows.
    std::string bytes(what.length, '\0');
    record_header header;
    header.kind = record_kind::erased;
    header.stream = stream_;
    header.sequence = what.number;
    header.time = each->places[each->index_of(what.number)].time;
    header.body_length = what.length - static_cast<std::uint32_t>(record_header_size);
    header.body_hash = hash64(std::string_view(bytes).substr(record_header_size));
    write_header(bytes.data(), header);
    if (what.offset >= each->tail_base) {
      std::copy(bytes.begin(), bytes.end(),
                each->tail.begin() + static_cast<std::ptrdiff_t>(what.offset - each->tail_base));
    }
    if (what.offset < each->submitted && each->file != nullptr) {
      core_.cache.forget(each->key, what.offset, what.length);
      batch.operations.push_back(runtime::disk_op::write{each->file, what.offset, std::move(bytes)});
      each->unsynced = true;
      dirty_ = true;
    }
    return;
  }
}

void segmented_log::flushed(bool arrived) {
  for (std::size_t at = flush_start(); at < segments_.size(); ++at) {
    auto& what = *segments_[at];
    if (!arrived) {
      what.submitted = what.written;
      what.footer_submitted = false;
      continue;
    }
    what.written = what.submitted;
    what.trim_tail(what.sealed ? 0 : what.tail.size() > tail_limit ? tail_limit / 2 : what.tail.size());
    if (what.sealed && what.written == what.size && !what.wants_footer()) flushed_below_ = what.number + 1;
  }
}

void segmented_log::give_memory_back() {
  if (in_memory_) return;
  for (auto& each : segments_) each->trim_tail(0);
  pinned_.reset();
  scratch_ = {};
}

void segmented_log::settle(runtime::disk_batch& batch, const std::string& directory) {
  bool names = false;
  for (auto& each : segments_) {
    if (each->unsynced) batch.operations.push_back(runtime::disk_op::sync{each->file});
    each->synced_soon = each->submitted;
    names |= each->name_unsynced;
    each->unsynced = each->name_unsynced = false;
  }
  if (names) batch.operations.push_back(runtime::disk_op::sync_directory{directory});
  dirty_ = false;
}

void segmented_log::settled(bool arrived) {
  for (auto& each : segments_) {
    if (each->before_compaction) finish_compaction(*each, arrived);
    if (arrived) {
      each->durable = each->synced_soon;
    } else if (each->file != nullptr) {
      each->unsynced = each->name_unsynced = true;
    }
  }
  if (!arrived) dirty_ = true;
}

// Which pages the kernel dropped after a failed sync is unknown (storage D2): all that was not synced is written again.
void segmented_log::rewrite_header(runtime::disk_batch& batch) {
  for (auto& each : segments_) {
    if (each->durable >= segment_header_size || each->file == nullptr || each->damaged) continue;
    batch.operations.push_back(runtime::disk_op::write{
        each->file, 0, encode_segment_header({format_version, 0, 0, stream_, each->number, each->base, each->last})});
    each->unsynced = true;
  }
}

void segmented_log::rewrite(runtime::disk_batch& batch, const record_header& header, std::string_view record) {
  segment* from = find(header.sequence);
  if (from == nullptr || from->file == nullptr || from->damaged) return;
  const std::size_t index = from->index_of(header.sequence);
  const auto& at = from->places[index];
  if (at.offset == 0 || at.offset < from->durable || at.offset >= from->submitted ||
      from->length_at(index) != record.size())
    return;
  core_.cache.forget(from->key, at.offset, record.size());
  batch.operations.push_back(runtime::disk_op::write{from->file, at.offset, std::string(record)});
  from->unsynced = true;
  if (from->sealed && from->footer_submitted) {
    from->footer_submitted = false;
    flushed_below_ = std::min(flushed_below_, from->number);
  }
}

std::vector<std::string> segmented_log::take_emptied(const std::string& directory) {
  std::vector<std::string> paths;
  for (const std::uint64_t number : emptied_) paths.push_back(segment_path(directory, number));
  emptied_.clear();
  return paths;
}

std::uint64_t segmented_log::file_bytes() const {
  std::uint64_t bytes = 0;
  if (!in_memory_) {
    for (const auto& each : segments_) bytes += std::max(each->size, each->file_size);
  }
  return bytes;
}

// Runs of sequences that live nowhere and are not lost, so that recovery can tell removed from missing.
std::string segmented_log::encode_state() const {
  std::string out;
  append_varint(out, state_.last);
  append_signed_varint(out, to_unix_nanoseconds(state_.last_timestamp));
  append_varint(out, next_segment_);
  append_varint(out, state_.lost.size());
  for (const auto& range : state_.lost) {
    append_varint(out, range.first);
    append_varint(out, range.last - range.first);
  }
  std::uint64_t count = 0;
  std::string rows;
  for (const auto& each : segments_) {
    if (each->submitted == 0 && each->file == nullptr) continue;
    ++count;
    append_varint(rows, each->number);
    append_varint(rows, each->base);
    append_varint(rows, each->last - each->base + 1);
    append_varint(rows, each->submitted);
    append_varint(rows, each->sealed ? 1 : 0);
    std::uint64_t runs = 0;
    std::string gone;
    sequence before = each->base;
    for (std::size_t index = 0; index < each->subjects.size();) {
      if (each->subjects[index] != no_subject) {
        ++index;
        continue;
      }
      const std::size_t begin = index;
      while (index < each->subjects.size() && each->subjects[index] == no_subject) ++index;
      append_varint(gone, each->base + begin - before);
      append_varint(gone, index - begin);
      before = each->base + index;
      ++runs;
    }
    append_varint(rows, runs);
    rows.append(gone);
  }
  append_varint(out, count);
  out.append(rows);
  return out;
}

// Of a log of which nothing is settled: the journal has it all.
std::string segmented_log::encode_new_state(sequence first_sequence) {
  std::string out;
  append_varint(out, first_sequence > 0 ? first_sequence - 1 : 0);
  append_signed_varint(out, 0);
  append_varint(out, 1);  // next segment
  append_varint(out, 0);  // lost
  append_varint(out, 0);  // segments
  return out;
}

}  // namespace tern::storage
