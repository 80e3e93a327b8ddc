// The cursors of consumers, and pattern look-ups over a whole log: they choose between the postings of the matching
// subjects and a walk over the log's subject numbers, whichever is less work.
#pragma once

#include "storage/index/live_map.hpp"
#include "storage/index/subject_index.hpp"
#include "storage/stream_log.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace tern::storage {

// The subject number of each live message, as the log keeps it beside its segments.
class subject_numbers {
 public:
  virtual ~subject_numbers() = default;
  // no_subject when there is no live, undamaged, committed message.
  virtual subject_id id_at(sequence number) const = 0;
  // A stretch of neighbours: ids[i] belongs to first + i, no_subject where nothing lives. It begins at the first live
  // message at or after `from` and ends where the log likes (a segment's end). Empty: nothing lives there. The span
  // lives until the log changes.
  struct stretch {
    sequence first = 0;
    std::span<const subject_id> ids;
  };
  virtual stretch stretch_from(sequence from) const = 0;
};

// What a log is made of, for reading. The three agree at every call: a message is in all of them or in none; damaged
// ones are in none.
struct log_view {
  subject_index& subjects;
  const live_map& live;
  const subject_numbers& numbers;
};

// Implements stream_log::open_cursor(). The three must outlive the cursor.
std::unique_ptr<match_cursor> make_match_cursor(log_view log, subject_filters filters);

// Implements stream_log::first_match() and last_match().
std::optional<sequence> first_match(log_view log, std::string_view pattern, sequence from);
std::optional<sequence> last_match(log_view log, std::string_view pattern, sequence up_to);

}  // namespace tern::storage
