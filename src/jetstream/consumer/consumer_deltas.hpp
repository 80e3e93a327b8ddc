// A consumer's durable state as bytes: a snapshot, and the deltas that lead from one snapshot to the next
// (jetstream 13.1, 22; storage R4). Every delta names what it is about, so that replaying one that the snapshot already
// holds does no harm.
#pragma once

#include "jetstream/consumer/consumer_pending.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tern::jetstream {

// Everything that survives a restart. Sequences as jetstream 13.1 names them.
struct consumer_state {
  storage::sequence next_stream = 1;       // the next sequence to look at
  std::uint64_t next_consumer = 1;         // the next consumer sequence
  storage::sequence delivered_stream = 0;  // the last delivered message, or the start position
  std::uint64_t floor_consumer = 0;
  storage::sequence floor_stream = 0;
  pending_set pending;
  // Messages that used up their deliveries, with how many they had: given up, but not settled (13.7).
  std::map<storage::sequence, std::uint64_t> exhausted;
  // last_per_subject: the messages to deliver first, up to `skip_end`; [skip_next, end) are still to come.
  std::vector<storage::sequence> skip;
  std::size_t skip_next = 0;
  storage::sequence skip_end = 0;

  bool skipping() const { return skip_next < skip.size(); }
};

std::string encode_snapshot(const consumer_state& state);

// Appends deltas to a buffer; its owner hands it to the store.
class delta_writer {
 public:
  bool empty() const { return bytes_.empty(); }
  std::size_t size() const { return bytes_.size(); }
  std::string_view bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

  void delivered(const pending_entry& entry, std::uint64_t consumer_sequence);    // first or again
  void passed(storage::sequence number, std::uint64_t consumer_sequence);         // ack none
  void settled(storage::sequence number);                                         // acked, termed, removed
  void settled_up_to(storage::sequence number, std::uint64_t consumer_sequence);  // ack all
  void due(const pending_entry& entry);                                           // nak, progress, expiry
  void exhausted(storage::sequence number, std::uint64_t deliveries);
  void whole(const consumer_state& state);  // start, purge, reset

 private:
  std::string bytes_;
};

// Rebuilds the state. What cannot be read ends the replay of its record; false when that happened.
bool apply_snapshot(consumer_state& state, std::string_view bytes);
bool apply_deltas(consumer_state& state, std::string_view bytes);

// --- the rules that both the running consumer and the replay follow ---
// Everything below the first pending message is settled; with none pending, everything delivered is (13.6).
void raise_floor(consumer_state& state);
// Takes a message out of the pending ones. The floor moves when it was the first of them, or when others were given up
// meanwhile, which it passes now (13.7). False when it was not pending.
bool settle_pending(consumer_state& state, storage::sequence number);

}  // namespace tern::jetstream
