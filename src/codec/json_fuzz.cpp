// Any text is read or refused; what was read is written and read back the same; check_json agrees with the readers.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <tern/codec/json.hpp>

namespace {

struct inner {
  std::int32_t n = 0;
  std::optional<double> d;
  std::vector<inner> more;
};

struct record {
  std::string s;
  std::int64_t i = 0;
  std::uint64_t u = 0;
  bool b = false;
  std::vector<std::string> l;
  std::map<std::string, std::int64_t> m;
  inner r;
  tern::codec::raw_json j;
  tern::codec::json_bytes y;
  std::optional<tern::time_point> t;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tern::codec;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool well_formed = check_json(text).has_value();
  const auto raw = read_json<raw_json>(text);
  if (raw.has_value() != well_formed) std::abort();
  if (raw && !check_json(raw->text)) std::abort();
  const auto read = read_json<record>(text, peer_lenient);
  if (read) {
    if (!well_formed) std::abort();
    const std::string written = to_json(*read);
    const auto again = read_json<record>(written, peer_strict);
    if (!again || to_json(*again) != written) std::abort();
  }
  const std::string quoted = to_json(std::string(text));
  if (!read_json<std::string>(quoted)) std::abort();
  return 0;
}
