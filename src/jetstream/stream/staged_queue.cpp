#include "jetstream/stream/staged_queue.hpp"

#include "base/hash.hpp"
#include "protocol/subject.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace tern::jetstream {
namespace {

constexpr std::size_t text_block_size = 64 * 1024;
constexpr std::size_t ring_size_first = 64;
constexpr std::size_t slots_first = 256;

}  // namespace

std::uint64_t staged_queue::hash(std::string_view subject) const { return hash64(subject, seed_); }

char* staged_queue::reserve_text(std::size_t size) {
  if (writing_ == nullptr || writing_->capacity - writing_->used < size) {
    if (writing_ != nullptr && writing_->live == 0) {
      writing_->used = 0;
      free_blocks_.push_back(writing_);
    }
    const auto fits = std::ranges::find_if(free_blocks_, [size](text_block* b) { return b->capacity >= size; });
    if (fits != free_blocks_.end()) {
      writing_ = *fits;
      free_blocks_.erase(fits);
    } else {
      auto block = std::make_unique<text_block>();
      block->capacity = std::max(text_block_size, size);
      block->memory = std::make_unique_for_overwrite<char[]>(block->capacity);
      writing_ = block.get();
      blocks_.push_back(std::move(block));
    }
  }
  char* at = writing_->memory.get() + writing_->used;
  writing_->used += size;
  ++writing_->live;
  return at;
}

void staged_queue::grow_ring() {
  const std::size_t next = std::max(ring_size_first, ring_.size() * 2);
  std::vector<staged_publish> ring(next);
  std::vector<text_block*> blocks(next);
  for (std::size_t i = 0; i < size_; ++i) {
    ring[i] = ring_[index_of(i)];
    blocks[i] = ring_blocks_[index_of(i)];
  }
  ring_ = std::move(ring);
  ring_blocks_ = std::move(blocks);
  head_ = 0;
}

void staged_queue::push(staged_publish what, std::string_view subject, std::string_view reply, std::string_view note) {
  if (size_ == ring_.size()) grow_ring();
  char* text = reserve_text(subject.size() + reply.size() + note.size());
  if (!subject.empty()) std::memcpy(text, subject.data(), subject.size());
  if (!reply.empty()) std::memcpy(text + subject.size(), reply.data(), reply.size());
  if (!note.empty()) std::memcpy(text + subject.size() + reply.size(), note.data(), note.size());
  what.subject = {text, subject.size()};
  what.reply = {text + subject.size(), reply.size()};
  what.note = {text + subject.size() + reply.size(), note.size()};
  const std::size_t at = index_of(size_++);
  ring_[at] = what;
  ring_blocks_[at] = writing_;
  bytes_ += what.record_bytes;
  messages_ += what.message_change;
  byte_change_ += what.byte_change;
}

void staged_queue::pop() {
  assert(size_ > 0);
  const staged_publish& what = ring_[head_];
  bytes_ -= what.record_bytes;
  messages_ -= what.message_change;
  byte_change_ -= what.byte_change;
  if (indexed_ > 0) {
    --indexed_;
    if (what.what == staged_publish::kind::message) {
      slot& found = slot_of(what.subject_hash);
      found.state.change -= what.message_change;
      if (--found.waiting == 0) found.state = {};
    }
  }
  text_block* block = ring_blocks_[head_];
  if (--block->live == 0) {
    block->used = 0;
    if (block != writing_) free_blocks_.push_back(block);
  }
  head_ = (head_ + 1) & (ring_.size() - 1);
  --size_;
}

void staged_queue::drop_last(std::size_t count) {
  for (; count > 0 && size_ > 0; --count) {
    const std::size_t at = index_of(--size_);
    const staged_publish& what = ring_[at];
    bytes_ -= what.record_bytes;
    messages_ -= what.message_change;
    byte_change_ -= what.byte_change;
    text_block* block = ring_blocks_[at];
    if (--block->live == 0 && block != writing_) {
      block->used = 0;
      free_blocks_.push_back(block);
    }
  }
  slots_.clear();  // made again when somebody asks
  slots_used_ = indexed_ = 0;
}

void staged_queue::clear() {
  while (!empty()) pop();
}

staged_queue::slot& staged_queue::slot_of(std::uint64_t hash) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].used && slots_[at].hash != hash) at = (at + 1) & mask;
  return slots_[at];
}

void staged_queue::index_one(staged_publish& what) {
  if (what.what != staged_publish::kind::message) return;
  what.subject_hash = hash(what.subject);
  slot& found = slot_of(what.subject_hash);
  if (!found.used) {
    found = {.hash = what.subject_hash, .used = true};
    ++slots_used_;
  }
  ++found.waiting;
  found.state.last = what.number;
  found.state.change += what.message_change;
}

// Subjects that no longer wait keep their slots until the table is rebuilt, at the latest when half of it is used.
void staged_queue::rebuild_index() {
  std::size_t wanted = slots_first;
  while (wanted < size_ * 4) wanted *= 2;
  slots_.assign(wanted, slot());
  slots_used_ = 0;
  for (std::size_t i = 0; i < size_; ++i) index_one(ring_[index_of(i)]);
  indexed_ = size_;
}

staged_queue::subject_state staged_queue::of_subject(std::uint64_t hash) {
  if (size_ == 0) return {};
  if (slots_.empty()) rebuild_index();
  while (indexed_ < size_) {
    if ((slots_used_ + 1) * 2 > slots_.size()) {
      rebuild_index();
      break;
    }
    index_one(ring_[index_of(indexed_++)]);
  }
  const slot& found = slot_of(hash);
  return found.used ? found.state : subject_state();
}

storage::sequence staged_queue::last_match(std::string_view pattern) const {
  for (std::size_t i = size_; i > 0; --i) {
    const staged_publish& what = ring_[index_of(i - 1)];
    if (what.what == staged_publish::kind::message && protocol::subject_matches(pattern, what.subject))
      return what.number;
  }
  return 0;
}

}  // namespace tern::jetstream
