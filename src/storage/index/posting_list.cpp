#include "storage/index/posting_list.hpp"

#include "storage/segment/counted_directory.hpp"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace tern::storage {
namespace {

// Differences are stored less one, seven bits to a byte.
std::size_t delta_size(std::uint64_t delta) {
  std::size_t size = 1;
  for (std::uint64_t rest = (delta - 1) >> 7; rest != 0; rest >>= 7) ++size;
  return size;
}

unsigned char* put_delta(unsigned char* out, std::uint64_t delta) {
  std::uint64_t rest = delta - 1;
  for (; rest >= 0x80; rest >>= 7) *out++ = static_cast<unsigned char>(rest | 0x80);
  *out++ = static_cast<unsigned char>(rest);
  return out;
}

std::uint64_t take_delta(const unsigned char*& in) {
  std::uint64_t value = *in++;
  if (value < 0x80) return value + 1;
  value &= 0x7f;
  for (unsigned shift = 7;; shift += 7) {
    const std::uint64_t byte = *in++;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value + 1;
  }
}

constexpr std::uint16_t bytes_limit = 128;  // entries of a chunk with differences
constexpr std::uint16_t run_limit = 1024;   // entries of an evenly spaced chunk
constexpr std::uint16_t run_worth = 32;     // a run of at least this many is ended rather than turned into differences

}  // namespace

// Up to bytes_limit entries as first + differences; or, while `stride` is not 0, up to run_limit evenly spaced ones
// without any bytes. The bytes follow the header.
struct posting_list::chunk {
  sequence first;
  sequence last;
  std::uint64_t stride;
  std::uint16_t count;
  std::uint16_t begin = 0;  // the differences that count stand in [begin, end)
  std::uint16_t end = 0;
  std::uint16_t capacity;

  unsigned char* bytes() { return reinterpret_cast<unsigned char*>(this + 1); }
  const unsigned char* bytes() const { return reinterpret_cast<const unsigned char*>(this + 1); }

  struct deleter {
    void operator()(chunk* what) const { std::free(what); }
  };
  using pointer = std::unique_ptr<chunk, deleter>;

  static pointer make(std::uint16_t capacity) {
    void* memory = std::malloc(sizeof(chunk) + capacity);
    if (memory == nullptr) throw std::bad_alloc();
    auto* made = new (memory) chunk;
    made->capacity = capacity;
    return pointer(made);
  }

  static pointer run(sequence first, std::uint64_t stride, std::uint16_t count) {
    auto made = make(0);
    made->first = first;
    made->stride = stride;
    made->count = count;
    made->last = first + stride * (count - 1u);
    return made;
  }

  // A copy whose bytes begin at 0 and leave `room` free; runs become differences.
  static pointer with_room(const chunk& from, std::size_t room) {
    const std::size_t used = from.stride != 0 ? delta_size(from.stride) * (from.count - 1u)
                                              : static_cast<std::size_t>(from.end - from.begin);
    auto made = make(static_cast<std::uint16_t>(std::min<std::size_t>((used + room + 7) & ~std::size_t{7}, 0xfff8)));
    made->first = from.first;
    made->last = from.last;
    made->count = from.count;
    made->stride = 0;
    if (from.stride != 0) {
      auto* out = made->bytes();
      for (std::uint16_t n = 1; n < from.count; ++n) out = put_delta(out, from.stride);
    } else {
      std::memcpy(made->bytes(), from.bytes() + from.begin, used);
    }
    made->end = static_cast<std::uint16_t>(used);
    return made;
  }

  // False: `number` has to go to another chunk. May replace the chunk.
  static bool push_back(pointer& self, sequence number) {
    const std::uint64_t delta = number - self->last;
    if (self->stride != 0) {
      if (self->count == 1) self->stride = delta;
      if (self->stride == delta) {
        if (self->count >= run_limit) return false;
        ++self->count;
        self->last = number;
        return true;
      }
      if (self->count >= run_worth) return false;
    } else if (self->count >= bytes_limit) {
      return false;
    }
    const std::size_t needed = delta_size(delta);
    if (self->stride != 0 || static_cast<std::size_t>(self->capacity - self->end) < needed) {
      // Grows by half, which the front's waste is taken off.
      self = with_room(*self, std::max<std::size_t>(needed, (self->end - self->begin) / 2u + 8));
    }
    self->end = static_cast<std::uint16_t>(put_delta(self->bytes() + self->end, delta) - self->bytes());
    self->last = number;
    ++self->count;
    return true;
  }

  void pop_front() {
    if (stride != 0) {
      first += stride;
    } else {
      const auto* in = static_cast<const unsigned char*>(bytes() + begin);
      first += take_delta(in);
      begin = static_cast<std::uint16_t>(in - bytes());
    }
    --count;
  }

  // Removes an entry of a chunk that has more than one.
  static bool remove(pointer& self, sequence number) {
    if (number < self->first || number > self->last) return false;
    if (number == self->first) {
      self->pop_front();
      return true;
    }
    if (self->stride != 0) {
      if ((number - self->first) % self->stride != 0) return false;
      if (number == self->last) {
        self->last -= self->stride;
        --self->count;
        return true;
      }
      self = with_room(*self, 0);
    }
    return self->remove_inside(number);
  }

  // Differences only. Joining two never takes more bytes than they took apart.
  bool remove_inside(sequence number) {
    sequence at = first;
    unsigned char* place = bytes() + begin;
    for (;;) {
      const auto* in = static_cast<const unsigned char*>(place);
      const std::uint64_t delta = take_delta(in);
      if (at + delta > number) return false;
      if (at + delta < number) {
        at += delta;
        place = bytes() + (in - bytes());
        continue;
      }
      if (number == last) {
        last = at;
        end = static_cast<std::uint16_t>(place - bytes());
      } else {
        const std::uint64_t following = take_delta(in);
        unsigned char* out = put_delta(place, delta + following);
        const auto rest = static_cast<std::size_t>(bytes() + end - in);
        std::memmove(out, in, rest);
        end = static_cast<std::uint16_t>(out + rest - bytes());
      }
      --count;
      return true;
    }
  }

  // What the searches want: how many entries are smaller than `bound`, the greatest of them, the first that is not.
  struct split {
    std::uint64_t below;
    sequence before;  // 0: none
    sequence after;   // 0: none
  };
  split split_at(sequence bound) const {
    if (count == 0 || bound <= first) return {0, 0, count == 0 ? 0 : first};
    if (bound > last) return {count, last, 0};
    if (stride != 0) {
      const std::uint64_t below = (bound - first + stride - 1) / stride;
      return {below, first + stride * (below - 1), first + stride * below};
    }
    sequence at = first;
    const auto* in = bytes() + begin;
    for (std::uint64_t below = 1;; ++below) {
      const sequence following = at + take_delta(in);
      if (following >= bound) return {below, at, following};
      at = following;
    }
  }

  sequence nth(std::uint64_t place) const {
    if (stride != 0) return first + stride * place;
    sequence at = first;
    const auto* in = bytes() + begin;
    for (; place != 0; --place) at += take_delta(in);
    return at;
  }
};

struct posting_list::directory {
  counted_directory<chunk::pointer> chunks;

  chunk* chunk_at(std::size_t place) const { return chunks[place].value.get(); }
};

posting_list::chunk* posting_list::as_chunk() const { return reinterpret_cast<chunk*>(first_); }
posting_list::directory* posting_list::as_directory() const { return reinterpret_cast<directory*>(first_); }

void posting_list::hold(chunk* what) {
  first_ = reinterpret_cast<std::uint64_t>(what);
  second_ = chunk_mark;
}

void posting_list::hold(directory* what) {
  first_ = reinterpret_cast<std::uint64_t>(what);
  second_ = directory_mark;
}

posting_list& posting_list::operator=(posting_list&& other) noexcept {
  if (this == &other) return *this;
  clear();
  std::swap(first_, other.first_);
  std::swap(second_, other.second_);
  return *this;
}

void posting_list::clear() {
  if (is_chunk()) chunk::pointer(as_chunk()).reset();
  if (is_directory()) delete as_directory();
  first_ = second_ = 0;
}

void posting_list::push_back(sequence number) {
  assert(number > back() && number < directory_mark - 8);
  if (first_ == 0) {
    first_ = number;
  } else if (second_ == 0) {
    second_ = number;
  } else if (is_directory()) {
    auto& chunks = as_directory()->chunks;
    auto& last = chunks.back().value;
    if (chunk::push_back(last, number)) {
      chunks.grow_back(1);
    } else {
      if (last->stride == 0) last = chunk::with_room(*last, 0);
      chunks.push_back(number, 1, chunk::run(number, 1, 1));
    }
  } else {
    chunk::pointer only = is_chunk() ? chunk::pointer(as_chunk()) : chunk::run(first_, second_ - first_, 2);
    if (chunk::push_back(only, number)) {
      hold(only.release());
      return;
    }
    auto made = std::make_unique<directory>();
    const sequence first = only->first;
    const std::uint64_t count = only->count;
    made->chunks.push_back(first, count, std::move(only));
    made->chunks.push_back(number, 1, chunk::run(number, 1, 1));
    hold(made.release());
  }
}

bool posting_list::remove(sequence number) {
  if (first_ == 0 || number == 0) return false;
  if (!is_chunk() && !is_directory()) {
    if (number == second_) {
      second_ = 0;
    } else if (number == first_) {
      first_ = second_;
      second_ = 0;
    } else {
      return false;
    }
    return true;
  }
  if (is_chunk()) {
    chunk::pointer only(as_chunk());
    const bool removed = chunk::remove(only, number);
    hold(only.release());
    if (removed) shrink();
    return removed;
  }
  auto& chunks = as_directory()->chunks;
  const std::size_t place = chunks.find(number);
  if (place == chunks.npos || chunks[place].count == 0) return false;
  auto& where = chunks[place].value;
  if (chunks[place].count == 1 ? where->first != number : !chunk::remove(where, number)) return false;
  chunks.shrink(place, 1);
  shrink();
  return true;
}

// Back to the smaller forms, with some distance to where they were left.
void posting_list::shrink() {
  if (is_directory()) {
    auto& chunks = as_directory()->chunks;
    if (chunks.total() == 0) {
      clear();
      return;
    }
    if (chunks.size() != 1) return;
    std::unique_ptr<directory> old(as_directory());
    hold(chunks.back().value.release());
  }
  if (as_chunk()->count > 1) return;
  const sequence only = as_chunk()->first;
  clear();
  first_ = only;
}

std::uint64_t posting_list::size() const {
  if (is_chunk()) return as_chunk()->count;
  if (is_directory()) return as_directory()->chunks.total();
  return (first_ != 0) + (second_ != 0);
}

sequence posting_list::front() const {
  if (is_chunk()) return as_chunk()->first;
  if (is_directory()) {
    const auto& chunks = as_directory()->chunks;
    return as_directory()->chunk_at(chunks.next_filled(chunks.npos))->first;
  }
  return first_;
}

sequence posting_list::back() const {
  if (is_chunk()) return as_chunk()->last;
  if (is_directory()) return as_directory()->chunks.back().value->last;
  return second_ != 0 ? second_ : first_;
}

bool posting_list::contains(sequence number) const { return number != 0 && next(number) == number; }

std::optional<sequence> posting_list::next(sequence from) const {
  const auto found = [](sequence number) { return number != 0 ? std::optional(number) : std::nullopt; };
  if (is_chunk()) return found(as_chunk()->split_at(from).after);
  if (!is_directory()) return from <= first_ ? found(first_) : from <= second_ ? found(second_) : std::nullopt;
  const auto& chunks = as_directory()->chunks;
  std::size_t place = chunks.find(from);
  if (place != chunks.npos && chunks[place].count != 0) {
    if (const sequence inside = as_directory()->chunk_at(place)->split_at(from).after; inside != 0) return inside;
  }
  place = chunks.next_filled(place);
  return place != chunks.npos ? found(as_directory()->chunk_at(place)->first) : std::nullopt;
}

std::optional<sequence> posting_list::previous(sequence up_to) const {
  const auto found = [](sequence number) { return number != 0 ? std::optional(number) : std::nullopt; };
  const sequence bound = up_to + (up_to != ~sequence{0});
  if (is_chunk()) return found(as_chunk()->split_at(bound).before);
  if (!is_directory())
    return second_ != 0 && second_ < bound ? found(second_) : first_ < bound ? found(first_) : std::nullopt;
  const auto& chunks = as_directory()->chunks;
  std::size_t place = chunks.find(up_to);
  if (place == chunks.npos) return std::nullopt;
  if (chunks[place].count != 0) {
    if (const sequence inside = as_directory()->chunk_at(place)->split_at(bound).before; inside != 0) return inside;
  }
  place = chunks.previous_filled(place);
  return place != chunks.npos ? found(as_directory()->chunk_at(place)->last) : std::nullopt;
}

std::uint64_t posting_list::count_below(sequence bound) const {
  if (is_chunk()) return as_chunk()->split_at(bound).below;
  if (!is_directory()) return (first_ != 0 && first_ < bound) + (second_ != 0 && second_ < bound);
  const auto& chunks = as_directory()->chunks;
  const std::size_t place = chunks.find(bound);
  if (place == chunks.npos) return 0;
  const std::uint64_t inside = chunks[place].count != 0 ? as_directory()->chunk_at(place)->split_at(bound).below : 0;
  return chunks.count_before(place) + inside;
}

sequence posting_list::at(std::uint64_t place) const {
  if (is_chunk()) return as_chunk()->nth(place);
  if (!is_directory()) return place == 0 ? first_ : second_;
  std::uint64_t inside;
  const std::size_t where = as_directory()->chunks.select(place, inside);
  return as_directory()->chunk_at(where)->nth(inside);
}

std::size_t posting_list::heap_bytes() const {
  const auto bytes_of = [](const chunk& what) { return sizeof(chunk) + what.capacity + sizeof(void*); };
  if (is_chunk()) return bytes_of(*as_chunk());
  if (!is_directory()) return 0;
  const auto& chunks = as_directory()->chunks;
  std::size_t bytes = sizeof(directory) + chunks.heap_bytes();
  for (std::size_t place = 0; place < chunks.size(); ++place) {
    if (chunks[place].count != 0) bytes += bytes_of(*chunks[place].value);
  }
  return bytes;
}

}  // namespace tern::storage
