// What a consumer has delivered and not yet settled: the pending messages in stream order, their deadlines, and the
// queue of those that are due again (jetstream 13.1, 13.6, 13.7). Plain data; owned by the consumer.
#pragma once

#include "storage/stream_log.hpp"

#include <tern/base/time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace tern::jetstream {

struct pending_entry {
  storage::sequence number = 0;
  std::uint64_t consumer_sequence = 0;  // of the first delivery: what floors count by; 0: no longer pending
  time_point delivered_at{};            // last delivery or progress
  time_point due{};                     // when it comes again; unused while queued
  std::uint64_t deliveries = 0;
  std::uint64_t ticket = 0;  // its place in the redelivery queue; 0: not queued
  bool delayed = false;      // `due` was set by a NAK and not by the ack wait
};

// Ordered by stream sequence; new entries come at the end, any may go. Finding is a guess and a binary search; erasing
// leaves a dead entry behind, and the dead are swept when they outnumber the living, so that every operation costs
// amortised O(1) or O(log n), and a consumer whose messages are acknowledged as they come never allocates.
class pending_set {
 public:
  std::size_t size() const { return live_; }
  bool empty() const { return live_ == 0; }

  // Null when it is not pending. Pointers live until the next append or erase.
  pending_entry* find(storage::sequence number);
  const pending_entry* find(storage::sequence number) const { return const_cast<pending_set*>(this)->find(number); }
  // `number` is greater than that of every entry there ever was since the set was last empty.
  pending_entry& append(storage::sequence number);
  bool erase(storage::sequence number);
  void clear();

  const pending_entry* first() const { return live_ == 0 ? nullptr : &entries_[head_]; }
  // The newest entry there is, dead or alive; null only when there is none.
  const pending_entry* last() const { return entries_.empty() ? nullptr : &entries_.back(); }
  // Visits living entries in order; `visit` must not change the set.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (std::size_t i = head_; i < entries_.size(); ++i) {
      if (entries_[i].consumer_sequence != 0) visit(entries_[i]);
    }
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t i = head_; i < entries_.size(); ++i) {
      if (entries_[i].consumer_sequence != 0) visit(entries_[i]);
    }
  }

 private:
  void sweep();
  // entries_[head_] is alive unless the set is empty; what is before head_ is dead.
  std::vector<pending_entry> entries_;
  std::size_t head_ = 0;
  std::size_t live_ = 0;
};

// The earliest deadline of many that are mostly set in ascending order and mostly settled before they pass. Entries are
// not taken out when their message is settled: `is_current(number, due)` of the caller says which still count.
// Deadlines that ascend stand in a queue, the others in a heap; both are swept when more than half of them are stale.
class deadline_queue {
 public:
  void push(time_point due, storage::sequence number) {
    if (ascending_.empty() || !(due < ascending_.back().due)) {
      ascending_.push_back({due, number});
    } else {
      heap_.push_back({due, number});
      std::push_heap(heap_.begin(), heap_.end(), later);
    }
  }

  template <class IsCurrent>
  std::optional<time_point> earliest(IsCurrent&& is_current) {
    drop_stale(is_current);
    if (ascending_.empty() && heap_.empty()) return std::nullopt;
    if (heap_.empty()) return ascending_.front().due;
    if (ascending_.empty()) return heap_.front().due;
    return std::min(ascending_.front().due, heap_.front().due);
  }

  // Takes out one entry that is due at `now`.
  template <class IsCurrent>
  std::optional<storage::sequence> take_due(time_point now, IsCurrent&& is_current) {
    const auto next = earliest(is_current);
    if (!next || *next > now) return std::nullopt;
    if (!ascending_.empty() && ascending_.front().due == *next) {
      const storage::sequence number = ascending_.front().number;
      ascending_.pop_front();
      return number;
    }
    const storage::sequence number = heap_.front().number;
    pop_heap();
    return number;
  }

  // Call now and then with the number of living deadlines.
  template <class IsCurrent>
  void sweep_if_stale(std::size_t living, IsCurrent&& is_current) {
    if (ascending_.size() + heap_.size() <= 2 * living + sweep_slack) return;
    const auto stale = [&](const entry& one) { return !is_current(one.number, one.due); };
    std::erase_if(ascending_, stale);
    std::erase_if(heap_, stale);
    std::make_heap(heap_.begin(), heap_.end(), later);
  }

  void clear() {
    ascending_.clear();
    heap_.clear();
  }
  std::size_t size() const { return ascending_.size() + heap_.size(); }

 private:
  static constexpr std::size_t sweep_slack = 1024;
  struct entry {
    time_point due;
    storage::sequence number;
  };
  static bool later(const entry& a, const entry& b) { return a.due != b.due ? a.due > b.due : a.number > b.number; }
  void pop_heap() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
  }
  template <class IsCurrent>
  void drop_stale(IsCurrent&& is_current) {
    while (!ascending_.empty() && !is_current(ascending_.front().number, ascending_.front().due))
      ascending_.pop_front();
    while (!heap_.empty() && !is_current(heap_.front().number, heap_.front().due)) pop_heap();
  }

  std::deque<entry> ascending_;
  std::vector<entry> heap_;
};

// FIFO of messages that are due again. An entry's membership is its ticket, so leaving costs O(1): the place stays
// behind, is passed over when its turn comes, and swept when such places outnumber the rest.
class redelivery_queue {
 public:
  std::size_t size() const { return queued_; }
  bool empty() const { return queued_ == 0; }

  void push(pending_entry& entry) {
    if (entry.ticket != 0) return;
    entry.ticket = ++last_ticket_;
    places_.push_back({entry.number, entry.ticket});
    ++queued_;
  }
  void leave(pending_entry& entry) {
    if (entry.ticket == 0) return;
    entry.ticket = 0;
    --queued_;
  }
  // The entry whose turn it is, still queued; null when there is none.
  pending_entry* front(pending_set& pending) {
    while (!places_.empty()) {
      pending_entry* entry = pending.find(places_.front().number);
      if (entry != nullptr && entry->ticket == places_.front().ticket) return entry;
      places_.pop_front();
    }
    return nullptr;
  }
  void sweep_if_stale(const pending_set& pending) {
    if (places_.size() <= 2 * queued_ + 256) return;
    std::erase_if(places_, [&](const place& one) {
      const pending_entry* entry = pending.find(one.number);
      return entry == nullptr || entry->ticket != one.ticket;
    });
  }
  void clear() {
    places_.clear();
    queued_ = 0;
  }

 private:
  struct place {
    storage::sequence number;
    std::uint64_t ticket;
  };
  std::deque<place> places_;
  std::size_t queued_ = 0;
  std::uint64_t last_ticket_ = 0;
};

}  // namespace tern::jetstream
