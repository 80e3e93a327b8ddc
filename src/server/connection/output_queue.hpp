// The bytes that a connection still has to send: a chain of pooled blocks and of references to shared payloads. An
// empty queue owns no memory. One shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace tern::server {

// A large payload that several connections send. Counted by the pieces that refer to it; one shard, so not atomic.
struct shared_payload {
  std::string bytes;
  std::uint32_t references = 0;
};

// Memory for output queues. Owned by the server, outlives its connections. Keeps a bounded number of blocks for reuse.
class block_pool {
 public:
  static constexpr std::size_t small_block = 4 << 10;  // the first of a queue: most turns need no more
  static constexpr std::size_t large_block = 32 << 10;
  static constexpr std::size_t spare_small_max = 512;  // 2 MiB
  static constexpr std::size_t spare_large_max = 128;  // 4 MiB
  static constexpr std::size_t spare_references_max = 1024;

  struct piece {
    piece* next = nullptr;
    shared_payload* shared = nullptr;  // set: [data + begin, data + end) is in it
    const char* data = nullptr;        // bytes(), or inside `shared`
    std::uint32_t begin = 0, end = 0, capacity = 0;
    char* bytes() { return reinterpret_cast<char*>(this + 1); }
  };

  block_pool() = default;
  ~block_pool();
  block_pool(const block_pool&) = delete;
  block_pool& operator=(const block_pool&) = delete;

  piece* take_block(std::size_t capacity);  // small_block or large_block, header included
  piece* take_reference(shared_payload& to, const char* data, std::uint32_t size);
  void give_back(piece* what);

 private:
  struct spare_list {
    piece* first = nullptr;
    std::size_t count = 0;
  };
  piece* take(spare_list& from, std::size_t bytes);
  static void keep(spare_list& in, piece* what, std::size_t most);

  spare_list small_, large_, references_;
};

class output_queue {
 public:
  explicit output_queue(block_pool& pool) : pool_(&pool) {}
  ~output_queue() { clear(); }
  output_queue(const output_queue&) = delete;
  output_queue& operator=(const output_queue&) = delete;

  // The largest `size` for reserve().
  static constexpr std::size_t reserve_max = block_pool::large_block - sizeof(block_pool::piece);

  // Room for `size` contiguous bytes, to be written and then committed (perhaps fewer of them).
  char* reserve(std::size_t size) {
    if (last_ != nullptr && last_->capacity - last_->end >= size && last_->shared == nullptr)
      return last_->bytes() + last_->end;
    return reserve_block(size);
  }
  void commit(std::size_t size) {
    last_->end += static_cast<std::uint32_t>(size);
    size_ += size;
  }
  void append(std::string_view bytes);
  void append_shared(shared_payload& payload, std::string_view part);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::size_t pieces() const;

  // The first pieces, for one gathered write; returns how many there are.
  std::size_t gather(std::span<std::string_view> out) const;
  void consume(std::size_t bytes);  // what was written; gives blocks back
  void clear();

 private:
  char* reserve_block(std::size_t size);
  void push(block_pool::piece* what);

  block_pool* pool_;
  block_pool::piece* first_ = nullptr;
  block_pool::piece* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tern::server
