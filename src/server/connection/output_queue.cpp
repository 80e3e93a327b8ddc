#include "server/connection/output_queue.hpp"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

namespace tern::server {
namespace {

void free_list(block_pool::piece* first) {
  while (first != nullptr) ::operator delete(std::exchange(first, first->next));
}

}  // namespace

block_pool::~block_pool() {
  for (spare_list* list : {&small_, &large_, &references_}) free_list(list->first);
}

block_pool::piece* block_pool::take(spare_list& from, std::size_t bytes) {
  if (from.first == nullptr) return new (::operator new(bytes)) piece;
  --from.count;
  return new (std::exchange(from.first, from.first->next)) piece;
}

void block_pool::keep(spare_list& in, piece* what, std::size_t most) {
  if (in.count >= most) {
    ::operator delete(what);
    return;
  }
  what->next = in.first;
  in.first = what;
  ++in.count;
}

block_pool::piece* block_pool::take_block(std::size_t capacity) {
  piece* block = take(capacity == small_block ? small_ : large_, capacity);
  block->data = block->bytes();
  block->capacity = static_cast<std::uint32_t>(capacity - sizeof(piece));
  return block;
}

block_pool::piece* block_pool::take_reference(shared_payload& to, const char* data, std::uint32_t size) {
  piece* reference = take(references_, sizeof(piece));
  reference->shared = &to;
  reference->data = data;
  reference->end = size;
  ++to.references;
  return reference;
}

void block_pool::give_back(piece* what) {
  if (what->shared != nullptr) {
    if (--what->shared->references == 0) delete what->shared;
    keep(references_, what, spare_references_max);
  } else if (what->capacity + sizeof(piece) == small_block) {
    keep(small_, what, spare_small_max);
  } else {
    keep(large_, what, spare_large_max);
  }
}

void output_queue::push(block_pool::piece* what) {
  if (last_ == nullptr)
    first_ = what;
  else
    last_->next = what;
  last_ = what;
}

char* output_queue::reserve_block(std::size_t size) {
  assert(size <= reserve_max);
  // Between shared payloads there are only their lines: a large block for each would hold several times what is sent.
  const bool small =
      (last_ == nullptr || last_->shared != nullptr) && size <= block_pool::small_block - sizeof(block_pool::piece);
  push(pool_->take_block(small ? block_pool::small_block : block_pool::large_block));
  return last_->bytes();
}

void output_queue::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), reserve_max);
    std::memcpy(reserve(part), bytes.data(), part);
    commit(part);
    bytes.remove_prefix(part);
  }
}

void output_queue::append_shared(shared_payload& payload, std::string_view part) {
  push(pool_->take_reference(payload, part.data(), static_cast<std::uint32_t>(part.size())));
  size_ += part.size();
}

std::size_t output_queue::pieces() const {
  std::size_t count = 0;
  for (const auto* one = first_; one != nullptr; one = one->next) ++count;
  return count;
}

std::size_t output_queue::gather(std::span<std::string_view> out) const {
  std::size_t count = 0;
  for (const auto* one = first_; one != nullptr && count < out.size(); one = one->next)
    out[count++] = {one->data + one->begin, one->end - one->begin};
  return count;
}

void output_queue::consume(std::size_t bytes) {
  assert(bytes <= size_);
  size_ -= bytes;
  while (first_ != nullptr) {
    const std::size_t here = first_->end - first_->begin;
    if (bytes < here) {
      first_->begin += static_cast<std::uint32_t>(bytes);
      return;
    }
    bytes -= here;
    pool_->give_back(std::exchange(first_, first_->next));
  }
  last_ = nullptr;
}

void output_queue::clear() {
  while (first_ != nullptr) pool_->give_back(std::exchange(first_, first_->next));
  last_ = nullptr;
  size_ = 0;
}

}  // namespace tern::server
