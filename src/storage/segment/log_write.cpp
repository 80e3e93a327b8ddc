// Writing to a segmented_log: staging, committing, removing.
#include "storage/index/subject_pattern.hpp"
#include "storage/segment/segment_footer.hpp"
#include "storage/segment/segmented_log.hpp"

#include <algorithm>

namespace tern::storage {

namespace {
// A longer gap begins a new segment, since gaps cost memory.
constexpr std::uint64_t gap_limit = 1 << 14;
constexpr std::uint64_t sequences_per_segment = 1 << 20;
constexpr std::uint64_t memory_segment_bytes = 1 << 20;
constexpr std::size_t ranges_per_record = 8192;
}  // namespace

segmented_log::segmented_log(store_core& core, std::uint32_t stream, std::string title, bool in_memory,
                             sequence first_sequence)
    : core_(core), stream_(stream), title_(std::move(title)), in_memory_(in_memory) {
  state_.last = first_sequence > 0 ? first_sequence - 1 : 0;
  state_.first = state_.last + 1;
  staged_last_ = state_.last;
}

segmented_log::~segmented_log() = default;

commit_batch& segmented_log::touch() {
  dirty_ = true;
  auto& batch = core_.batch(in_memory_);
  batch.wants_sync |= wants_sync_;
  return batch;
}

void segmented_log::append(const new_message& what) {
  auto& batch = touch();
  record_header header;
  header.epoch = batch.epoch;
  header.batch = batch.number;
  header.stream = stream_;
  header.sequence = what.number;
  header.time = to_unix_nanoseconds(what.timestamp);
  if (what.number != staged_last_ + 1) header.flags = record_flag::after_gap;
  const subject_id subject = subjects_.intern(what.subject);
  subjects_.hold(subject);
  batch.staged.push_back({this, static_cast<std::uint32_t>(batch.bytes.size()), subject});
  append_message_record(batch.bytes, header, what.subject, what.headers, what.payload, !in_memory_);
  staged_last_ = what.number;
}

void segmented_log::skip_to(sequence last, time_point timestamp) {
  if (last <= staged_last_) return;
  auto& batch = touch();
  record_header header;
  header.kind = record_kind::skip;
  header.epoch = batch.epoch;
  header.batch = batch.number;
  header.stream = stream_;
  header.sequence = last;
  header.time = to_unix_nanoseconds(timestamp);
  batch.staged.push_back({this, static_cast<std::uint32_t>(batch.bytes.size()), no_subject});
  append_record(batch.bytes, header, {});
  staged_last_ = last;
}

void segmented_log::commit(std::string_view record, subject_id subject) {
  const record_header header = read_header(record.data());
  dirty_ = true;  // a settling between staging and here did not see it
  if (header.kind == record_kind::skip) return move_last(header.sequence, from_unix_nanoseconds(header.time));
  auto& into = segment_for(header.sequence, record.size());
  place(record, header, subject, into);
  subjects_.release(subject);
  if (owner_ != nullptr) {
    const std::uint64_t bytes = into.reported_bytes(into.places.size() - 1, in_memory_);
    owner_->on_committed(header.sequence, subjects_.name(subject), bytes);
  }
}

void segmented_log::place(std::string_view record, const record_header& header, subject_id subject, segment& into) {
  into.append(record, header, subject);
  subjects_.add(subject, header.sequence);
  live_.append(header.sequence);
  const time_point at = from_unix_nanoseconds(header.time);
  if (state_.messages++ == 0) {
    state_.first = header.sequence;
    state_.first_timestamp = at;
  }
  state_.last = header.sequence;
  state_.last_timestamp = at;
  state_.bytes += into.reported_bytes(into.places.size() - 1, in_memory_);
  state_.subjects = subjects_.size();
  state_.deleted = state_.last - state_.first + 1 - state_.messages;
}

void segmented_log::move_last(sequence last, time_point timestamp) {
  if (last <= state_.last) return;
  state_.last = last;
  if (timestamp != time_point()) state_.last_timestamp = timestamp;
  if (state_.messages == 0) {
    state_.first = last + 1;
  } else {
    state_.deleted = state_.last - state_.first + 1 - state_.messages;
  }
  staged_last_ = std::max(staged_last_, last);
}

void segmented_log::drop_staged(subject_id subject) {
  if (subject != no_subject) subjects_.release(subject);
  staged_last_ = state_.last;
}

void segmented_log::on_commit_failed(const error& why) {
  staged_last_ = state_.last;
  if (owner_ != nullptr) owner_->on_commit_failed(why);
}

// --- segments ---

segment& segmented_log::segment_for(sequence number, std::size_t size) {
  const std::uint64_t limit =
      in_memory_ ? std::min(memory_segment_bytes, core_.options.segment_bytes) : core_.options.segment_bytes;
  if (!segments_.empty() && !segments_.back()->sealed) {
    auto& active = *segments_.back();
    const bool full = active.size + size > limit && active.last >= active.base;
    if (!full && number - active.last <= gap_limit && number - active.base < sequences_per_segment) return active;
    seal(active);
  }
  return begin_segment(number);
}

segment& segmented_log::begin_segment(sequence base) {
  auto fresh = std::make_unique<segment>();
  fresh->number = next_segment_++;
  fresh->key = core_.next_segment_key++;
  fresh->base = base;
  fresh->last = base - 1;
  if (!in_memory_) {
    fresh->tail = encode_segment_header({format_version, 0, 0, stream_, fresh->number, base, base - 1});
  } else {
    fresh->tail.assign(1, '\0');  // so that no record is at 0
  }
  fresh->size = fresh->tail.size();
  segments_.push_back(std::move(fresh));
  return *segments_.back();
}

void segmented_log::seal(segment& what) {
  what.sealed = true;
  what.subjects.shrink_to_fit();
  what.places.shrink_to_fit();
  if (in_memory_) what.tail.shrink_to_fit();
  free_if_empty(what);
}

// --- removing ---

void segmented_log::take_out(segment& from, sequence number) {
  const std::size_t index = from.index_of(number);
  subjects_.remove(from.subjects[index], number);
  live_.remove(number);
  from.subjects[index] = no_subject;
  --from.live;
  from.live_bytes -= from.length_at(index);
  state_.bytes -= from.reported_bytes(index, in_memory_);
  --state_.messages;
}

// A purge costs little per message this way. Each is told while all are still there.
void segmented_log::take_out_everything(const removal_visitor& removed) {
  std::vector<segment*> all;
  for (const auto& each : segments_) {
    if (each->live != 0) all.push_back(each.get());
  }
  for (segment* from : all) {
    for (std::size_t i = 0; removed && i < from->subjects.size(); ++i) {
      if (from->subjects[i] != no_subject) removed(from->base + i, subjects_.name(from->subjects[i]));
    }
  }
  subjects_.remove_everything();
  live_.clear();
  state_.messages = 0;
  state_.bytes = 0;
  for (segment* from : all) {
    std::fill(from->subjects.begin(), from->subjects.end(), no_subject);
    from->live = 0;
    from->live_bytes = 0;
    free_if_empty(*from);
  }
}

// Called once after one or many removals, since it looks for the first message.
void segmented_log::repair_first() {
  state_.subjects = subjects_.size();
  if (state_.messages == 0) {
    state_.first = state_.last + 1;
    state_.first_timestamp = {};
    state_.deleted = 0;
    return;
  }
  const sequence first = *live_.first();
  // During recovery the number may be right before the time is known.
  if (first != state_.first || state_.first_timestamp == time_point()) {
    state_.first = first;
    const segment& holder = *find(first);
    state_.first_timestamp = from_unix_nanoseconds(holder.places[holder.index_of(first)].time);
  }
  state_.deleted = state_.last - state_.first + 1 - state_.messages;
}

void segmented_log::free_if_empty(segment& what) {
  if (!what.sealed) return;
  if (what.live != 0) {
    if (in_memory_ && mostly_dead(what)) compact_memory(what);
    return;
  }
  // A damaged file is kept: somebody may want to look at it.
  if (!in_memory_ && !what.damaged) {
    emptied_.push_back(what.number);
    core_.freeable_bytes += what.size;
  }
  if (recent_ == &what) recent_ = nullptr;
  const auto found = std::lower_bound(segments_.begin(), segments_.end(), what.number,
                                      [](const auto& each, std::uint64_t number) { return each->number < number; });
  segments_.erase(found);
}

bool segmented_log::remove(sequence number, bool erase) {
  segment* from = find(number);
  if (from == nullptr || from->subjects[from->index_of(number)] == no_subject) return false;
  if (!in_memory_) {
    auto& batch = touch();
    record_header header;
    header.kind = record_kind::remove;
    header.epoch = batch.epoch;
    header.batch = batch.number;
    header.stream = stream_;
    header.sequence = number;
    if (erase) {
      header.flags = record_flag::erase;
      const auto& at = from->places[from->index_of(number)];
      batch.erases.push_back({this, from->number, at.offset, at.length & ~segment::headers_bit, number});
    }
    append_record(batch.bytes, header, {});
  }
  take_out(*from, number);
  repair_first();
  free_if_empty(*from);
  return true;
}

void segmented_log::log_ranges(const std::vector<sequence_range>& ranges, sequence moved_last) {
  if (in_memory_) return;
  std::size_t at = 0;
  do {
    const std::size_t count = std::min(ranges.size() - at, ranges_per_record);
    std::string body;
    append_varint(body, count);
    sequence before = 0;
    for (std::size_t end = at + count; at < end; ++at) {
      append_varint(body, ranges[at].first - before);
      append_varint(body, ranges[at].last - ranges[at].first);
      before = ranges[at].last;
    }
    auto& batch = touch();
    record_header header;
    header.kind = record_kind::remove_ranges;
    header.epoch = batch.epoch;
    header.batch = batch.number;
    header.stream = stream_;
    if (moved_last != 0 && at == ranges.size()) {
      header.flags = record_flag::moves_last;
      header.sequence = moved_last;
    }
    append_record(batch.bytes, header, body);
  } while (at < ranges.size());
}

std::uint64_t segmented_log::purge(const purge_request& what, const removal_visitor& removed) {
  const bool everything = what.subject.empty() || what.subject == ">";
  const sequence end = what.below == 0 ? state_.last + 1 : std::min(what.below, state_.last + 1);
  std::vector<sequence_range> ranges;
  std::uint64_t count = 0;
  if (everything) {
    count = live_.count_below(end);
    sequence bound = end;
    if (what.keep != 0) {
      count = count > what.keep ? count - what.keep : 0;
      bound = count == 0 ? 0 : live_.at(count - 1) + 1;
    }
    if (count > 0 && bound > 1) {
      live_.for_each_run(0, bound - 1, [&](sequence_range run) {
        ranges.push_back(run);
        return true;
      });
    }
  } else {
    std::vector<sequence> matches;
    subjects_.for_each_match(what.subject, 0, [&](subject_id id) {
      const auto& postings = subjects_.postings(id);
      for (auto at = postings.next(0); at && *at < end; at = postings.next(*at + 1)) matches.push_back(*at);
      return true;
    });
    std::sort(matches.begin(), matches.end());
    if (what.keep != 0) matches.resize(matches.size() > what.keep ? matches.size() - what.keep : 0);
    count = matches.size();
    for (const sequence number : matches) {
      if (!ranges.empty() && ranges.back().last + 1 == number) {
        ranges.back().last = number;
      } else {
        ranges.push_back({number, number});
      }
    }
  }
  // Past everything: later messages begin there.
  sequence moved_last = everything && what.below > state_.last + 1 ? what.below - 1 : 0;
  if (moved_last != 0 && staged_last_ > state_.last) {
    // Messages are on their way: the end moves behind them.
    skip_to(moved_last, {});
    moved_last = 0;
  }
  if (ranges.empty() && moved_last == 0) return 0;
  log_ranges(ranges, moved_last);
  if (everything && count == state_.messages) {
    take_out_everything(removed);
    ranges.clear();
  }
  for (const auto& range : ranges) {
    for (sequence number = range.first; number <= range.last; ++number) {
      segment* from = find(number);
      if (from == nullptr || from->subjects[from->index_of(number)] == no_subject) continue;
      if (removed) removed(number, subjects_.name(from->subjects[from->index_of(number)]));
      take_out(*from, number);
      free_if_empty(*from);
    }
  }
  repair_first();
  if (moved_last != 0) move_last(moved_last, {});
  return count;
}

}  // namespace tern::storage
