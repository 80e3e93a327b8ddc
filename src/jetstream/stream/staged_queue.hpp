// What a stream has accepted and the disk has not confirmed: the acknowledgements it owes, and the state that the next
// publish is checked against (design section 5).
#pragma once

#include "jetstream/stream/publish_headers.hpp"
#include "storage/stream_log.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace tern::jetstream {

inline constexpr nanoseconds never_ends{-1};  // of a message with `Nats-TTL: never`

struct staged_publish {
  enum class kind : std::uint8_t {
    message,    // answered when its own sequence is committed
    skip,       // a sequence without a message (interest retention): when the log has reached it
    duplicate,  // says the sequence of an earlier publish, when the log has reached it
  };
  kind what = kind::message;
  bool verbatim = false;          // the note is the whole answer
  bool cancels_schedule = false;  // the message names a schedule that is over
  rollup_scope rollup = rollup_scope::none;
  storage::sequence number = 0;    // that the acknowledgement names
  storage::sequence required = 0;  // the log has to reach this first
  std::uint64_t subject_hash = 0;  // the queue's own
  std::uint64_t record_bytes = 0;
  nanoseconds lifetime{0};          // its own time to live; 0: none; never_ends
  std::int64_t message_change = 0;  // what its commit does to the number of messages, and to bytes
  std::int64_t byte_change = 0;
  time_point stored{};        // of a message
  time_point schedule_due{};  // when it runs for the first time; only of a schedule
  std::string_view subject;   // in the queue's memory
  std::string_view reply;
  std::string_view note;  // what else the acknowledgement says, as JSON members
};

// First in, first out. Subjects and replies are copied into blocks that are used again, so a steady stream of publishes
// allocates nothing. Owned by one stream; one thread.
class staged_queue {
 public:
  explicit staged_queue(std::uint64_t seed) : seed_(seed) {}

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::uint64_t bytes() const { return bytes_; }             // of the records that wait
  std::int64_t message_change() const { return messages_; }  // sums over the queue
  std::int64_t byte_change() const { return byte_change_; }
  std::uint64_t hash(std::string_view subject) const;

  // `what` without views; they are made from the texts given.
  void push(staged_publish what, std::string_view subject, std::string_view reply, std::string_view note = {});
  const staged_publish& front() const { return ring_[head_]; }
  void pop();
  void drop_last(std::size_t count);  // the newest, as if they had not been pushed
  void clear();

  // What the waiting messages say about one literal subject.
  struct subject_state {
    storage::sequence last = 0;  // 0: none waits
    std::int64_t change = 0;     // of its number of messages
  };
  subject_state of_subject(std::uint64_t hash);
  // The last waiting message whose subject the pattern matches; 0: none.
  storage::sequence last_match(std::string_view pattern) const;

 private:
  struct text_block {
    std::unique_ptr<char[]> memory;
    std::size_t capacity = 0, used = 0, live = 0;
  };
  struct slot {
    std::uint64_t hash = 0;
    subject_state state;
    std::uint32_t waiting = 0;
    bool used = false;
  };

  char* reserve_text(std::size_t size);
  void grow_ring();
  std::size_t index_of(std::size_t position) const { return (head_ + position) & (ring_.size() - 1); }
  slot& slot_of(std::uint64_t hash);
  void index_one(staged_publish& what);
  void rebuild_index();

  std::uint64_t seed_;
  std::vector<staged_publish> ring_;      // a power of two
  std::vector<text_block*> ring_blocks_;  // beside ring_: where each one's text stands
  std::size_t head_ = 0, size_ = 0;
  std::uint64_t bytes_ = 0;
  std::int64_t messages_ = 0, byte_change_ = 0;
  std::vector<std::unique_ptr<text_block>> blocks_;
  std::vector<text_block*> free_blocks_;
  text_block* writing_ = nullptr;
  // Subjects of the first indexed_ entries, made only when somebody asks: streams without expectations never pay for
  // it.
  std::vector<slot> slots_;
  std::size_t slots_used_ = 0, indexed_ = 0;
};

}  // namespace tern::jetstream
