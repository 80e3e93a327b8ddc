#include "storage/segment/log_recovery.hpp"

#include "storage/segment/name_encoding.hpp"
#include "storage/state_file.hpp"

#include <algorithm>

namespace tern::storage {

namespace {

bool in_ranges(const std::vector<sequence_range>& sorted, sequence number) {
  const auto above = std::upper_bound(sorted.begin(), sorted.end(), number,
                                      [](sequence wanted, const auto& each) { return wanted < each.first; });
  return above != sorted.begin() && std::prev(above)->last >= number;
}

std::string text_of(sequence_range range) {
  return range.first == range.last ? "message " + std::to_string(range.first)
                                   : "messages " + std::to_string(range.first) + " to " + std::to_string(range.last);
}

}  // namespace

void log_recovery::note_finding(finding::severity level, const std::string& text) {
  log_.core_.note(level, log_.title_ + ": " + text);
  damage_ |= level == finding::severity::damage;
}

void log_recovery::lose(sequence_range range, const std::string& where) {
  log_.add_lost(range);
  note_finding(finding::severity::damage, text_of(range) + " lost: damage in " + where);
}

bool log_recovery::read_state(std::string_view bytes) {
  byte_reader reader(bytes);
  log_.state_.last = settled_last_ = reader.varint();
  log_.state_.last_timestamp = from_unix_nanoseconds(reader.signed_varint());
  log_.next_segment_ = reader.varint();
  for (std::uint64_t left = reader.varint(); left > 0 && reader.ok(); --left) {
    const sequence first = reader.varint();
    log_.add_lost({first, first + reader.varint()});
  }
  for (std::uint64_t left = reader.varint(); left > 0 && reader.ok(); --left) {
    known_segment known;
    known.number = reader.varint();
    known.base = reader.varint();
    known.last = known.base + reader.varint() - 1;
    known.length = reader.varint();
    known.sealed = reader.varint() != 0;
    sequence at = known.base;
    for (std::uint64_t runs = reader.varint(); runs > 0 && reader.ok(); --runs) {
      at += reader.varint();
      const std::uint64_t length = reader.varint();
      known.gone.push_back({at, at + length - 1});
      at += length;
    }
    segments_.push_back(std::move(known));
  }
  log_.state_.first = log_.state_.last + 1;
  log_.staged_last_ = log_.state_.last;
  return reader.ok();
}

void log_recovery::note(const record_header& header, std::string_view record) {
  switch (header.kind) {
    case record_kind::message:
      journal_[header.sequence] = record;
      break;
    case record_kind::skip:
      skips_.insert(header.sequence);
      skip_times_[header.sequence] = header.time;
      break;
    case record_kind::remove:
      removed_.push_back({header.sequence, header.sequence});
      if ((header.flags & record_flag::erase) != 0) erased_.push_back(header.sequence);
      break;
    case record_kind::remove_ranges: {
      byte_reader reader(record.substr(record_header_size));
      sequence before = 0;
      for (std::uint64_t left = reader.varint(); left > 0 && reader.ok(); --left) {
        const sequence first = before + reader.varint();
        before = first + reader.varint();
        if (reader.ok()) removed_.push_back({first, before});
      }
      if ((header.flags & record_flag::moves_last) != 0) skips_.insert(header.sequence);
      break;
    }
    default:
      break;
  }
}

bool log_recovery::is_removed(sequence number) const { return in_ranges(removed_, number); }

result<void> log_recovery::run(const std::string& directory) {
  std::sort(removed_.begin(), removed_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<sequence_range> joined;
  for (const auto& each : removed_) {
    if (!joined.empty() && each.first <= joined.back().last + 1) {
      joined.back().last = std::max(joined.back().last, each.last);
    } else {
      joined.push_back(each);
    }
  }
  removed_ = std::move(joined);
  for (const auto& known : segments_) {
    if (auto outcome = load_segment(known, directory); !outcome) return outcome;
  }
  scan_unknown_files(directory);
  place_unsettled();
  apply_removals();
  log_.staged_last_ = log_.state_.last;
  log_.repair_first();
  log_.dirty_ = found_records() || damage_;
  return write_differences(directory);
}

// --- settled segments ---

void log_recovery::add_live(segment& into, sequence number, subject_id subject) {
  const std::size_t index = into.index_of(number);
  into.subjects[index] = subject;
  ++into.live;
  into.live_bytes += into.length_at(index);
  log_.subjects_.add(subject, number);
  log_.live_.append(number);
  ++log_.state_.messages;
  log_.state_.bytes += into.reported_bytes(index, false);
}

// Where the settled records end in the file, when each that is wanted is there. A file that was compacted after the
// state that lists it is without those that were removed meanwhile, and may be shorter than the state says.
std::optional<std::uint64_t> log_recovery::whole_length(const known_segment& known, const scan& found) const {
  std::uint64_t end = segment_header_size;
  for (sequence number = known.base; number <= known.last; ++number) {
    const auto entry = found.entries.find(number);
    if (entry != found.entries.end()) {
      end = std::max(end, entry->second.offset + entry->second.length);
    } else if (!in_ranges(known.gone, number) && !is_removed(number)) {
      return std::nullopt;
    }
  }
  return end;
}

result<void> log_recovery::load_segment(known_segment known, const std::string& directory) {
  auto made = std::make_unique<segment>();
  auto& into = *made;
  into.number = known.number;
  into.key = log_.core_.next_segment_key++;
  into.base = known.base;
  into.last = known.last;
  into.sealed = known.sealed;
  const std::string path = segment_path(directory, known.number);
  auto file = log_.core_.disk->open(path, runtime::open_mode::read_write);
  const std::uint64_t size = file ? log_.core_.disk->size(*file).value_or(0) : 0;
  if (file) {
    into.file = *file;
    into.file_size = size;
  }
  into.size = into.tail_base = into.submitted = into.written = into.durable = known.length;
  const std::size_t count = static_cast<std::size_t>(known.last - known.base + 1);
  into.subjects.assign(count, no_subject);
  into.places.assign(count, {});
  if (!(file && known.sealed && load_footer(into, known, size))) {
    const auto bytes = file ? read_file(*log_.core_.disk, path) : std::nullopt;
    if (bytes) buffers_.push_back(std::make_unique<std::string>(std::move(*bytes)));
    scan found = scan_file(bytes ? std::string_view(*buffers_.back()) : std::string_view(), &known);
    if (found.header_whole && (found.identity.features != 0 || found.identity.key_id != 0)) {
      return fail(errc::unsupported, path + " needs features that this version has not");
    }
    if (const auto whole = file ? whole_length(known, found) : std::nullopt) {
      known.length = *whole;
      into.size = into.tail_base = into.submitted = into.written = into.durable = known.length;
      std::erase_if(found.holes, [&](const hole& each) { return each.offset >= known.length; });
    }
    if (!file) {
      found.holes.push_back({segment_header_size, known.length - segment_header_size, known.base - 1});
      const auto level = known.is_empty() ? finding::severity::note : finding::severity::damage;  // told before
      note_finding(level, "segment file " + path + " is missing");
    } else if (size < known.length) {
      const sequence last = found.entries.empty() ? known.base - 1 : found.entries.rbegin()->first;
      found.holes.push_back({std::max<std::uint64_t>(size, segment_header_size), known.length - size, last});
      note_finding(finding::severity::damage, path + " is shorter than it was: " + std::to_string(size) + " of " +
                                                  std::to_string(known.length) + " bytes");
    } else if (!found.header_whole) {
      // It is written again when the segment is sealed: a power cut may tear that, a settled one must be whole.
      note_finding(known.sealed ? finding::severity::damage : finding::severity::warning,
                   "the header of " + path + " is damaged and is made anew");
    } else if (known.sealed) {
      note_finding(finding::severity::warning, "the footer of " + path + " was damaged and is made anew");
    }
    if (file && !found.header_whole) {
      repairs_.operations.push_back(runtime::disk_op::write{
          *file, 0, encode_segment_header({format_version, 0, 0, log_.stream_, known.number, known.base, known.last})});
    }
    enter(into, known, found);
  }
  // Times ascend, so that they can be searched, also where nothing stands.
  std::int64_t at =
      log_.segments_.empty() || log_.segments_.back()->places.empty() ? 0 : log_.segments_.back()->places.back().time;
  for (auto& each : into.places) each.time = at = std::max(at, each.time);
  log_.segments_.push_back(std::move(made));
  return {};
}

bool log_recovery::load_footer(segment& into, const known_segment& known, std::uint64_t file_size) {
  const auto footer = read_footer(*log_.core_.disk, into.file, file_size);
  if (!footer || footer->identity.stream != log_.stream_ || footer->identity.number != known.number ||
      footer->identity.base != known.base || footer->identity.last != known.last) {
    return false;
  }
  // Another size than the state tells: compacted since.
  into.size = into.tail_base = into.submitted = into.written = into.durable = footer->size;
  std::vector<subject_id> ids(footer->subjects.size() + 1, no_subject);
  for (const auto& entry : footer->entries) {
    auto& place = into.places[into.index_of(entry.number)];
    place = {entry.time, static_cast<std::uint32_t>(entry.offset),
             entry.length | (entry.has_headers ? segment::headers_bit : 0)};
    if (entry.subject == 0 || in_ranges(known.gone, entry.number)) continue;
    auto& id = ids[entry.subject];
    if (id == no_subject) id = log_.subjects_.intern(footer->subjects[entry.subject - 1]);
    add_live(into, entry.number, id);
  }
  into.footer_submitted = true;
  return true;
}

log_recovery::scan log_recovery::scan_file(std::string_view bytes, const known_segment* known) {
  scan out;
  record_reader reader(bytes);
  sequence before = known != nullptr ? known->base - 1 : 0;
  for (auto item = reader.next(); item != record_reader::item::end; item = reader.next()) {
    const bool settled = known != nullptr && reader.offset() < known->length;
    if (item == record_reader::item::damaged_range) {
      if (settled) out.holes.push_back({reader.offset(), reader.size(), before});
      continue;
    }
    const auto& header = reader.header();
    if (header.stream != log_.stream_) continue;
    if (header.kind == record_kind::segment_header) {
      out.header_whole =
          item == record_reader::item::record && decode_segment_header(header, reader.body(), out.identity);
      continue;
    }
    if (header.kind != record_kind::message && header.kind != record_kind::erased) continue;
    message_parts parts;
    const bool whole = item == record_reader::item::record && header.transform == body_transform::none &&
                       (header.kind == record_kind::erased || split_message(reader.body(), parts));
    const bool expected = settled && header.sequence >= known->base && header.sequence <= known->last;
    if (expected && !out.entries.contains(header.sequence)) {
      if (whole) {
        out.entries[header.sequence] = {
            reader.offset(), static_cast<std::uint32_t>(reader.size()), header.flags,
            header.time,     header.kind == record_kind::message,       std::string(parts.subject)};
      } else if (reader.size() == record_size(header)) {
        out.damaged[header.sequence] = {reader.offset(), reader.size(), before};
      } else {
        // A header that was moved here with its page: it does not tell where its message is.
        out.holes.push_back({reader.offset(), reader.size(), before});
        continue;
      }
      before = header.sequence;
    } else if (whole && header.kind == record_kind::message && header.sequence > settled_last_) {
      only_in_files_.try_emplace(header.sequence, reader.whole());
    }
  }
  return out;
}

// Takes over what was found; what is missing and not removed comes from the journal or is lost.
void log_recovery::enter(segment& into, const known_segment& known, scan& found) {
  std::vector<sequence> missing;
  for (sequence number = known.base; number <= known.last; ++number) {
    const bool wanted = !in_ranges(known.gone, number);
    const auto entry = found.entries.find(number);
    if (wanted && (entry == found.entries.end() || !entry->second.live)) {
      // An erased one was removed, even if the record of that is gone.
      if (entry == found.entries.end() && !is_removed(number)) missing.push_back(number);
    }
  }
  const std::string path = into.file ? into.file->path() : "segment " + hex_number(known.number);
  restore(into, known, found, missing, path);
  bool lost = false;
  for (sequence number = known.base; number <= known.last; ++number) {
    const auto entry = found.entries.find(number);
    if (entry == found.entries.end()) continue;
    const auto& what = entry->second;
    into.places[into.index_of(number)] = {
        what.time, static_cast<std::uint32_t>(what.offset),
        what.length | ((what.flags & record_flag::has_headers) != 0 ? segment::headers_bit : 0)};
    if (!what.live || in_ranges(known.gone, number)) continue;
    add_live(into, number, log_.subjects_.intern(what.subject));
  }
  for (std::size_t at = 0; at < missing.size();) {
    if (found.entries.contains(missing[at])) {
      ++at;
      continue;
    }
    sequence_range range{missing[at], missing[at]};
    while (++at < missing.size() && missing[at] == range.last + 1 && !found.entries.contains(missing[at])) ++range.last;
    lose(range, path);
    lost = true;
  }
  // A file that has lost something stays as it is, for whoever wants to look at it; nothing is added to it.
  if (lost || into.file == nullptr) {
    into.damaged = true;
    into.sealed = true;
  }
}

void log_recovery::restore(segment& into, const known_segment& known, scan& found, const std::vector<sequence>& missing,
                           const std::string& path) {
  std::uint64_t restored = 0;
  const auto put_back = [&](sequence number, std::string_view record, std::uint64_t offset) {
    const record_header header = read_header(record.data());
    message_parts parts;
    if (!split_message(record.substr(record_header_size), parts)) return;
    if (into.file == nullptr) {
      auto file = log_.core_.disk->open(segment_path(directory_of(path), known.number), runtime::open_mode::create);
      if (!file) return;
      into.file = *file;
    }
    repairs_.operations.push_back(runtime::disk_op::write{into.file, offset, std::string(record)});
    into.unsynced = true;
    found.entries[number] = {
        offset, static_cast<std::uint32_t>(record.size()), header.flags, header.time, true, std::string(parts.subject)};
    ++restored;
  };
  if (into.file == nullptr) return;
  for (const sequence number : missing) {
    const auto record = journal_.find(number);
    if (record == journal_.end()) continue;
    if (const auto body = found.damaged.find(number); body != found.damaged.end()) {
      if (body->second.size == record->second.size()) put_back(number, record->second, body->second.offset);
    }
  }
  for (const auto& each : found.holes) {
    std::uint64_t at = each.offset;
    for (auto next = std::upper_bound(missing.begin(), missing.end(), each.after); next != missing.end(); ++next) {
      const auto record = journal_.find(*next);
      if (found.entries.contains(*next)) break;
      if (record == journal_.end() || at + record->second.size() > each.offset + each.size) break;
      put_back(*next, record->second, at);
      at += record->second.size();
    }
  }
  if (restored > 0) {
    note_finding(finding::severity::warning,
                 std::to_string(restored) + " messages of " + path + " were restored from the journal");
  }
}

// --- what came after the settled state ---

void log_recovery::scan_unknown_files(const std::string& directory) {
  const auto files = log_.core_.disk->list(directory);
  if (!files) return;
  for (const auto& each : *files) {
    unsigned long long number = 0;
    if (each.name.ends_with(".seg.new"))
      repairs_.operations.push_back(runtime::disk_op::unlink{directory + "/" + each.name});
    if (each.is_directory || !each.name.ends_with(".seg") ||
        !parse_hex_number(std::string_view(each.name).substr(0, 16), number))
      continue;
    const bool known =
        std::any_of(segments_.begin(), segments_.end(), [&](const auto& one) { return one.number == number; });
    if (known) continue;
    if (number < log_.next_segment_) {
      log_.emptied_.push_back(number);
      continue;
    }
    auto bytes = read_file(*log_.core_.disk, directory + "/" + each.name);
    if (!bytes) continue;
    buffers_.push_back(std::make_unique<std::string>(std::move(*bytes)));
    scan_file(*buffers_.back(), nullptr);
  }
}

void log_recovery::place_one(sequence number, std::string_view record) {
  message_parts parts;
  if (!split_message(record.substr(record_header_size), parts)) return;
  const record_header header = read_header(record.data());
  const sequence before = log_.state_.last;
  if (number > before + 1 && (header.flags & record_flag::after_gap) == 0) {
    // Sequences that no record explains: lost, unless the batch that held them was never confirmed.
    const auto skip = skips_.lower_bound(number);
    sequence from = before + 1;
    if (skip != skips_.begin() && *std::prev(skip) >= from) from = *std::prev(skip) + 1;
    const bool torn = header.epoch == torn_epoch_ && header.batch == torn_batch_;
    for (sequence at = from; at < number && !torn;) {
      if (is_removed(at)) {
        ++at;
        continue;
      }
      sequence_range range{at, at};
      while (range.last + 1 < number && !is_removed(range.last + 1)) ++range.last;
      lose(range, "the journal");
      at = range.last + 1;
    }
  }
  const subject_id subject = log_.subjects_.intern(parts.subject);
  log_.place(record, header, subject, log_.segment_for(number, record.size()));
}

void log_recovery::place_unsettled() {
  std::uint64_t only_in_files = 0;
  auto from_journal = journal_.upper_bound(settled_last_);
  auto from_files = only_in_files_.upper_bound(settled_last_);
  while (from_journal != journal_.end() || from_files != only_in_files_.end()) {
    const bool journal_first = from_files == only_in_files_.end() ||
                               (from_journal != journal_.end() && from_journal->first <= from_files->first);
    if (journal_first) {
      if (from_files != only_in_files_.end() && from_files->first == from_journal->first) ++from_files;
      place_one(from_journal->first, from_journal->second);
      ++from_journal;
    } else {
      place_one(from_files->first, from_files->second);
      ++from_files;
      ++only_in_files;
    }
  }
  if (only_in_files > 0) {
    note_finding(finding::severity::warning,
                 std::to_string(only_in_files) + " messages stood in segments and not in the journal: kept");
  }
  for (const sequence last : skips_) {
    const auto time = skip_times_.find(last);
    log_.move_last(last, time == skip_times_.end() ? time_point() : from_unix_nanoseconds(time->second));
  }
}

void log_recovery::apply_removals() {
  for (const sequence number : erased_) {
    segment* from = log_.find(number);
    if (from == nullptr || from->places[from->index_of(number)].offset == 0) continue;
    const auto& at = from->places[from->index_of(number)];
    log_.erase_bytes(repairs_, {&log_, from->number, at.offset, at.length & ~segment::headers_bit, number});
  }
  for (const auto& range : removed_) {
    for (auto next = log_.live_.next(range.first); next && *next <= range.last; next = log_.live_.next(*next + 1)) {
      segment* from = log_.find(*next);
      log_.take_out(*from, *next);
      log_.free_if_empty(*from);
    }
  }
}

// Makes the files hold what memory holds: usually they do, then nothing is written.
result<void> log_recovery::write_differences(const std::string& directory) {
  for (auto& each : log_.segments_) {
    auto& what = *each;
    if (what.submitted == what.size) continue;
    const std::string path = segment_path(directory, what.number);
    if (what.file == nullptr) {
      auto file = log_.core_.disk->open(path, runtime::open_mode::create);
      if (!file) return std::unexpected(file.error());
      what.file = std::move(*file);
    }
    what.unsynced = what.name_unsynced = true;
    const std::uint64_t file_size = what.file_size = log_.core_.disk->size(what.file).value_or(0);
    std::string have(static_cast<std::size_t>(what.size - what.submitted), '\0');
    const auto read = log_.core_.disk->read(what.file, what.submitted, have);
    const std::string_view want =
        std::string_view(what.tail).substr(static_cast<std::size_t>(what.submitted - what.tail_base));
    const bool same = read && *read == have.size() && have == want;
    if (!same) {
      repairs_.operations.push_back(runtime::disk_op::write{what.file, what.submitted, std::string(want)});
    }
    if (file_size > what.size && !what.sealed)
      repairs_.operations.push_back(runtime::disk_op::truncate{what.file, what.size});
    what.submitted = what.size;
  }
  // Files that the journal's account of things does not make again. They go with the next settling, so no new segment
  // may have such a number.
  std::uint64_t next = log_.next_segment_;
  if (const auto files = log_.core_.disk->list(directory)) {
    for (const auto& each : *files) {
      unsigned long long number = 0;
      if (!each.is_directory && each.name.ends_with(".seg") &&
          parse_hex_number(std::string_view(each.name).substr(0, 16), number) && number >= log_.next_segment_) {
        log_.emptied_.push_back(number);
        next = std::max<std::uint64_t>(next, number + 1);
      }
    }
  }
  log_.next_segment_ = next;
  if (!repairs_.operations.empty()) {
    if (auto outcome = log_.core_.disk->execute(std::move(repairs_)); !outcome) return outcome;
  }
  for (auto& each : log_.segments_) {
    each->written = each->submitted;
    each->trim_tail(0);
  }
  return {};
}

}  // namespace tern::storage
