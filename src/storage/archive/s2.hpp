// S2, the compression of the peer's snapshots and message blocks: Snappy with larger blocks and repeated offsets.
//
// Reading is our own, since no library in C reads S2. Writing is Snappy's framing, which every S2 reader accepts, over
// libsnappy. Readers are total: any bytes, bounded memory. A unit belongs to one thread.
#pragma once

#include <tern/base/error.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace tern::storage::archive {

constexpr std::size_t s2_block_max = std::size_t{4} << 20;       // decoded, by the format
constexpr std::size_t snappy_block_max = std::size_t{64} << 10;  // of a frame in Snappy's own framing

// One block without a frame. Appends what it holds to `out`; errc::corrupted (and `out` as it was) when it is not
// whole, errc::limit_exceeded when it would be larger than `limit`.
result<void> decode_s2_block(std::string_view block, std::size_t limit, std::string& out);

// A framed stream, taken in pieces of any size and given out block by block, so that whoever reads decides how much of
// it exists at a time:
//     frames.push(piece);
//     while (auto more = frames.next(block)) { if (!*more) break; use(block); }
// Holds at most the bytes that were pushed and not taken, which its user bounds.
class s2_frame_reader {
 public:
  void push(std::string_view bytes);
  // Replaces `block` by the next decoded one; false: more bytes are needed. After an error only errors follow.
  result<bool> next(std::string& block);
  // Nothing of an unfinished frame is waiting: the stream may end here.
  bool at_boundary() const { return begun_ && at_ == waiting_.size(); }
  bool begun() const { return begun_; }
  std::size_t waiting() const { return waiting_.size() - at_; }

 private:
  result<bool> read_frame(unsigned char kind, std::string_view body, std::string& block);
  std::string waiting_;
  std::size_t at_ = 0;
  bool begun_ = false;
  bool failed_ = false;
};

// Writes a framed stream: what is appended gathers into blocks of 64 KiB, each compressed when it is full.
class snappy_frame_writer {
 public:
  // Appends finished frames to `out`.
  void append(std::string_view bytes, std::string& out);
  void flush(std::string& out);

 private:
  void emit(std::string_view block, std::string& out);
  std::string gathered_;
  std::string compressed_;
  bool begun_ = false;
};

}  // namespace tern::storage::archive
