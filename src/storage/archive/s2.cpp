#include "storage/archive/s2.hpp"

#include "storage/archive/crc32c.hpp"
#include "storage/segment/byte_order.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <snappy.h>

namespace tern::storage::archive {
namespace {

constexpr std::size_t frame_header_size = 4;
constexpr std::size_t checksum_size = 4;
constexpr std::string_view snappy_identifier = "sNaPpY";
constexpr std::string_view s2_identifier = "S2sTwO";

enum frame_kind : unsigned char {
  compressed_data = 0x00,
  plain_data = 0x01,
  first_skippable = 0x80,
  stream_identifier = 0xff,
};

// The texts of the peer's decoder: they reach clients in the answer to a restore.
std::unexpected<error> corrupt() { return fail(errc::corrupted, "s2: corrupt input"); }

// Walks the tags of one block. What is decoded so far is what copies refer to.
class block_decoder {
 public:
  block_decoder(std::string_view block, char* to, std::size_t size)
      : at_(reinterpret_cast<const unsigned char*>(block.data())), end_(at_ + block.size()), to_(to), size_(size) {}

  bool run() {
    while (at_ != end_) {
      if (!step()) return false;
    }
    return done_ == size_;
  }

 private:
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  // A little-endian number of `bytes` bytes.
  bool number(std::size_t bytes, std::uint64_t& value) {
    if (left() < bytes) return false;
    value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value |= std::uint64_t{at_[i]} << (8 * i);
    at_ += bytes;
    return true;
  }

  bool step() {
    const unsigned char tag = *at_++;
    switch (tag & 3) {
      case 0:
        return literal(tag >> 2);
      case 1:
        return near_copy(tag);
      case 2:
        return far_copy(tag, 2);
      default:
        return far_copy(tag, 4);
    }
  }

  bool literal(std::uint64_t length) {
    if (length >= 60 && !number(static_cast<std::size_t>(length - 59), length)) return false;
    ++length;
    if (length > left() || length > size_ - done_) return false;
    std::memcpy(to_ + done_, at_, static_cast<std::size_t>(length));
    at_ += length;
    done_ += static_cast<std::size_t>(length);
    return true;
  }

  // An offset of zero, which Snappy does not know, repeats the offset before with a length of its own.
  bool near_copy(unsigned char tag) {
    std::uint64_t low;
    if (!number(1, low)) return false;
    std::uint64_t length = tag >> 2 & 7;
    const std::uint64_t offset = std::uint64_t{tag & 0xe0U} << 3 | low;
    if (offset != 0) {
      offset_ = offset;
      return copy(length + 4);
    }
    if (length >= 5) {
      const std::size_t bytes = static_cast<std::size_t>(length) - 4;
      const std::uint64_t base = bytes == 1 ? 4 : bytes == 2 ? 1U << 8 : 1U << 16;
      if (!number(bytes, length)) return false;
      length += base;
    }
    return copy(length + 4);
  }

  bool far_copy(unsigned char tag, std::size_t bytes) {
    return number(bytes, offset_) && copy(std::uint64_t{tag} / 4 + 1);
  }

  bool copy(std::uint64_t length) {
    if (offset_ == 0 || offset_ > done_ || length > size_ - done_) return false;
    const char* from = to_ + done_ - offset_;
    char* into = to_ + done_;
    if (offset_ >= length) {
      std::memcpy(into, from, static_cast<std::size_t>(length));
    } else {
      for (std::uint64_t i = 0; i < length; ++i) into[i] = from[i];  // overlaps itself: a repeated pattern
    }
    done_ += static_cast<std::size_t>(length);
    return true;
  }

  const unsigned char* at_;
  const unsigned char* end_;
  char* to_;
  std::size_t size_;
  std::size_t done_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace

result<void> decode_s2_block(std::string_view block, std::size_t limit, std::string& out) {
  byte_reader head(block);
  const std::uint64_t size = head.varint();
  if (!head.ok()) return corrupt();
  if (size > limit) return fail(errc::limit_exceeded, "s2: decoded block is too large");
  const std::size_t start = out.size();
  out.resize(start + static_cast<std::size_t>(size));
  if (block_decoder(head.rest(), out.data() + start, static_cast<std::size_t>(size)).run()) return {};
  out.resize(start);
  return corrupt();
}

void s2_frame_reader::push(std::string_view bytes) {
  if (at_ > 0) {
    waiting_.erase(0, at_);
    at_ = 0;
  }
  waiting_.append(bytes);
}

result<bool> s2_frame_reader::next(std::string& block) {
  block.clear();
  while (!failed_) {
    const std::string_view rest = std::string_view(waiting_).substr(at_);
    if (rest.size() < frame_header_size) return false;
    const std::size_t length = get<std::uint32_t>(rest.data()) >> 8;
    const auto kind = static_cast<unsigned char>(rest[0]);
    const bool data = kind < first_skippable;
    if (data && length > s2_block_max + s2_block_max / 6 + 64) break;
    if (rest.size() - frame_header_size < length) return false;
    at_ += frame_header_size + length;
    auto outcome = read_frame(kind, rest.substr(frame_header_size, length), block);
    if (!outcome) {
      failed_ = true;
      return outcome;
    }
    if (*outcome) return true;
  }
  failed_ = true;
  return corrupt();
}

result<bool> s2_frame_reader::read_frame(unsigned char kind, std::string_view body, std::string& block) {
  if (kind == stream_identifier) {
    if (body != s2_identifier && body != snappy_identifier) return corrupt();
    begun_ = true;
    return false;
  }
  if (!begun_) return corrupt();
  if (kind >= first_skippable) return false;  // padding, an index, what later versions add
  if (kind > plain_data) return fail(errc::corrupted, "s2: unsupported input");
  if (body.size() < checksum_size) return corrupt();
  const auto checksum = get<std::uint32_t>(body.data());
  body.remove_prefix(checksum_size);
  if (kind == plain_data) {
    if (body.size() > s2_block_max) return fail(errc::corrupted, "s2: decoded block is too large");
    block.assign(body);
  } else if (auto decoded = decode_s2_block(body, s2_block_max, block); !decoded) {
    return std::unexpected(std::move(decoded.error()));
  }
  if (masked_crc32c(block) != checksum) return fail(errc::corrupted, "s2: corrupt input, crc mismatch");
  return !block.empty();
}

void snappy_frame_writer::append(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    if (gathered_.empty() && bytes.size() >= snappy_block_max) {
      emit(bytes.substr(0, snappy_block_max), out);
      bytes.remove_prefix(snappy_block_max);
      continue;
    }
    const std::size_t take = std::min(bytes.size(), snappy_block_max - gathered_.size());
    gathered_.append(bytes.substr(0, take));
    bytes.remove_prefix(take);
    if (gathered_.size() == snappy_block_max) flush(out);
  }
}

void snappy_frame_writer::flush(std::string& out) {
  if (gathered_.empty()) return;
  emit(gathered_, out);
  gathered_.clear();
}

void snappy_frame_writer::emit(std::string_view block, std::string& out) {
  const auto header = [&out](unsigned char kind, std::size_t length) {
    append_number(out, static_cast<std::uint32_t>(length << 8 | kind));
  };
  if (!begun_) {
    header(stream_identifier, snappy_identifier.size());
    out.append(snappy_identifier);
    begun_ = true;
  }
  compressed_.resize(snappy::MaxCompressedLength(block.size()));
  std::size_t size = 0;
  snappy::RawCompress(block.data(), block.size(), compressed_.data(), &size);
  const bool pays = size < block.size() - block.size() / 8;
  const std::string_view body = pays ? std::string_view(compressed_.data(), size) : block;
  header(pays ? compressed_data : plain_data, checksum_size + body.size());
  append_number(out, masked_crc32c(block));
  out.append(body);
}

}  // namespace tern::storage::archive
