#include "storage/segment/record.hpp"

#include <algorithm>

namespace tern::storage {

void append_record(std::string& out, record_header header, std::string_view body) {
  header.body_length = static_cast<std::uint32_t>(body.size());
  header.body_hash = hash64(body);
  char bytes[record_header_size];
  write_header(bytes, header);
  out.append(bytes, sizeof bytes);
  out.append(body);
}

std::size_t append_message_record(std::string& out, record_header header, std::string_view subject,
                                  std::string_view headers, std::string_view payload, bool sealed) {
  const std::size_t start = out.size();
  const std::size_t body_size = message_prefix_size + subject.size() + headers.size() + payload.size();
  const std::size_t size = record_header_size + body_size;
  // Grown by hand: the string is reused from batch to batch, so in steady state nothing is allocated here.
  if (out.capacity() < start + size) out.reserve(std::max(out.capacity() * 2, start + size));
  char lengths[message_prefix_size];
  put(lengths, static_cast<std::uint32_t>(subject.size()));
  put(lengths + 4, static_cast<std::uint32_t>(headers.size()));
  char blank[record_header_size];
  out.append(blank, sizeof blank);
  out.append(lengths, sizeof lengths).append(subject).append(headers).append(payload);
  header.kind = record_kind::message;
  if (!headers.empty()) header.flags |= record_flag::has_headers;
  header.body_length = static_cast<std::uint32_t>(body_size);
  header.body_hash = sealed ? hash64(std::string_view(out).substr(start + record_header_size)) : 0;
  write_header(out.data() + start, header, sealed);
  return size;
}

bool split_message(std::string_view body, message_parts& out) {
  if (body.size() < message_prefix_size) return false;
  const std::uint64_t subject = get<std::uint32_t>(body.data());
  const std::uint64_t headers = get<std::uint32_t>(body.data() + 4);
  if (message_prefix_size + subject + headers > body.size()) return false;
  out.subject = body.substr(message_prefix_size, subject);
  out.headers = body.substr(message_prefix_size + subject, headers);
  out.payload = body.substr(message_prefix_size + subject + headers);
  return true;
}

void restamp(char* record, std::uint32_t epoch, std::uint32_t batch) {
  put(record + 8, epoch);
  put(record + 12, batch);
  put(record + 48, hash64(std::string_view(record, 48)));
}

}  // namespace tern::storage
