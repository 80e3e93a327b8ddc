#include "storage/index/match_cursor.hpp"

#include "storage/index/subject_pattern.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace tern::storage {
namespace {

constexpr sequence endless = std::numeric_limits<sequence>::max();

// How many messages are looked at by name before anything is built for them: about what building costs at least.
constexpr std::size_t probe_messages = 16;
// Up to so many matching subjects are merged from the start: their heap is smaller than a bitmap and never scans.
constexpr std::uint64_t merge_at_once = 64;
// Up to so many are merged once a scan has run long without a match; a heap of them takes a megabyte.
constexpr std::uint64_t merge_limit = 65'536;
// A scan without a match may pass so many messages for each matching subject, which a look into its postings costs.
constexpr std::uint64_t scan_per_subject = 32;
constexpr std::uint64_t scan_at_least = 4096;
// Up to so many messages are counted by looking at each of them.
constexpr std::uint64_t count_by_message = 256;

// Calls visit(sequence, id) for live messages from `from`, at most `budget` positions of them, until it returns false.
// Returns where the walk ended: endless when nothing lives there.
template <class Visit>
sequence walk(const subject_numbers& numbers, sequence from, std::uint64_t budget, Visit&& visit) {
  while (budget != 0) {
    const auto stretch = numbers.stretch_from(from);
    if (stretch.ids.empty()) return endless;
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(stretch.ids.size(), budget));
    for (std::size_t place = 0; place < count; ++place) {
      const subject_id id = stretch.ids[place];
      if (id != no_subject && !visit(stretch.first + place, id)) return stretch.first + place;
    }
    budget -= count;
    from = stretch.first + count;
  }
  return from;
}

class everything_cursor final : public match_cursor {
 public:
  explicit everything_cursor(const live_map& live) : live_(live) {}
  std::optional<sequence> next(sequence from) override { return live_.next(from); }
  std::uint64_t count_from(sequence from) override { return live_.count_from(from); }

 private:
  const live_map& live_;
};

class literal_cursor final : public match_cursor {
 public:
  literal_cursor(const subject_index& subjects, std::string subject)
      : subjects_(subjects), subject_(std::move(subject)) {}
  std::optional<sequence> next(sequence from) override {
    const subject_id id = resolve();
    return id != no_subject ? subjects_.next(id, from) : std::nullopt;
  }
  std::uint64_t count_from(sequence from) override {
    const subject_id id = resolve();
    return id != no_subject ? subjects_.postings(id).count_from(from) : 0;
  }

 private:
  // The number may have gone to another subject since.
  subject_id resolve() {
    if (id_ == no_subject || subjects_.name(id_) != subject_ || subjects_.postings(id_).empty()) {
      id_ = subjects_.find(subject_);
    }
    return id_;
  }

  const subject_index& subjects_;
  std::string subject_;
  subject_id id_ = no_subject;
};

// Several subjects. Begins without any structure: a consumer that follows the end of the log never needs one. One that
// lags walks the messages by a bitmap of matching subject numbers, or merges the postings of its subjects.
class pattern_cursor final : public match_cursor, private subject_watcher {
 public:
  pattern_cursor(log_view log, subject_filters filters) : log_(log), filters_(std::move(filters)) {
    for (const auto& filter : filters_) log_.subjects.watch(filter, *this);
  }
  ~pattern_cursor() override {
    for (const auto& filter : filters_) log_.subjects.unwatch(filter, *this);
  }

  std::optional<sequence> next(sequence from) override;
  std::uint64_t count_from(sequence from) override;

 private:
  enum class way { probe, scan, merge };
  using head = std::pair<sequence, subject_id>;

  void on_added(subject_id subject, sequence number) override;
  void on_emptied(subject_id subject) override;

  sequence search(sequence from);
  sequence probe(sequence from, bool& found);
  sequence scan(sequence from);
  sequence merge(sequence from);
  sequence leap(sequence from) const;
  void prepare_scan();
  void prepare_merge(sequence from);
  void forget();

  bool matches(subject_id subject) const;
  bool marked(subject_id subject) const {
    return subject / 64 < marks_.size() && (marks_[subject / 64] >> (subject % 64) & 1) != 0;
  }
  void mark(subject_id subject);
  template <class Visit>
  void for_each_subject(Visit&& visit) const;
  std::uint64_t subjects_at_most() const;

  log_view log_;
  subject_filters filters_;
  // Nothing matches in [quiet_from_, quiet_to_); to endless, nothing matches behind quiet_from_ at all.
  sequence quiet_from_ = 0, quiet_to_ = 0;

  way way_ = way::probe;
  std::vector<std::uint64_t> marks_;  // scan: bits of the matching subjects that have messages
  std::uint64_t marked_ = 0;
  // merge: a heap with the earliest on top. Each matching subject with a message at or behind merged_from_ has a head
  // at or before the first such one. A head may be of a message that went, even of a subject that went and whose number
  // another one has now: so a head counts when its message lives, and else is checked by name before it moves on.
  std::vector<head> heads_;
  sequence merged_from_ = 0;
};

void pattern_cursor::on_added(subject_id subject, sequence number) {
  if (quiet_to_ == endless && quiet_from_ != endless) quiet_to_ = std::max(number, quiet_from_);
  if (way_ == way::scan) mark(subject);
  if (way_ != way::merge || number < merged_from_) return;
  const auto before = log_.subjects.previous(subject, number - 1);
  if (before && *before >= merged_from_) return;
  heads_.emplace_back(number, subject);
  std::push_heap(heads_.begin(), heads_.end(), std::greater<>());
  if (heads_.size() > 2 * merge_limit) forget();
}

void pattern_cursor::on_emptied(subject_id subject) {
  if (way_ != way::scan || !marked(subject)) return;
  marks_[subject / 64] &= ~(std::uint64_t{1} << (subject % 64));
  --marked_;
}

std::optional<sequence> pattern_cursor::next(sequence from) {
  sequence start = from;
  if (from >= quiet_from_ && from < quiet_to_) {
    if (quiet_to_ == endless) return std::nullopt;
    start = quiet_to_;
  } else {
    quiet_from_ = from;
  }
  const auto last = log_.live.last();
  quiet_to_ = last && start <= *last ? search(start) : endless;
  return quiet_to_ != endless ? std::optional(quiet_to_) : std::nullopt;
}

// The first match at or after `from`, or endless.
sequence pattern_cursor::search(sequence from) {
  if (way_ == way::probe) {
    bool found = false;
    from = probe(from, found);
    if (found || from == endless) return from;
    if (subjects_at_most() <= merge_at_once) {
      prepare_merge(from);
    } else {
      prepare_scan();
    }
  }
  return way_ == way::scan ? scan(from) : merge(from);
}

sequence pattern_cursor::probe(sequence from, bool& found) {
  return walk(log_.numbers, from, probe_messages, [&](sequence, subject_id id) {
    found = matches(id);
    return !found;
  });
}

sequence pattern_cursor::scan(sequence from) {
  const std::uint64_t budget = std::max(scan_at_least, marked_ * scan_per_subject);
  bool found = false;
  from = walk(log_.numbers, from, budget, [&](sequence, subject_id id) {
    found = marked(id);
    return !found;
  });
  if (found || from == endless) return from;
  if (marked_ > merge_limit) return leap(from);
  prepare_merge(from);
  return merge(from);
}

sequence pattern_cursor::merge(sequence from) {
  if (from < merged_from_) prepare_merge(from);
  merged_from_ = from;
  while (!heads_.empty()) {
    const auto [number, subject] = heads_.front();
    const bool lives = log_.numbers.id_at(number) == subject;
    if (lives && number >= from) return number;
    const auto following =
        lives || matches(subject) ? log_.subjects.next(subject, std::max(from, number + 1)) : std::nullopt;
    do {
      std::pop_heap(heads_.begin(), heads_.end(), std::greater<>());
      heads_.pop_back();
    } while (!heads_.empty() && heads_.front() == head(number, subject));
    if (!following) continue;
    heads_.emplace_back(*following, subject);
    std::push_heap(heads_.begin(), heads_.end(), std::greater<>());
  }
  std::vector<head>().swap(heads_);
  return endless;
}

sequence pattern_cursor::leap(sequence from) const {
  sequence best = endless;
  for (std::size_t word = 0; word < marks_.size(); ++word) {
    for (std::uint64_t rest = marks_[word]; rest != 0; rest &= rest - 1) {
      const auto id = static_cast<subject_id>(word * 64 + static_cast<unsigned>(std::countr_zero(rest)));
      if (const auto found = log_.subjects.next(id, from); found && *found < best) best = *found;
    }
  }
  return best;
}

void pattern_cursor::prepare_scan() {
  forget();
  way_ = way::scan;
  marks_.assign(log_.subjects.id_bound() / 64 + 1, 0);
  for_each_subject([&](subject_id id) { mark(id); });
}

void pattern_cursor::prepare_merge(sequence from) {
  forget();
  way_ = way::merge;
  merged_from_ = from;
  for_each_subject([&](subject_id id) {
    if (const auto first = log_.subjects.next(id, from)) heads_.emplace_back(*first, id);
  });
  std::make_heap(heads_.begin(), heads_.end(), std::greater<>());
}

void pattern_cursor::forget() {
  way_ = way::probe;
  std::vector<std::uint64_t>().swap(marks_);
  std::vector<head>().swap(heads_);
  marked_ = 0;
}

void pattern_cursor::mark(subject_id subject) {
  if (marked(subject)) return;
  if (subject / 64 >= marks_.size()) marks_.resize(std::max<std::size_t>(subject / 64 + 1, marks_.size() * 3 / 2));
  marks_[subject / 64] |= std::uint64_t{1} << (subject % 64);
  ++marked_;
}

bool pattern_cursor::matches(subject_id subject) const {
  const auto name = log_.subjects.name(subject);
  return std::ranges::any_of(filters_, [&](const auto& filter) { return pattern_matches(filter, name); });
}

// Each matching subject once, though several filters may match it.
template <class Visit>
void pattern_cursor::for_each_subject(Visit&& visit) const {
  for (std::size_t place = 0; place < filters_.size(); ++place) {
    log_.subjects.for_each_match(filters_[place], 0, [&](subject_id id) {
      const auto name = log_.subjects.name(id);
      const auto earlier = std::span(filters_).first(place);
      if (std::ranges::none_of(earlier, [&](const auto& other) { return pattern_matches(other, name); })) visit(id);
      return true;
    });
  }
}

std::uint64_t pattern_cursor::subjects_at_most() const {
  std::uint64_t count = 0;
  for (const auto& filter : filters_) count += log_.subjects.match_count(filter);
  return count;
}

std::uint64_t pattern_cursor::count_from(sequence from) {
  if (from >= quiet_from_ && quiet_to_ == endless) return 0;
  const std::uint64_t messages = log_.live.count_from(from);
  const bool by_marks = way_ == way::scan && messages < marked_ * scan_per_subject;
  std::uint64_t count = 0;
  if (by_marks || messages <= count_by_message) {
    walk(log_.numbers, from, endless, [&](sequence, subject_id id) {
      count += by_marks ? marked(id) : matches(id);
      return true;
    });
  } else {
    for_each_subject([&](subject_id id) { count += log_.subjects.postings(id).count_from(from); });
  }
  return count;
}

// Without duplicates and without filters that another one contains.
subject_filters reduced(subject_filters filters) {
  std::ranges::sort(filters);
  filters.erase(std::unique(filters.begin(), filters.end()), filters.end());
  subject_filters kept;
  for (const auto& filter : filters) {
    const bool contained = std::ranges::any_of(
        filters, [&](const auto& other) { return &other != &filter && pattern_contains(other, filter); });
    if (!contained) kept.push_back(filter);
  }
  return kept;
}

bool is_everything(std::string_view pattern) { return pattern.empty() || pattern == ">"; }

}  // namespace

std::unique_ptr<match_cursor> make_match_cursor(log_view log, subject_filters filters) {
  if (filters.empty() || std::ranges::any_of(filters, is_everything))
    return std::make_unique<everything_cursor>(log.live);
  filters = reduced(std::move(filters));
  if (filters.size() == 1 && is_literal(filters.front())) {
    return std::make_unique<literal_cursor>(log.subjects, std::move(filters.front()));
  }
  return std::make_unique<pattern_cursor>(log, std::move(filters));
}

std::optional<sequence> first_match(log_view log, std::string_view pattern, sequence from) {
  if (is_everything(pattern)) return log.live.next(from);
  if (is_literal(pattern)) {
    const subject_id id = log.subjects.find(pattern);
    return id != no_subject ? log.subjects.next(id, from) : std::nullopt;
  }
  bool found = false;
  const auto look = [&](std::uint64_t budget) {
    from = walk(log.numbers, from, budget, [&](sequence, subject_id id) {
      found = pattern_matches(pattern, log.subjects.name(id));
      return !found;
    });
    return found || from == endless;
  };
  if (!look(probe_messages) && !look(log.subjects.match_count(pattern))) return log.subjects.first_match(pattern, from);
  return found ? std::optional(from) : std::nullopt;
}

std::optional<sequence> last_match(log_view log, std::string_view pattern, sequence up_to) {
  if (is_everything(pattern)) return log.live.previous(up_to);
  if (is_literal(pattern)) {
    const subject_id id = log.subjects.find(pattern);
    return id != no_subject ? log.subjects.previous(id, up_to) : std::nullopt;
  }
  std::optional<sequence> found;
  // True when the question is answered.
  const auto look = [&](std::uint64_t budget) {
    for (; budget != 0; --budget) {
      const auto number = log.live.previous(up_to);
      if (!number) return true;
      if (pattern_matches(pattern, log.subjects.name(log.numbers.id_at(*number)))) {
        found = number;
        return true;
      }
      if (*number == 0) return true;
      up_to = *number - 1;
    }
    return false;
  };
  if (!look(probe_messages) && !look(log.subjects.match_count(pattern))) return log.subjects.last_match(pattern, up_to);
  return found;
}

}  // namespace tern::storage
