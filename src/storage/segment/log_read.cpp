// Reading a segmented_log: messages by sequence, and the questions about sequences, times and subjects.
#include "storage/segment/segmented_log.hpp"

#include <algorithm>

namespace tern::storage {

namespace {
// Larger records are read past the cache.
constexpr std::uint64_t cached_record_limit = 4 * block_cache::block_size;
}  // namespace

const segment* segmented_log::find(sequence number) const {
  if (recent_ != nullptr && recent_->holds(number)) return recent_;
  if (segments_.empty()) return nullptr;
  if (number >= segments_.back()->base) {
    recent_ = segments_.back().get();
  } else {
    auto above = std::upper_bound(segments_.begin(), segments_.end(), number,
                                  [](sequence wanted, const auto& each) { return wanted < each->base; });
    if (above == segments_.begin()) return nullptr;
    recent_ = std::prev(above)->get();
  }
  return recent_->holds(number) ? recent_ : nullptr;
}

std::optional<sequence> segmented_log::next_with_headers(sequence from) const {
  auto at = std::upper_bound(segments_.begin(), segments_.end(), from,
                             [](sequence wanted, const auto& each) { return wanted < each->base; });
  if (at != segments_.begin()) --at;
  for (; at != segments_.end(); ++at) {
    const segment& here = **at;
    if (here.live == 0 || here.last < from) continue;
    for (std::size_t i = here.index_of(std::max(from, here.base)); i < here.places.size(); ++i) {
      if (here.subjects[i] != no_subject && (here.places[i].length & segment::headers_bit) != 0) return here.base + i;
    }
  }
  return std::nullopt;
}

subject_id segmented_log::id_at(sequence number) const {
  const segment* holder = find(number);
  return holder == nullptr ? no_subject : holder->subjects[holder->index_of(number)];
}

subject_numbers::stretch segmented_log::stretch_from(sequence from) const {
  const auto first = live_.next(from);
  if (!first) return {};
  const segment& holder = *find(*first);
  return {*first, std::span<const subject_id>(holder.subjects).subspan(holder.index_of(*first))};
}

// --- bytes ---

result<std::string_view> segmented_log::read_bytes(segment& from, std::uint64_t offset, std::uint64_t size) {
  const std::uint64_t first = offset / block_cache::block_size;
  const std::uint64_t last = (offset + size - 1) / block_cache::block_size;
  if (size > cached_record_limit) {
    scratch_.resize(static_cast<std::size_t>(size));
    const auto read = core_.disk->read(from.file, offset, scratch_);
    if (!read) return std::unexpected(read.error());
    return std::string_view(scratch_).substr(0, *read);
  }
  auto block = core_.cache.get(*core_.disk, from.file, from.key, first);
  if (!block) return std::unexpected(block.error());
  const std::uint64_t within = offset - first * block_cache::block_size;
  if (first == last) {
    pinned_ = std::move(*block);
    if (within >= pinned_->size()) return std::string_view();
    return std::string_view(*pinned_).substr(static_cast<std::size_t>(within), static_cast<std::size_t>(size));
  }
  scratch_.clear();
  for (auto index = first;; ++index) {
    if (index == first) {
      if (within < (*block)->size()) scratch_.append(**block, static_cast<std::size_t>(within));
    } else {
      block = core_.cache.get(*core_.disk, from.file, from.key, index);
      if (!block) return std::unexpected(block.error());
      scratch_.append(**block);
    }
    if (index == last) break;
  }
  return std::string_view(scratch_).substr(0, static_cast<std::size_t>(size));
}

// The record's bytes: trusted from memory, verified from a file. errc::corrupted when they are not those that were
// written.
result<std::string_view> segmented_log::read_record(segment& from, std::size_t index) {
  const std::uint64_t offset = from.places[index].offset;
  const std::uint64_t length = from.length_at(index);
  if (offset >= from.tail_base) {
    return std::string_view(from.tail).substr(static_cast<std::size_t>(offset - from.tail_base), length);
  }
  if (from.file == nullptr) return fail(errc::corrupted, title_ + ": segment file is missing");
  auto bytes = read_bytes(from, offset, length);
  if (!bytes) return bytes;
  if (bytes->size() == length && header_is_whole(*bytes)) {
    const record_header header = read_header(bytes->data());
    if (header.kind == record_kind::message && header.sequence == from.base + index && header.stream == stream_ &&
        record_size(header) == length && header.transform == body_transform::none &&
        hash64(bytes->substr(record_header_size)) == header.body_hash) {
      return bytes;
    }
  }
  return fail(errc::corrupted,
              title_ + ": message " + std::to_string(from.base + index) + " is damaged in " + from.file->path());
}

result<stored_message> segmented_log::load(sequence number) {
  segment* from = find(number);
  if (from == nullptr || from->subjects[from->index_of(number)] == no_subject) {
    for (const auto& range : state_.lost) {
      if (number >= range.first && number <= range.last) {
        return fail(errc::corrupted, title_ + ": message " + std::to_string(number) + " was lost to damage");
      }
    }
    return fail(errc::not_found, "no message found");
  }
  auto bytes = read_record(*from, from->index_of(number));
  if (!bytes && bytes.error().code() == errc::corrupted && from->file != nullptr && core_.repair &&
      from->places[from->index_of(number)].offset >= from->durable && core_.repair(stream_)) {
    bytes = read_record(*from, from->index_of(number));
  }
  if (!bytes) {
    if (bytes.error().code() == errc::corrupted) {
      core_.note(finding::severity::damage, bytes.error().context());
      mark_lost(number);
    }
    return std::unexpected(bytes.error());
  }
  message_parts parts;
  if (!split_message(bytes->substr(record_header_size), parts)) {
    mark_lost(number);
    return fail(errc::corrupted, title_ + ": message " + std::to_string(number) + " has impossible lengths");
  }
  return stored_message{number, from_unix_nanoseconds(get<std::int64_t>(bytes->data() + 32)), parts.subject,
                        parts.headers, parts.payload};
}

// --- damage ---

void segmented_log::mark_lost(sequence number) {
  segment* from = find(number);
  from->damaged = true;
  take_out(*from, number);
  repair_first();
  add_lost({number, number});
  dirty_ = true;
}

void segmented_log::add_lost(sequence_range range) {
  auto& lost = state_.lost;
  auto at = std::lower_bound(lost.begin(), lost.end(), range,
                             [](const auto& left, const auto& right) { return left.last + 1 < right.first; });
  while (at != lost.end() && at->first <= range.last + 1) {
    range.first = std::min(range.first, at->first);
    range.last = std::max(range.last, at->last);
    at = lost.erase(at);
  }
  lost.insert(at, range);
}

// --- questions ---

std::optional<sequence> segmented_log::first_at_or_after(time_point at) {
  const std::int64_t wanted = to_unix_nanoseconds(at);
  const auto holder = std::partition_point(segments_.begin(), segments_.end(), [&](const auto& each) {
    return each->places.empty() || each->places.back().time < wanted;
  });
  if (holder == segments_.end()) return std::nullopt;
  const auto& places = (*holder)->places;
  const auto place =
      std::partition_point(places.begin(), places.end(), [&](const auto& each) { return each.time < wanted; });
  return live_.next((*holder)->base + static_cast<std::uint64_t>(place - places.begin()));
}

std::vector<sequence_range> segmented_log::deleted_ranges() const {
  if (state_.messages == 0) return {};
  return live_.gaps(state_.first, state_.last);
}

std::string_view segmented_log::subject_of(sequence number) const {
  const subject_id id = id_at(number);
  return id == no_subject ? std::string_view() : subjects_.name(id);
}

subject_totals segmented_log::totals(std::string_view subject) const {
  const subject_id id = subjects_.find(subject);
  return id == no_subject ? subject_totals() : subjects_.totals(id);
}

std::optional<sequence> segmented_log::last_match(std::string_view pattern, sequence up_to) const {
  return storage::last_match(view(), pattern, up_to);
}

std::optional<sequence> segmented_log::first_match(std::string_view pattern, sequence from) const {
  return storage::first_match(view(), pattern, from);
}

std::uint64_t segmented_log::for_each_subject(
    std::string_view pattern, std::uint64_t offset,
    const std::function<bool(std::string_view, const subject_totals&)>& visit) const {
  return subjects_.for_each_match(pattern.empty() ? std::string_view(">") : pattern, offset,
                                  [&](subject_id id) { return visit(subjects_.name(id), subjects_.totals(id)); });
}

std::unique_ptr<match_cursor> segmented_log::open_cursor(subject_filters filters) {
  return make_match_cursor(view(), std::move(filters));
}

}  // namespace tern::storage
