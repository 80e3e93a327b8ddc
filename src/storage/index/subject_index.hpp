// The subjects of one stream: subject -> number, totals and the sequences of its messages; and back from the number to
// the subject. Literal look-ups cost the length of the subject, pattern look-ups what matches (and the branches on the
// way), counting the subjects of `orders.>` nothing but the way.
//
// Owned by the log; one thread. It knows committed messages only.
#pragma once

#include "base/function_ref.hpp"
#include "storage/index/filter_trie.hpp"
#include "storage/index/posting_list.hpp"
#include "storage/index/slab.hpp"
#include "storage/stream_log.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace tern::storage {

using subject_id = std::uint32_t;
constexpr subject_id no_subject = 0;

// Is told about matching subjects (see watch()). Must not change the index meanwhile.
class subject_watcher {
 public:
  virtual ~subject_watcher() = default;
  virtual void on_added(subject_id subject, sequence number) = 0;  // a message was added; also the first of a subject
  virtual void on_emptied(subject_id subject) = 0;                 // its last one went; the number may be given anew
};

// A radix tree over bytes whose nodes store only where keys part and how many subjects lie below; what they agree on is
// read from any name below. Names, entries and nodes live in slabs and refer to one another by 32-bit numbers.
//
// A subject's number stays while it has messages or holds. A number without both is free and will be given to another
// subject: so records of removed messages must not be looked up by it.
class subject_index {
 public:
  subject_index();
  ~subject_index();
  subject_index(const subject_index&) = delete;
  subject_index& operator=(const subject_index&) = delete;

  // The subject's number, made when missing. A new one must be followed by add() or hold() before anything else.
  subject_id intern(std::string_view subject);
  subject_id find(std::string_view subject) const;  // no_subject when it has neither messages nor holds
  void hold(subject_id subject);                    // keeps the number, for messages that are staged
  void release(subject_id subject);  // undoes one hold(); the last one of a subject without messages frees it

  void add(subject_id subject, sequence number);     // greater than the subject's last
  bool remove(subject_id subject, sequence number);  // false: not there
  void remove_everything();                          // costs the subjects, not the messages

  // --- one subject ---
  std::string_view name(subject_id subject) const;  // the view stays while the number does; empty for free ones
  subject_totals totals(subject_id subject) const { return totals_of(entry_of(subject)); }
  const posting_list& postings(subject_id subject) const { return entry_of(subject).postings; }
  std::optional<sequence> next(subject_id subject, sequence from) const { return postings(subject).next(from); }
  std::optional<sequence> previous(subject_id subject, sequence up_to) const {
    return postings(subject).previous(up_to);
  }

  // --- patterns: subjects with messages, sorted by bytes ---
  std::uint64_t size() const { return subjects_; }
  // From `offset`, until visit returns false. Returns the number of matching subjects; those that are not visited are
  // counted by the branch where the pattern allows.
  std::uint64_t for_each_match(std::string_view pattern, std::uint64_t offset,
                               function_ref<bool(subject_id)> visit) const;
  std::uint64_t match_count(std::string_view pattern) const;
  std::uint64_t count_messages(std::string_view pattern, sequence from) const;
  // Over all matching subjects: cost their number. match_cursor.hpp has cheaper ways for patterns that match many.
  std::optional<sequence> first_match(std::string_view pattern, sequence from) const;
  std::optional<sequence> last_match(std::string_view pattern, sequence up_to) const;

  // Every subject id is below this.
  subject_id id_bound() const { return id_bound_; }

  // Tells `who` about subjects that match `pattern`, until unwatch() of the same. Several patterns may match one
  // subject: then it is told several times.
  void watch(std::string_view pattern, subject_watcher& who);
  void unwatch(std::string_view pattern, subject_watcher& who);

  std::size_t heap_bytes() const;  // costs the number of subjects

 private:
  struct entry {
    posting_list postings;
    std::uint32_t name = 0;  // in names_; a free entry has 0 and `holds` is the next free one
    std::uint32_t holds = 0;
  };
  static constexpr unsigned page_bits = 10;
  using page = std::array<entry, 1u << page_bits>;
  struct node;
  struct search;
  using reference = std::uint32_t;  // a node in nodes_, or a subject id with the top bit set; 0: nothing
  static constexpr reference leaf_bit = 0x8000'0000u;

  entry& entry_of(subject_id subject) { return (*pages_[subject >> page_bits])[subject & ((1u << page_bits) - 1)]; }
  const entry& entry_of(subject_id subject) const {
    return (*pages_[subject >> page_bits])[subject & ((1u << page_bits) - 1)];
  }
  static subject_totals totals_of(const entry& what) {
    return {what.postings.size(), what.postings.front(), what.postings.back()};
  }
  node& node_at(reference place) const { return *reinterpret_cast<node*>(nodes_.at(place)); }
  subject_id new_entry(std::string_view subject);
  void on_emptied(subject_id subject);
  void free_if_unused(subject_id subject);
  subject_id any_leaf(reference below) const;
  void insert_leaf(std::string_view subject, subject_id id);
  void remove_leaf(std::string_view subject);
  void change_weight(std::string_view subject, std::int32_t by);
  std::uint32_t weight_of(reference what) const;
  reference make_node(std::uint32_t depth, std::size_t size_class);
  void free_node(reference what);
  reference resized(reference what, std::size_t size_class);
  reference with_child(reference parent, unsigned symbol, reference child);
  reference without_child(reference parent, unsigned symbol);

  slab nodes_, names_;
  std::vector<std::unique_ptr<page>> pages_;
  subject_id id_bound_ = 1;
  subject_id free_ids_ = no_subject;
  reference root_ = 0;
  std::uint64_t subjects_ = 0;
  filter_trie<subject_watcher*> watchers_;
};

}  // namespace tern::storage
