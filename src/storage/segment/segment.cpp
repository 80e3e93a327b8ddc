#include "storage/segment/segment.hpp"

#include <algorithm>

namespace tern::storage {

std::string encode_segment_header(const segment_identity& what) {
  std::string body;
  append_number(body, what.version);
  append_number(body, std::uint16_t{0});
  append_number(body, what.features);
  append_number(body, what.key_id);
  append_number(body, what.number);
  append_number(body, what.base);
  append_number(body, what.last);
  append_number(body, std::uint64_t{0});
  record_header header;
  header.kind = record_kind::segment_header;
  header.stream = what.stream;
  header.sequence = what.base;
  std::string out;
  append_record(out, header, body);
  return out;
}

bool decode_segment_header(const record_header& header, std::string_view body, segment_identity& out) {
  if (header.kind != record_kind::segment_header || body.size() < segment_header_body_size) return false;
  byte_reader reader(body);
  out.version = reader.number<std::uint16_t>();
  reader.number<std::uint16_t>();
  out.features = reader.number<std::uint32_t>();
  out.key_id = reader.number<std::uint64_t>();
  out.number = reader.number<std::uint64_t>();
  out.base = reader.number<std::uint64_t>();
  out.last = reader.number<std::uint64_t>();
  out.stream = header.stream;
  return out.version == format_version;
}

std::uint64_t segment::reported_bytes(std::size_t index, bool in_memory) const {
  const std::uint64_t parts = length_at(index) - record_header_size - message_prefix_size;
  if (in_memory) return memory_record_bytes(parts, 0, 0);
  return file_record_bytes(parts, 0, 0) + ((places[index].length & headers_bit) != 0 ? 4 : 0);
}

void segment::enter_at_end(const record_header& header, subject_id subject, std::uint64_t offset) {
  if (header.sequence > last + 1) {
    const std::size_t missing = static_cast<std::size_t>(header.sequence - last - 1);
    subjects.resize(subjects.size() + missing, no_subject);
    places.resize(places.size() + missing, place{header.time, 0, 0});
  }
  subjects.push_back(subject);
  const auto length = static_cast<std::uint32_t>(record_size(header));
  places.push_back({header.time, static_cast<std::uint32_t>(offset),
                    length | ((header.flags & record_flag::has_headers) != 0 ? headers_bit : 0)});
  last = header.sequence;
}

void segment::append(std::string_view record, const record_header& header, subject_id subject) {
  enter_at_end(header, subject, size);
  live += subject != no_subject;
  live_bytes += subject != no_subject ? record.size() : 0;
  tail.append(record);
  size += record.size();
}

void segment::trim_tail(std::uint64_t keep) {
  const std::uint64_t needed = std::min(written, size > keep ? size - keep : 0);
  if (needed <= tail_base) return;
  tail.erase(0, static_cast<std::size_t>(needed - tail_base));
  tail_base = needed;
  if (tail.empty()) tail.shrink_to_fit();
}

}  // namespace tern::storage
