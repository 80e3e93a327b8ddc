#include "jetstream/stream/source_header.hpp"

#include "base/numbers.hpp"

#include <openssl/sha.h>

#include <array>
#include <cstddef>

namespace tern::jetstream {
namespace {

constexpr char separator = '\f';
constexpr std::string_view everything = ">";
constexpr std::size_t fields_max = 6;

std::string or_everything(std::string_view subject) { return std::string(subject.empty() ? everything : subject); }

}  // namespace

std::string short_hash(std::string_view text) {
  constexpr char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data());
  std::string out;
  for (std::size_t at = 0; at < 8; ++at) out += digits[hash[at] % 62];
  return out;
}

source_identity source_identity::of(const stream_source& config) {
  source_identity made{.stream = config.name, .filter = {}, .transform = {}};
  if (config.consumer) {
    made.stream += ":C=" + short_hash(config.consumer->name);
  } else if (config.external) {
    made.stream += ":" + short_hash(config.external->api);
  }
  if (config.subject_transforms.empty()) {
    made.filter = or_everything(config.filter_subject);
    made.transform = everything;
    return made;
  }
  for (const auto& one : config.subject_transforms) {
    if (!made.filter.empty()) made.filter += separator;
    if (!made.transform.empty()) made.transform += separator;
    made.filter += or_everything(one.src);
    made.transform += or_everything(one.dest);
  }
  return made;
}

std::string make_source_header(const source_identity& from, storage::sequence number, std::string_view subject,
                               std::string_view stream_identity) {
  std::string value = from.stream + " ";
  append_decimal(value, number);
  value.append(" ").append(from.filter).append(" ").append(from.transform).append(" ").append(subject);
  if (!stream_identity.empty()) value.append(" ").append(stream_identity);
  return value;
}

std::optional<parsed_source_header> parse_source_header(std::string_view value) {
  std::array<std::string_view, fields_max> fields{};
  std::size_t count = 0;
  while (!value.empty() && count < fields_max) {
    const std::size_t blank = value.find(' ');
    fields[count++] = value.substr(0, blank);
    value = blank == std::string_view::npos ? std::string_view() : value.substr(blank + 1);
  }
  if (count < 2 || fields[0].empty()) return std::nullopt;
  const auto number = parse_decimal(fields[1]);
  if (!number || *number == 0) return std::nullopt;
  parsed_source_header made;
  made.key.append(fields[0]).append(" ").append(or_everything(fields[2])).append(" ").append(or_everything(fields[3]));
  made.number = *number;
  made.subject = fields[4];
  made.stream_identity = fields[5];
  return made;
}

}  // namespace tern::jetstream
