#include "jetstream/consumer/consumer_deltas.hpp"

#include <algorithm>
#include <optional>

namespace tern::jetstream {
namespace {

enum class delta_kind : unsigned char { delivered = 1, passed, settled, settled_up_to, due, exhausted, whole };

constexpr unsigned char snapshot_version = 1;

void put(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

void put_time(std::string& out, time_point at) {
  const auto count = static_cast<std::uint64_t>(to_unix_nanoseconds(at));
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(count >> shift);
}

// Reads what put() wrote; after a failure everything reads as zero.
class reader {
 public:
  explicit reader(std::string_view bytes) : rest_(bytes) {}
  bool done() const { return rest_.empty(); }
  bool failed() const { return failed_; }

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return fail();
  }
  time_point time() {
    if (rest_.size() < 8) {
      fail();
      return {};
    }
    std::uint64_t count = 0;
    for (int i = 0; i < 8; ++i) count |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    rest_.remove_prefix(8);
    return from_unix_nanoseconds(static_cast<std::int64_t>(count));
  }
  unsigned char byte() {
    if (rest_.empty()) return static_cast<unsigned char>(fail());
    const auto value = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }

 private:
  std::uint64_t fail() {
    failed_ = true;
    rest_ = {};
    return 0;
  }
  std::string_view rest_;
  bool failed_ = false;
};

constexpr std::uint64_t flag_delayed = 1, flag_queued = 2;

void put_state(std::string& out, const consumer_state& state) {
  out += static_cast<char>(snapshot_version);
  for (const std::uint64_t value : {state.next_stream, state.next_consumer, state.delivered_stream,
                                    state.floor_consumer, state.floor_stream, state.skip_end}) {
    put(out, value);
  }
  put(out, state.pending.size());
  storage::sequence previous = 0;
  state.pending.for_each([&](const pending_entry& entry) {
    put(out, entry.number - previous);
    previous = entry.number;
    put(out, entry.consumer_sequence);
    put(out, entry.deliveries);
    put(out, (entry.delayed ? flag_delayed : 0) | (entry.ticket != 0 ? flag_queued : 0));
    put_time(out, entry.delivered_at);
    put_time(out, entry.due);
  });
  put(out, state.exhausted.size());
  for (const auto& [number, deliveries] : state.exhausted) {
    put(out, number);
    put(out, deliveries);
  }
  put(out, state.skip.size() - state.skip_next);
  previous = 0;
  for (std::size_t i = state.skip_next; i < state.skip.size(); ++i) {
    put(out, state.skip[i] - previous);
    previous = state.skip[i];
  }
}

bool read_state(consumer_state& state, reader& in) {
  if (in.byte() != snapshot_version) return false;
  state = consumer_state();
  state.next_stream = in.number();
  state.next_consumer = in.number();
  state.delivered_stream = in.number();
  state.floor_consumer = in.number();
  state.floor_stream = in.number();
  state.skip_end = in.number();
  if (state.next_stream == 0 || state.next_consumer == 0) return false;
  storage::sequence number = 0;
  for (std::uint64_t left = in.number(); left > 0 && !in.failed(); --left) {
    const std::uint64_t step = in.number();
    if (step == 0 || number + step < number) return false;
    number += step;
    pending_entry& entry = state.pending.append(number);
    entry.consumer_sequence = std::max<std::uint64_t>(in.number(), 1);
    entry.deliveries = in.number();
    const std::uint64_t flags = in.number();
    entry.delayed = (flags & flag_delayed) != 0;
    entry.delivered_at = in.time();
    // What was queued is due at once.
    entry.due = in.time();
    if ((flags & flag_queued) != 0) entry.due = time_point{};
  }
  for (std::uint64_t left = in.number(); left > 0 && !in.failed(); --left) {
    const storage::sequence given_up = in.number();
    state.exhausted[given_up] = in.number();
  }
  number = 0;
  for (std::uint64_t left = in.number(); left > 0 && !in.failed(); --left) {
    const std::uint64_t step = in.number();
    if (step == 0 || number + step < number) return false;
    number += step;
    state.skip.push_back(number);
  }
  return !in.failed();
}

void advance_to(consumer_state& state, storage::sequence number) {
  state.next_stream = std::max(state.next_stream, number + 1);
  state.delivered_stream = std::max(state.delivered_stream, number);
  while (state.skipping() && state.skip[state.skip_next] <= number) ++state.skip_next;
  if (!state.skipping()) state.next_stream = std::max(state.next_stream, state.skip_end + 1);
}

void replay_delivered(consumer_state& state, reader& in) {
  const storage::sequence number = in.number();
  const std::uint64_t consumer_sequence = in.number();
  const std::uint64_t original = std::max<std::uint64_t>(in.number(), 1);
  const std::uint64_t deliveries = in.number();
  const time_point at = in.time();
  const time_point due = in.time();
  if (in.failed()) return;
  pending_entry* entry = state.pending.find(number);
  if (entry == nullptr) {
    if (number < state.next_stream && deliveries <= 1) return;  // the snapshot knows better
    if (const auto* last = state.pending.last(); last != nullptr && last->number >= number) return;
    entry = &state.pending.append(number);
    entry->consumer_sequence = original;
  }
  entry->deliveries = std::max(entry->deliveries, deliveries);
  entry->delivered_at = at;
  entry->due = due;
  entry->delayed = false;
  state.next_consumer = std::max(state.next_consumer, consumer_sequence + 1);
  advance_to(state, number);
}

}  // namespace

std::string encode_snapshot(const consumer_state& state) {
  std::string out;
  put_state(out, state);
  return out;
}

void delta_writer::delivered(const pending_entry& entry, std::uint64_t consumer_sequence) {
  bytes_ += static_cast<char>(delta_kind::delivered);
  put(bytes_, entry.number);
  put(bytes_, consumer_sequence);
  put(bytes_, entry.consumer_sequence);
  put(bytes_, entry.deliveries);
  put_time(bytes_, entry.delivered_at);
  put_time(bytes_, entry.due);
}

void delta_writer::passed(storage::sequence number, std::uint64_t consumer_sequence) {
  bytes_ += static_cast<char>(delta_kind::passed);
  put(bytes_, number);
  put(bytes_, consumer_sequence);
}

void delta_writer::settled(storage::sequence number) {
  bytes_ += static_cast<char>(delta_kind::settled);
  put(bytes_, number);
}

void delta_writer::settled_up_to(storage::sequence number, std::uint64_t consumer_sequence) {
  bytes_ += static_cast<char>(delta_kind::settled_up_to);
  put(bytes_, number);
  put(bytes_, consumer_sequence);
}

void delta_writer::due(const pending_entry& entry) {
  bytes_ += static_cast<char>(delta_kind::due);
  put(bytes_, entry.number);
  put(bytes_, entry.delayed ? flag_delayed : 0);
  put_time(bytes_, entry.delivered_at);
  put_time(bytes_, entry.ticket != 0 ? time_point{} : entry.due);
}

void delta_writer::exhausted(storage::sequence number, std::uint64_t deliveries) {
  bytes_ += static_cast<char>(delta_kind::exhausted);
  put(bytes_, number);
  put(bytes_, deliveries);
}

void delta_writer::whole(const consumer_state& state) {
  bytes_.clear();
  bytes_ += static_cast<char>(delta_kind::whole);
  put_state(bytes_, state);
}

bool apply_snapshot(consumer_state& state, std::string_view bytes) {
  reader in(bytes);
  return read_state(state, in);
}

bool apply_deltas(consumer_state& state, std::string_view bytes) {
  reader in(bytes);
  while (!in.done()) {
    switch (static_cast<delta_kind>(in.byte())) {
      case delta_kind::delivered:
        replay_delivered(state, in);
        break;
      case delta_kind::passed: {
        const storage::sequence number = in.number();
        const std::uint64_t consumer_sequence = in.number();
        if (in.failed()) return false;
        state.next_consumer = std::max(state.next_consumer, consumer_sequence + 1);
        advance_to(state, number);
        state.floor_consumer = std::max(state.floor_consumer, consumer_sequence);
        state.floor_stream = std::max(state.floor_stream, number);
        break;
      }
      case delta_kind::settled: {
        const storage::sequence number = in.number();
        if (in.failed()) return false;
        settle_pending(state, number);
        state.exhausted.erase(number);
        break;
      }
      case delta_kind::settled_up_to: {
        const storage::sequence number = in.number();
        const std::uint64_t consumer_sequence = in.number();
        if (in.failed()) return false;
        while (state.pending.first() != nullptr && state.pending.first()->number <= number) {
          state.pending.erase(state.pending.first()->number);
        }
        state.exhausted.erase(state.exhausted.begin(), state.exhausted.upper_bound(number));
        state.floor_consumer = std::max(state.floor_consumer, consumer_sequence);
        state.floor_stream = std::max(state.floor_stream, number);
        break;
      }
      case delta_kind::due: {
        const storage::sequence number = in.number();
        const std::uint64_t flags = in.number();
        const time_point delivered_at = in.time();
        const time_point due = in.time();
        if (in.failed()) return false;
        if (pending_entry* entry = state.pending.find(number)) {
          entry->delayed = (flags & flag_delayed) != 0;
          entry->delivered_at = delivered_at;
          entry->due = due;
        }
        break;
      }
      case delta_kind::exhausted: {
        const storage::sequence number = in.number();
        const std::uint64_t deliveries = in.number();
        if (in.failed()) return false;
        state.pending.erase(number);
        state.exhausted[number] = deliveries;
        break;
      }
      case delta_kind::whole:
        if (!read_state(state, in)) return false;
        break;
      default:
        return false;
    }
    if (in.failed()) return false;
  }
  return true;
}

void raise_floor(consumer_state& state) {
  std::uint64_t consumer = state.next_consumer - 1;
  storage::sequence stream = state.delivered_stream;
  if (const pending_entry* first = state.pending.first()) {
    consumer = first->consumer_sequence - 1;
    stream = first->number - 1;
  }
  state.floor_consumer = std::max(state.floor_consumer, consumer);
  state.floor_stream = std::max(state.floor_stream, stream);
}

bool settle_pending(consumer_state& state, storage::sequence number) {
  const pending_entry* first = state.pending.first();
  const bool was_first = first != nullptr && first->number == number;
  if (!state.pending.erase(number)) return false;
  if (was_first || !state.exhausted.empty()) raise_floor(state);
  return true;
}

}  // namespace tern::jetstream
