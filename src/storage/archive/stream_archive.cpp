#include "storage/archive/stream_archive.hpp"

#include "storage/segment/byte_order.hpp"

#include <algorithm>
#include <utility>

namespace tern::storage::archive {
namespace {

constexpr std::uint64_t name_max = std::uint64_t{1} << 20;
constexpr std::size_t tar_block = 512;
constexpr std::size_t tar_name_max = 4096;

std::unexpected<error> not_an_archive(const char* why) { return fail(errc::corrupted, std::string("archive: ") + why); }

// A field of a tar header: octal digits, or a binary number where the first byte says so.
bool tar_number(std::string_view field, std::uint64_t& value) {
  value = 0;
  if (!field.empty() && (static_cast<unsigned char>(field[0]) & 0x80) != 0) {
    for (std::size_t i = 1; i < field.size(); ++i) {
      if (value >> 56 != 0) return false;
      value = value << 8 | static_cast<unsigned char>(field[i]);
    }
    return (field[0] & 0x7f) == 0;
  }
  for (const char digit : field) {
    if (digit == ' ' || digit == '\0') continue;
    if (digit < '0' || digit > '7' || value >> 60 != 0) return false;
    value = value << 3 | static_cast<std::uint64_t>(digit - '0');
  }
  return true;
}

std::string_view tar_text(std::string_view field) { return field.substr(0, std::min(field.find('\0'), field.size())); }

bool tar_checksum_fits(std::string_view header) {
  std::uint64_t stored;
  if (!tar_number(header.substr(148, 8), stored)) return false;
  std::uint64_t sum = 8 * ' ';
  for (std::size_t i = 0; i < tar_block; ++i) {
    if (i < 148 || i >= 156) sum += static_cast<unsigned char>(header[i]);
  }
  return sum == stored;
}

// The `path` of a pax header: lines of "<length> <key>=<value>\n".
std::string pax_path(std::string_view records) {
  while (!records.empty()) {
    std::size_t length = 0, digits = 0;
    for (; digits < records.size() && digits < 9 && records[digits] >= '0' && records[digits] <= '9'; ++digits)
      length = length * 10 + static_cast<std::size_t>(records[digits] - '0');
    if (length <= digits + 1 || length > records.size()) break;
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    if (record.starts_with("path=")) return std::string(record.substr(5));
    records.remove_prefix(length);
  }
  return {};
}

}  // namespace

void append_archive_magic(std::string& out) { out.append(archive_magic); }

void append_archive_entry(std::string& out, const archive_entry& what) {
  append_varint(out, what.name.size());
  append_signed_varint(out, what.time);
  append_varint(out, what.number);
  append_varint(out, what.headers.size());
  append_varint(out, what.payload.size());
  out.append(what.name).append(what.headers).append(what.payload);
}

void entry_reader::push(std::string_view bytes) {
  waiting_.erase(0, at_);
  at_ = 0;
  waiting_.append(bytes);
}

result<bool> archive_reader::next(archive_entry& out) {
  if (!begun_) {
    if (rest().size() < archive_magic.size()) return false;
    if (!rest().starts_with(archive_magic)) return not_an_archive("it does not begin as one");
    take(archive_magic.size());
    begun_ = true;
  }
  constexpr std::size_t varint_max = 10;
  byte_reader in(rest());
  const std::uint64_t name = in.varint();
  const std::int64_t time = in.signed_varint();
  const std::uint64_t number = in.varint(), headers = in.varint(), payload = in.varint();
  if (!in.ok()) {
    if (rest().size() >= 5 * varint_max) return not_an_archive("an entry's numbers are impossible");
    return false;
  }
  if (name > name_max || headers > entry_max_ || payload > entry_max_ - headers)
    return fail(errc::limit_exceeded, "archive: an entry is larger than the limit");
  if (in.remaining() < name + headers + payload) return false;
  const std::string_view body = in.rest();
  out.name = body.substr(0, name);
  out.time = time;
  out.number = number;
  out.headers = body.substr(name, headers);
  out.payload = body.substr(name + headers, payload);
  take(rest().size() - body.size() + name + headers + payload);
  return true;
}

result<bool> tar_reader::next(file& out) {
  while (!ended_) {
    const std::string_view header = rest();
    if (header.size() < tar_block) return false;
    if (header.substr(0, tar_block).find_first_not_of('\0') == std::string_view::npos) {
      ended_ = true;
      break;
    }
    std::uint64_t size;
    if (!tar_checksum_fits(header) || !tar_number(header.substr(124, 12), size))
      return not_an_archive("not a tar, or damaged");
    if (size > file_max_) return fail(errc::limit_exceeded, "archive: a file is larger than the limit");
    const std::uint64_t padded = (size + tar_block - 1) / tar_block * tar_block;
    if (header.size() - tar_block < padded) return false;
    const std::string_view content = header.substr(tar_block, size);
    const char kind = header[156];
    take(tar_block + padded);
    if (kind == 'x' || kind == 'L') {  // a name that is too long for the field, before its file
      long_name_ = kind == 'x' ? pax_path(content) : std::string(tar_text(content));
      if (long_name_.size() > tar_name_max) return not_an_archive("a name is too long");
      continue;
    }
    if (kind != '0' && kind != '\0') return not_an_archive("it holds something that is no file");
    name_ = std::exchange(long_name_, {});
    if (name_.empty()) {
      const std::string_view folder = header.substr(257, 5) == "ustar" ? tar_text(header.substr(345, 155)) : "";
      name_ = folder.empty() ? std::string(tar_text(header.substr(0, 100)))
                             : std::string(folder) + "/" + std::string(tar_text(header.substr(0, 100)));
    }
    out = {name_, content};
    return true;
  }
  return false;
}

}  // namespace tern::storage::archive
