// What stands behind the records of a sealed segment, so that a start need not read them: for each sequence the
// subject, size and time, and a table of the subjects. A record of its own kind with its own checksum; the file ends
// with a footer_pointer record that tells where it begins. Everything in it can be found by scanning the records.
#pragma once

#include "storage/segment/segment.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tern::storage {

// Both records, to be written at `size`. `live_name` gives the text of a subject id.
std::string encode_footer(const segment& what, std::uint32_t stream,
                          const std::function<std::string_view(subject_id)>& name_of);

struct footer_entry {
  sequence number = 0;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  bool has_headers = false;
  std::int64_t time = 0;
  std::uint32_t subject = 0;  // place in `subjects`, from 1; 0: removed before the segment was sealed
};
struct decoded_footer {
  segment_identity identity;
  std::uint64_t size = 0;  // of header and records
  std::vector<std::string> subjects;
  std::vector<footer_entry> entries;
};
// Of the body of a segment_footer record whose checksum was right.
std::optional<decoded_footer> decode_footer(std::string_view body);
// Looks at the end of a file; nothing when there is no whole footer.
std::optional<decoded_footer> read_footer(runtime::disk& disk, const runtime::file_ref& file, std::uint64_t file_size);

}  // namespace tern::storage
