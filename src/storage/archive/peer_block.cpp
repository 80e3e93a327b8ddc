#include "storage/archive/peer_block.hpp"

#include "storage/archive/s2.hpp"
#include "storage/segment/byte_order.hpp"

namespace tern::storage::archive {
namespace {

constexpr std::uint32_t headers_bit = 0x80000000;
constexpr std::uint64_t erased_bit = std::uint64_t{1} << 63;
constexpr std::uint64_t tombstone_bit = std::uint64_t{1} << 62;
constexpr std::size_t fixed_size = 22;
constexpr std::size_t checksum_size = 8;
constexpr std::string_view compression_magic = "cmp\x01";  // the algorithm is S2, the only one

std::uint64_t checksum_of(const highway_hash::key& key, std::string_view number_and_time, std::string_view subject,
                          std::string_view headers, std::string_view payload) {
  return highway_hash(key).update(number_and_time).update(subject).update(headers).update(payload).finish();
}

}  // namespace

highway_hash::key block_key(std::string_view stream, std::uint32_t block) {
  return highway_hash::key_of(std::string(stream) + "-" + std::to_string(block));
}

bool peer_block_reader::read(std::uint64_t at) {
  const std::string_view rest = bytes_.substr(at);
  if (rest.size() < peer_record_overhead) return false;
  const auto length_field = get<std::uint32_t>(rest.data());
  const std::uint64_t length = length_field & ~headers_bit;
  const bool has_headers = (length_field & headers_bit) != 0;
  const std::uint64_t subject_size = get<std::uint16_t>(rest.data() + 20);
  std::uint64_t needed = peer_record_overhead + subject_size + (has_headers ? 4 : 0);
  if (length < needed || length > rest.size() || length > peer_record_max) return false;
  std::string_view body = rest.substr(fixed_size, static_cast<std::size_t>(length) - fixed_size - checksum_size);
  record_.subject = body.substr(0, subject_size);
  body.remove_prefix(subject_size);
  record_.headers = {};
  if (has_headers) {
    const auto size = get<std::uint32_t>(body.data());
    body.remove_prefix(4);
    if (size > body.size()) return false;
    record_.headers = body.substr(0, size);
    body.remove_prefix(size);
  }
  record_.payload = body;
  const auto stored = get<std::uint64_t>(rest.data() + length - checksum_size);
  if (checksum_of(key_, rest.substr(4, 16), record_.subject, record_.headers, record_.payload) != stored) return false;
  checksum_ = stored;
  record_size_ = length;
  const auto number = get<std::uint64_t>(rest.data() + 4);
  record_.what = (number & tombstone_bit) != 0               ? peer_record::kind::tombstone
                 : (number & erased_bit) != 0 || number == 0 ? peer_record::kind::erased
                                                             : peer_record::kind::message;
  record_.number = number & ~(erased_bit | tombstone_bit);
  record_.time = get<std::int64_t>(rest.data() + 12);
  return true;
}

peer_block_reader::item peer_block_reader::next() {
  offset_ = next_;
  if (offset_ >= bytes_.size()) return item::end;
  if (read(offset_)) {
    next_ = offset_ + record_size_;
    return item::record;
  }
  // Lengths that do not fit are refused before anything is hashed, so this costs little per byte.
  std::uint64_t at = offset_ + 1;
  while (at < bytes_.size() && !read(at)) ++at;
  next_ = at;
  return item::damaged;
}

result<void> append_peer_record(std::string& block, const peer_record& what, const highway_hash::key& key) {
  const std::size_t size = peer_record_overhead + what.subject.size() +
                           (what.headers.empty() ? 0 : 4 + what.headers.size()) + what.payload.size();
  if (what.subject.size() > 0xffff || size > peer_record_max || (what.number & (erased_bit | tombstone_bit)) != 0) {
    return fail(errc::limit_exceeded, "message " + std::to_string(what.number) + " does not fit in a message block");
  }
  const std::size_t start = block.size();
  append_number(block, static_cast<std::uint32_t>(size | (what.headers.empty() ? 0 : headers_bit)));
  append_number(block, what.number | (what.what == peer_record::kind::erased      ? erased_bit
                                      : what.what == peer_record::kind::tombstone ? tombstone_bit
                                                                                  : 0));
  append_number(block, what.time);
  append_number(block, static_cast<std::uint16_t>(what.subject.size()));
  block.append(what.subject);
  if (!what.headers.empty()) {
    append_number(block, static_cast<std::uint32_t>(what.headers.size()));
    block.append(what.headers);
  }
  block.append(what.payload);
  const std::string number_and_time = block.substr(start + 4, 16);
  append_number(block, checksum_of(key, number_and_time, what.subject, what.headers, what.payload));
  return {};
}

result<std::string> decompress_peer_block(std::string bytes) {
  if (!bytes.starts_with(compression_magic) || bytes.size() < compression_magic.size() + 1 + checksum_size)
    return bytes;
  byte_reader head(std::string_view(bytes).substr(compression_magic.size()));
  const std::uint64_t size = head.varint();
  std::string_view body = head.rest();
  if (!head.ok() || size > peer_block_max || body.size() < checksum_size)
    return fail(errc::corrupted, "a compressed block whose head is damaged");
  s2_frame_reader frames;
  frames.push(body.substr(0, body.size() - checksum_size));
  std::string out, piece;
  // What comes before the damage is kept: the reader of the records tells what is missing.
  for (auto more = frames.next(piece); more && *more; more = frames.next(piece)) {
    if (out.size() + piece.size() > size)
      return fail(errc::corrupted, "a compressed block that is larger than it says");
    out.append(piece);
  }
  if (out.empty()) return fail(errc::corrupted, "a compressed block that does not decode");
  out.append(body.substr(body.size() - checksum_size));
  return out;
}

std::string compress_peer_block(std::string_view block) {
  std::string out(compression_magic);
  append_varint(out, block.size());
  snappy_frame_writer frames;
  frames.append(block.substr(0, block.size() - checksum_size), out);
  frames.flush(out);
  out.append(block.substr(block.size() - checksum_size));
  return out;
}

}  // namespace tern::storage::archive
