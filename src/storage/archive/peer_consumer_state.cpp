#include "storage/archive/peer_consumer_state.hpp"

#include "storage/segment/byte_order.hpp"

#include <algorithm>

namespace tern::storage::archive {
namespace {

constexpr char magic = 22;
constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t seconds_max = 9'000'000'000;  // of a time that fits in nanoseconds
constexpr std::uint64_t impossible = std::uint64_t{1} << 63;

}  // namespace

result<peer_consumer_state> decode_peer_consumer(std::string_view bytes) {
  const auto damaged = [] { return fail(errc::corrupted, "the consumer's state is damaged"); };
  if (bytes.size() < 2 || bytes[0] != magic) return damaged();
  const int version = bytes[1];
  if (version != 1 && version != 2)
    return fail(errc::unsupported, "a consumer's state of version " + std::to_string(version));
  byte_reader in(bytes.substr(2));
  peer_consumer_state state;
  state.floor_consumer = in.varint();
  state.floor_stream = in.varint();
  state.delivered_consumer = in.varint();
  state.delivered_stream = in.varint();
  if (version == 1) {
    if (state.floor_consumer > 1) state.delivered_consumer += state.floor_consumer - 1;
    if (state.floor_stream > 1) state.delivered_stream += state.floor_stream - 1;
  }
  if (!in.ok() || ((state.floor_stream | state.delivered_stream) & impossible) != 0) return damaged();
  if (std::uint64_t left = in.varint(); left > 0) {
    const std::int64_t base = in.signed_varint();
    for (; left > 0 && in.ok(); --left) {
      const std::uint64_t number = in.varint() + state.floor_stream;
      const std::uint64_t consumer_sequence = version == 2 ? in.varint() + state.floor_consumer : 0;
      const std::int64_t distance = in.signed_varint();
      if (!in.ok() || number == 0) return damaged();
      if (base > seconds_max || base < -seconds_max || distance > seconds_max || distance < -seconds_max)
        return damaged();
      const std::int64_t at = version == 2 ? base - distance : base + distance;
      state.pending[number] = {consumer_sequence, std::clamp(at, -seconds_max, seconds_max) * second};
    }
  }
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    const std::uint64_t number = in.varint(), count = in.varint();
    if (in.ok() && number > 0 && count > 0) state.redelivered[number + state.floor_stream] = count;
  }
  if (!in.ok()) return damaged();
  return state;
}

std::string encode_peer_consumer(const peer_consumer_state& state) {
  std::string out{magic, 2};
  append_varint(out, state.floor_consumer);
  append_varint(out, state.floor_stream);
  append_varint(out, state.delivered_consumer);
  append_varint(out, state.delivered_stream);
  append_varint(out, state.pending.size());
  if (!state.pending.empty()) {
    std::int64_t base = 0;
    for (const auto& [number, each] : state.pending) base = std::max(base, each.delivered_at / second);
    append_signed_varint(out, base);
    for (const auto& [number, each] : state.pending) {
      append_varint(out, number - state.floor_stream);
      append_varint(out, each.consumer_sequence - state.floor_consumer);
      append_signed_varint(out, base - each.delivered_at / second);
    }
  }
  append_varint(out, state.redelivered.size());
  for (const auto& [number, count] : state.redelivered) {
    append_varint(out, number - state.floor_stream);
    append_varint(out, count);
  }
  return out;
}

}  // namespace tern::storage::archive
