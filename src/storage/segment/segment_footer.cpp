#include "storage/segment/segment_footer.hpp"

#include "storage/segment/record_reader.hpp"

#include <unordered_map>

namespace tern::storage {

std::string encode_footer(const segment& what, std::uint32_t stream,
                          const std::function<std::string_view(subject_id)>& name_of) {
  std::unordered_map<subject_id, std::uint32_t> numbers;
  std::string table, rows;
  std::uint64_t count = 0;
  std::int64_t time = 0;
  sequence before = what.base - 1;
  std::uint64_t expected = segment_header_size;
  for (std::size_t index = 0; index < what.places.size(); ++index) {
    const auto& place = what.places[index];
    if (place.offset == 0) continue;
    std::uint32_t subject = 0;
    if (what.subjects[index] != no_subject) {
      const auto [found, added] =
          numbers.try_emplace(what.subjects[index], static_cast<std::uint32_t>(numbers.size() + 1));
      if (added) append_text(table, name_of(what.subjects[index]));
      subject = found->second;
    }
    const sequence number = what.base + index;
    append_varint(rows, number - before);
    append_varint(rows, subject);
    append_varint(rows, std::uint64_t{what.length_at(index)} << 1 | ((place.length & segment::headers_bit) != 0));
    append_signed_varint(rows, place.time - time);
    append_signed_varint(rows, static_cast<std::int64_t>(place.offset - expected));
    before = number;
    time = place.time;
    expected = std::uint64_t{place.offset} + what.length_at(index);
    ++count;
  }
  std::string body;
  append_number(body, format_version);
  append_varint(body, what.number);
  append_varint(body, what.base);
  append_varint(body, what.last);
  append_varint(body, what.size);
  append_varint(body, numbers.size());
  body.append(table);
  append_varint(body, count);
  body.append(rows);

  record_header header;
  header.kind = record_kind::segment_footer;
  header.stream = stream;
  header.sequence = what.last;
  std::string out;
  append_record(out, header, body);
  header.kind = record_kind::footer_pointer;
  header.sequence = what.size;
  append_record(out, header, {});
  return out;
}

std::optional<decoded_footer> decode_footer(std::string_view body) {
  byte_reader reader(body);
  decoded_footer out;
  out.identity.version = reader.number<std::uint16_t>();
  if (out.identity.version != format_version) return std::nullopt;
  out.identity.number = reader.varint();
  out.identity.base = reader.varint();
  out.identity.last = reader.varint();
  out.size = reader.varint();
  const std::uint64_t subjects = reader.varint();
  if (!reader.ok() || subjects > reader.remaining()) return std::nullopt;
  out.subjects.reserve(subjects);
  for (std::uint64_t at = 0; at < subjects; ++at) out.subjects.emplace_back(reader.text());
  const std::uint64_t count = reader.varint();
  if (!reader.ok() || count > reader.remaining()) return std::nullopt;
  out.entries.reserve(count);
  std::int64_t time = 0;
  sequence number = out.identity.base - 1;
  std::uint64_t expected = segment_header_size;
  for (std::uint64_t at = 0; at < count && reader.ok(); ++at) {
    footer_entry entry;
    number += reader.varint();
    const std::uint64_t subject = reader.varint();
    const std::uint64_t length = reader.varint();
    time = static_cast<std::int64_t>(static_cast<std::uint64_t>(time) +
                                     static_cast<std::uint64_t>(reader.signed_varint()));
    entry.offset = expected + static_cast<std::uint64_t>(reader.signed_varint());
    entry.number = number;
    entry.length = static_cast<std::uint32_t>(length >> 1);
    entry.has_headers = (length & 1) != 0;
    entry.time = time;
    entry.subject = static_cast<std::uint32_t>(subject);
    expected = entry.offset + entry.length;
    if (subject > out.subjects.size() || number < out.identity.base || number > out.identity.last ||
        entry.length < record_header_size + message_prefix_size || expected > out.size) {
      return std::nullopt;
    }
    out.entries.push_back(entry);
  }
  if (!reader.ok()) return std::nullopt;
  return out;
}

std::optional<decoded_footer> read_footer(runtime::disk& disk, const runtime::file_ref& file, std::uint64_t file_size) {
  if (file_size < segment_header_size + 2 * record_header_size) return std::nullopt;
  char pointer[record_header_size];
  const auto read = disk.read(file, file_size - sizeof pointer, pointer);
  const std::string_view end(pointer, sizeof pointer);
  if (!read || *read != sizeof pointer || !header_is_whole(end)) return std::nullopt;
  const record_header header = read_header(pointer);
  if (header.kind != record_kind::footer_pointer || header.sequence >= file_size - sizeof pointer) return std::nullopt;
  std::string bytes(static_cast<std::size_t>(file_size - sizeof pointer - header.sequence), '\0');
  const auto rest = disk.read(file, header.sequence, bytes);
  if (!rest || *rest != bytes.size()) return std::nullopt;
  record_reader reader(bytes);
  if (reader.next() != record_reader::item::record || reader.header().kind != record_kind::segment_footer)
    return std::nullopt;
  auto out = decode_footer(reader.body());
  if (!out || out->size != header.sequence) return std::nullopt;
  out->identity.stream = reader.header().stream;
  return out;
}

}  // namespace tern::storage
