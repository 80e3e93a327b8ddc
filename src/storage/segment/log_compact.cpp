// Compaction of a segmented_log: segments that are mostly removed messages give their space back (W15 of the storage
// notes).
#include "storage/segment/segment_footer.hpp"
#include "storage/segment/segmented_log.hpp"

#include <algorithm>

namespace tern::storage {

// At least half is dead, and enough of it to be worth a file.
bool segmented_log::mostly_dead(const segment& what) const {
  const std::uint64_t worth = std::min<std::uint64_t>(core_.options.segment_bytes / 8, 128 << 10);
  return what.sealed && what.live != 0 && what.size - what.live_bytes > worth && what.live_bytes * 2 < what.size;
}

void segmented_log::compact_memory(segment& what) {
  std::string bytes(1, '\0');
  bytes.reserve(static_cast<std::size_t>(what.live_bytes) + 1);
  for (std::size_t index = 0; index < what.places.size(); ++index) {
    auto& place = what.places[index];
    if (what.subjects[index] == no_subject) {
      place.offset = place.length = 0;
      continue;
    }
    const auto offset = static_cast<std::uint32_t>(bytes.size());
    bytes.append(what.tail, place.offset, what.length_at(index));
    place.offset = offset;
  }
  what.tail = std::move(bytes);
  what.size = what.tail.size();
}

bool segmented_log::compact(runtime::disk_batch& batch, const std::string& directory) {
  for (auto& each : segments_) {
    auto& what = *each;
    if (!mostly_dead(what) || what.damaged || what.before_compaction || !what.footer_submitted ||
        what.submitted != what.written)
      continue;
    const std::string path = segment_path(directory, what.number);
    std::string bytes = encode_segment_header({format_version, 0, 0, stream_, what.number, what.base, what.last});
    std::vector<segment::place> places = what.places;
    for (std::size_t index = 0; index < places.size(); ++index) {
      if (what.subjects[index] == no_subject) {
        places[index].offset = places[index].length = 0;
        continue;
      }
      const auto record = read_record(what, index);
      if (!record) {  // found damaged: the file stays as it is
        what.damaged = true;
        return false;
      }
      places[index].offset = static_cast<std::uint32_t>(bytes.size());
      bytes.append(*record);
    }
    auto file = core_.disk->open(path + ".new", runtime::open_mode::create);
    if (!file) return false;
    what.before_compaction = std::make_unique<segment::former>(
        segment::former{std::move(what.places), what.size, what.file_size, what.durable, std::move(what.file)});
    what.places = std::move(places);
    what.file = *file;
    what.size = what.submitted = bytes.size();
    what.written = what.tail_base = 0;
    what.tail = bytes;  // is read from until the file has it
    core_.cache.forget(what.key, 0, what.before_compaction->size);
    bytes.append(encode_footer(what, stream_, [this](subject_id id) { return subjects_.name(id); }));
    what.file_size = bytes.size();
    batch.operations.push_back(runtime::disk_op::truncate{*file, 0});
    batch.operations.push_back(runtime::disk_op::write{*file, 0, std::move(bytes)});
    batch.operations.push_back(runtime::disk_op::sync{*file});
    batch.operations.push_back(runtime::disk_op::rename{path + ".new", path});
    batch.operations.push_back(runtime::disk_op::sync_directory{directory});
    what.unsynced = false;
    return true;
  }
  return false;
}

void segmented_log::finish_compaction(segment& what, bool arrived) {
  if (arrived) {
    what.written = what.submitted;
    what.trim_tail(0);
  } else {
    auto& before = *what.before_compaction;
    what.places = std::move(before.places);
    what.size = what.submitted = what.written = what.tail_base = before.size;
    what.file_size = before.file_size;
    what.durable = before.durable;
    what.file = std::move(before.file);
    what.tail.clear();
  }
  what.before_compaction.reset();
}

}  // namespace tern::storage
