// One stream's messages: what is stored, and the questions that streams and consumers ask about it.
//
// Two states. *Staged* is what append() was given and no commit has confirmed; nobody can read it. *Committed* is what
// the store has made durable (or, in the looser modes and in memory, written): state(), load() and every query speak of
// it alone. Removals act on the committed state at once, and their records ride in the batch that is gathering.
//
// Owned by storage::store; one shard; views handed out live until the next call on the same log.
#pragma once

#include <tern/base/error.hpp>
#include <tern/base/time.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tern::storage {

using sequence = std::uint64_t;

struct stored_message {
  sequence number = 0;
  time_point timestamp;
  std::string_view subject;
  std::string_view headers;  // raw block, or empty
  std::string_view payload;
};

struct new_message {
  sequence number = 0;  // greater than every staged or stored one; may jump
  time_point timestamp;
  std::string_view subject;
  std::string_view headers;
  std::string_view payload;
};

struct sequence_range {
  sequence first = 0, last = 0;  // both inside
  friend bool operator==(const sequence_range&, const sequence_range&) = default;
};

struct log_state {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;       // by the formula of jetstream 6.1, not the size on disk
  sequence first = 0, last = 0;  // an emptied log: first = last + 1
  time_point first_timestamp, last_timestamp;
  std::uint64_t subjects = 0;
  std::uint64_t deleted = 0;         // interior gaps
  std::vector<sequence_range> lost;  // damaged on disk, reported, never renumbered
};

struct subject_totals {
  std::uint64_t messages = 0;
  sequence first = 0, last = 0;
};

// A set of subject patterns with literal and wildcard tokens; an empty set means everything.
using subject_filters = std::vector<std::string>;

// Walks the committed messages that match some filters, forward, remembering what makes the next step cheap (postings
// of few subjects, or a bitmap of matching subject ids). Survives appends and removals. Owned by its user; must not
// outlive its log.
class match_cursor {
 public:
  virtual ~match_cursor() = default;
  // The first committed, undamaged match with a sequence of at least `from`. O(log n) while filters match few subjects;
  // knows where nothing more matches, so that an idle consumer costs O(1).
  virtual std::optional<sequence> next(sequence from) = 0;
  // How many committed matches have a sequence of at least `from`.
  virtual std::uint64_t count_from(sequence from) = 0;
};

class stream_log {
 public:
  virtual ~stream_log() = default;

  // --- writing ---
  // Stages a message; the bytes are copied. It becomes committed, in order, when its batch does.
  virtual void append(const new_message& what) = 0;
  // Sequences up to `last` exist without messages (interest retention without a taker, a mirror's hole). Staged like
  // append.
  virtual void skip_to(sequence last, time_point timestamp) = 0;
  // Removes one committed message. False when there is none. With `erase` its bytes are overwritten.
  virtual bool remove(sequence number, bool erase = false) = 0;
  // Removes committed messages; returns how many. `below`: only sequences smaller than it (0: all). `keep`: the newest
  // so many matching ones stay. Both are not given together. Every removed message is told to `removed` (may be empty)
  // before it goes. A purge of everything with `below` above last + 1 moves last to below - 1.
  struct purge_request {
    std::string subject;  // pattern, or empty
    sequence below = 0;
    std::uint64_t keep = 0;
  };
  using removal_visitor = std::function<void(sequence, std::string_view subject)>;
  virtual std::uint64_t purge(const purge_request& what, const removal_visitor& removed = {}) = 0;

  // --- committed state ---
  virtual const log_state& state() const = 0;
  virtual result<stored_message> load(sequence number) = 0;      // errc::not_found; errc::corrupted for a damaged one
  virtual std::optional<sequence> next_live(sequence from) = 0;  // first existing message at or after
  // The first message at or after that has headers; reads no disk.
  virtual std::optional<sequence> next_with_headers(sequence from) const = 0;
  virtual std::optional<sequence> previous_live(sequence from) = 0;  // last existing message at or before
  virtual std::optional<sequence> first_at_or_after(time_point at) = 0;
  virtual std::vector<sequence_range> deleted_ranges() const = 0;  // gaps between first and last

  // --- subjects ---
  virtual std::string_view subject_of(sequence number) const = 0;  // empty when there is no such message; reads no disk
  virtual subject_totals totals(std::string_view subject) const = 0;  // of one literal subject
  virtual std::optional<sequence> last_match(std::string_view pattern, sequence up_to) const = 0;
  virtual std::optional<sequence> first_match(std::string_view pattern, sequence from) const = 0;
  // Subjects that match, sorted, from `offset`, until visit returns false. Returns the number of matching subjects.
  virtual std::uint64_t for_each_subject(
      std::string_view pattern, std::uint64_t offset,
      const std::function<bool(std::string_view, const subject_totals&)>& visit) const = 0;
  virtual std::unique_ptr<match_cursor> open_cursor(subject_filters filters) = 0;
};

// Reported bytes of one message (jetstream 6.1).
constexpr std::uint64_t file_record_bytes(std::size_t subject, std::size_t headers, std::size_t payload) {
  return 22 + subject + (headers != 0 ? 4 + headers : 0) + payload + 8;
}
constexpr std::uint64_t memory_record_bytes(std::size_t subject, std::size_t headers, std::size_t payload) {
  return subject + headers + payload + 16;
}

}  // namespace tern::storage
