#include "storage/segment/record_reader.hpp"

namespace tern::storage {

// A whole header whose body lies inside. A header that promises more than there is belongs to a cut record.
bool record_reader::fits(std::uint64_t at) const {
  const std::string_view rest = bytes_.substr(at);
  return header_is_whole(rest) &&
         record_header_size + std::uint64_t{get<std::uint32_t>(rest.data() + 20)} <= rest.size();
}

std::uint64_t record_reader::resynchronise(std::uint64_t from) const {
  char magic[4];
  put(magic, record_magic);
  for (std::size_t at = from; (at = bytes_.find(std::string_view(magic, 4), at)) != std::string_view::npos; ++at) {
    if (fits(at)) return at;
  }
  return bytes_.size();
}

record_reader::item record_reader::next() {
  offset_ = next_;
  if (offset_ >= bytes_.size()) {
    next_ = offset_ = bytes_.size();
    return item::end;
  }
  if (!fits(offset_)) {
    next_ = resynchronise(offset_ + 1);
    return item::damaged_range;
  }
  header_ = read_header(bytes_.data() + offset_);
  next_ = offset_ + record_size(header_);
  if (hash64(body()) == header_.body_hash) return item::record;
  // The length is right where a record or the end follows. Else the header itself may have been moved here, with a page
  // that was swapped, and what it promises to span are other records.
  if (next_ != bytes_.size() && !header_is_whole(bytes_.substr(next_)))
    next_ = resynchronise(offset_ + record_header_size);
  return item::damaged_body;
}

}  // namespace tern::storage
