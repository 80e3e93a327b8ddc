#include "jetstream/stream/fast_batch.hpp"

#include "base/numbers.hpp"

#include <algorithm>
#include <array>

namespace tern::jetstream {
namespace {

constexpr std::uint64_t flow_default = 10;
constexpr std::uint64_t flow_max = 65'535;

}  // namespace

std::optional<fast_control> parse_fast_control(std::string_view reply) {
  if (!reply.ends_with(fast_batch_suffix)) return std::nullopt;
  reply.remove_suffix(fast_batch_suffix.size());
  std::array<std::string_view, 5> tokens;  // op, seq, gap, flow, id
  for (auto& token : tokens) {
    const std::size_t dot = reply.rfind('.');
    if (dot == std::string_view::npos) return std::nullopt;
    token = reply.substr(dot + 1);
    reply = reply.substr(0, dot);
  }
  const auto [operation, sequence, gap, flow, id] = tokens;
  const auto number = parse_decimal(sequence);
  const auto which = parse_decimal(operation);
  if (!number || *number == 0 || !which || *which > 4 || id.empty() || (gap != "ok" && gap != "fail"))
    return std::nullopt;
  fast_control out{.id = id, .goes_on = gap == "ok", .sequence = *number, .what = static_cast<fast_operation>(*which)};
  if (out.what == fast_operation::start && out.sequence != 1) return std::nullopt;
  if ((out.what == fast_operation::append || out.what == fast_operation::commit_without) && out.sequence == 1)
    return std::nullopt;
  const auto wanted = parse_decimal(flow);
  out.flow = wanted && *wanted > 0 ? std::min(*wanted, flow_max) : flow_default;
  return out;
}

}  // namespace tern::jetstream
