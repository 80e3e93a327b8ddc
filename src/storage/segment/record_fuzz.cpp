// Any bytes are safe to read as records, footers, headers and numbers; what is read whole was written so.
#include "storage/segment/record_reader.hpp"
#include "storage/segment/segment_footer.hpp"

#include <cstdlib>

using namespace tern::storage;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  record_reader reader(bytes);
  std::uint64_t reached = 0;
  for (auto item = reader.next(); item != record_reader::item::end; item = reader.next()) {
    if (reader.offset() != reached || reader.size() == 0) std::abort();  // nothing is skipped, nothing stands still
    reached = reader.offset() + reader.size();
    if (item != record_reader::item::record) continue;
    message_parts parts;
    if (split_message(reader.body(), parts) &&
        message_prefix_size + parts.subject.size() + parts.headers.size() + parts.payload.size() !=
            reader.body().size()) {
      std::abort();
    }
  }
  if (reached != size) std::abort();
  (void)decode_footer(bytes);
  // The same bytes as a body: a whole record around them is found wherever it lies.
  std::string file(bytes.substr(0, size / 2));
  const std::uint64_t start = file.size();
  record_header header;
  header.kind = record_kind::state;
  append_record(file, header, bytes);
  record_reader again(file, start);
  if (again.next() != record_reader::item::record || again.body() != bytes) std::abort();
  byte_reader numbers(bytes);
  while (numbers.ok() && !numbers.at_end()) {
    numbers.varint();
    numbers.text();
  }
  return 0;
}
