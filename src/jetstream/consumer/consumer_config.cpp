#include "jetstream/consumer/consumer_config.hpp"

namespace tern::jetstream {
namespace {

// Drops the zeros that end a fraction, and a fraction of nothing else.
std::string without_trailing_zeros(std::string_view text) {
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos) return std::string(text);
  const std::size_t zone = text.find_first_not_of("0123456789", point + 1);
  std::string_view fraction = text.substr(point, zone == std::string_view::npos ? zone : zone - point);
  const std::size_t tail = fraction.find_last_not_of('0');
  std::string out(text.substr(0, point));
  if (tail != 0) out.append(fraction.substr(0, std::min<std::size_t>(tail + 1, 10)));
  if (zone != std::string_view::npos) {
    const std::string_view rest = text.substr(zone);
    out.append(rest == "+00:00" || rest == "-00:00" ? std::string_view("Z") : rest);
  }
  return out;
}

}  // namespace

result<zoned_time> parse_zoned_time(std::string_view text) {
  auto at = parse_rfc3339(text);
  if (!at) return std::unexpected(std::move(at).error());
  return zoned_time{without_trailing_zeros(text), *at};
}

std::vector<std::string> consumer_config::filters() const {
  if (!filter_subject.empty()) return {filter_subject};
  return filter_subjects;
}

}  // namespace tern::jetstream

namespace tern::codec {

bool custom_json<jetstream::zoned_time>::read(json_reader& reader, jetstream::zoned_time& value) {
  std::string_view text;
  if (!reader.as_string(text)) return false;
  auto parsed = jetstream::parse_zoned_time(text);
  if (!parsed) return reader.fail("expected a time as RFC 3339 has it");
  value = std::move(*parsed);
  return true;
}

void custom_json<jetstream::zoned_time>::write(std::string& out, const jetstream::zoned_time& value) {
  write_json_string(out, value.text);
}

}  // namespace tern::codec
