// The in-process network. A pipe is two byte queues under one mutex; readiness crosses to the other end's shard by
// post().
#include "runtime/shard.hpp"
#include "runtime/transport.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

namespace tern::runtime {
namespace {

// A byte queue on a ring that grows by doubling up to its limit, so that an idle pipe costs nothing.
class byte_ring {
 public:
  explicit byte_ring(std::size_t limit) : limit_(limit) {}

  std::size_t size() const { return size_; }
  std::size_t free() const { return limit_ - size_; }
  std::size_t limit() const { return limit_; }

  // Takes as much of `bytes` as fits below the limit.
  std::size_t append(std::string_view bytes) {
    const std::size_t taken = std::min(bytes.size(), free());
    if (taken == 0) return 0;
    if (size_ + taken > capacity_) grow(size_ + taken);
    const std::size_t tail = (head_ + size_) % capacity_;
    const std::size_t first = std::min(taken, capacity_ - tail);
    std::memcpy(bytes_.get() + tail, bytes.data(), first);
    std::memcpy(bytes_.get(), bytes.data() + first, taken - first);
    size_ += taken;
    return taken;
  }

  std::size_t take(std::span<char> into) {
    const std::size_t taken = std::min(into.size(), size_);
    if (taken == 0) return 0;
    const std::size_t first = std::min(taken, capacity_ - head_);
    std::memcpy(into.data(), bytes_.get() + head_, first);
    std::memcpy(into.data() + first, bytes_.get(), taken - first);
    size_ -= taken;
    head_ = size_ == 0 ? 0 : (head_ + taken) % capacity_;
    return taken;
  }

  void release() {
    bytes_.reset();
    capacity_ = head_ = size_ = 0;
  }

 private:
  static constexpr std::size_t first_capacity = 4096;

  void grow(std::size_t needed) {
    std::size_t wanted = std::max(capacity_, first_capacity);
    while (wanted < needed) wanted *= 2;
    auto larger = std::make_unique_for_overwrite<char[]>(wanted);
    const std::size_t kept = take({larger.get(), size_});
    bytes_ = std::move(larger);
    capacity_ = wanted;
    head_ = 0;
    size_ = kept;
  }

  const std::size_t limit_;
  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

class pipe_end;

// One way of a pipe, and what its two users wait for.
struct direction {
  explicit direction(std::size_t limit) : ring(limit) {}

  byte_ring ring;
  bool finished = false;  // the writer is done: an end of stream follows the bytes
  bool broken = false;    // the reader is gone: writing fails

  bool has_something() const { return ring.size() > 0 || finished; }
  // Writing goes on at half of the limit, not at each byte that was read.
  bool has_room() const { return broken || ring.free() >= ring.limit() / 2 || ring.size() == 0; }
};

// Shared by both ends. Everything is guarded by the mutex.
struct pipe {
  explicit pipe(std::size_t limit) : ways{direction(limit), direction(limit)} {}

  struct side {
    shard* owner = nullptr;  // null once the end is closed: nothing is posted to it any more
    std::weak_ptr<pipe_end> end;
    bool wants_read = false;   // tell when something is there
    bool wants_write = false;  // tell when there is room
    bool read_posted = false;
    bool write_posted = false;
  };

  std::mutex mutex;
  direction ways[2];  // ways[i] is written by side i
  side sides[2];

  // With the mutex held: posts readiness of a side that waits for it.
  void tell_reader(int index);
  void tell_writer(int index);
};

// One end: callbacks and flags belong to the owner's thread, the rest to the pipe.
class pipe_end : public std::enable_shared_from_this<pipe_end> {
 public:
  pipe_end(std::shared_ptr<pipe> shared, int index) : shared_(std::move(shared)), index_(index) {}

  void open_on(shard& owner) {
    const std::scoped_lock lock(shared_->mutex);
    own().owner = &owner;
    own().end = weak_from_this();
  }

  io_result read(std::span<char> into) {
    if (closed_) return {.state = io_state::failed, .error_number = EBADF};
    if (into.empty()) return {};
    const std::scoped_lock lock(shared_->mutex);
    direction& from = incoming();
    const std::size_t taken = from.ring.take(into);
    if (taken > 0) {
      shared_->tell_writer(1 - index_);
      return {.bytes = taken};
    }
    if (!from.finished) return {.state = io_state::would_block};
    ended_ = true;
    return {.state = io_state::end_of_stream};
  }

  io_result write(std::span<const std::string_view> pieces) {
    if (closed_) return {.state = io_state::failed, .error_number = EBADF};
    const std::scoped_lock lock(shared_->mutex);
    direction& to = outgoing();
    if (to.broken || to.finished) return {.state = io_state::failed, .error_number = EPIPE};
    std::size_t wanted = 0, taken = 0;
    for (const std::string_view piece : pieces) {
      wanted += piece.size();
      if (taken + piece.size() == wanted) taken += to.ring.append(piece);
    }
    if (taken == 0 && wanted > 0) return {.state = io_state::would_block};
    if (taken > 0) shared_->tell_reader(1 - index_);
    return {.bytes = taken};
  }

  void on_readable(byte_stream::ready_callback callback) {
    readable_ = std::move(callback);
    want_read();
  }
  void pause_reading() { paused_ = true; }
  void resume_reading() {
    paused_ = false;
    want_read();
  }
  void on_writable_once(byte_stream::ready_callback callback) {
    if (closed_) return;
    writable_ = std::move(callback);
    const std::scoped_lock lock(shared_->mutex);
    own().wants_write = true;
    shared_->tell_writer(index_);
  }

  void shutdown_write() {
    if (closed_) return;
    const std::scoped_lock lock(shared_->mutex);
    outgoing().finished = true;
    shared_->tell_reader(1 - index_);
  }

  void close() {
    if (closed_) return;
    closed_ = true;
    {
      const std::scoped_lock lock(shared_->mutex);
      own().owner = nullptr;
      outgoing().finished = true;
      incoming().broken = true;
      incoming().ring.release();
      shared_->tell_reader(1 - index_);
      shared_->tell_writer(1 - index_);
    }
    if (!in_callback_) drop_callbacks();
  }

  // --- posted by the pipe ---
  void read_ready() {
    {
      const std::scoped_lock lock(shared_->mutex);
      own().read_posted = false;
    }
    if (closed_ || paused_ || !readable_) return;
    call(readable_);
    want_read();
  }
  void write_ready() {
    {
      const std::scoped_lock lock(shared_->mutex);
      own().write_posted = false;
    }
    if (closed_ || !writable_) return;
    auto callback = std::exchange(writable_, nullptr);
    call(callback);
  }

 private:
  pipe::side& own() { return shared_->sides[index_]; }
  direction& outgoing() { return shared_->ways[index_]; }
  direction& incoming() { return shared_->ways[1 - index_]; }

  void want_read() {
    if (closed_ || ended_ || paused_ || !readable_) return;
    const std::scoped_lock lock(shared_->mutex);
    own().wants_read = true;
    shared_->tell_reader(index_);
  }

  void call(byte_stream::ready_callback& callback) {
    in_callback_ = true;
    callback();
    in_callback_ = false;
    if (closed_) drop_callbacks();
  }

  // They may own the connection that owns the stream; a running one is dropped when it returns.
  void drop_callbacks() {
    const auto read = std::exchange(readable_, nullptr);
    const auto write = std::exchange(writable_, nullptr);
  }

  const std::shared_ptr<pipe> shared_;
  const int index_;
  byte_stream::ready_callback readable_;
  byte_stream::ready_callback writable_;
  bool closed_ = false;
  bool ended_ = false;
  bool paused_ = false;
  bool in_callback_ = false;
};

void pipe::tell_reader(int index) {
  side& reader = sides[index];
  if (!reader.wants_read || reader.read_posted || reader.owner == nullptr || !ways[1 - index].has_something()) return;
  reader.wants_read = false;
  reader.read_posted = true;
  reader.owner->post([end = reader.end.lock()] { end->read_ready(); });
}

void pipe::tell_writer(int index) {
  side& writer = sides[index];
  if (!writer.wants_write || writer.write_posted || writer.owner == nullptr || !ways[index].has_room()) return;
  writer.wants_write = false;
  writer.write_posted = true;
  writer.owner->post([end = writer.end.lock()] { end->write_ready(); });
}

class pipe_stream final : public byte_stream {
 public:
  pipe_stream(std::shared_ptr<pipe_end> end, endpoint local, endpoint peer)
      : end_(std::move(end)), local_(std::move(local)), peer_(std::move(peer)) {}
  ~pipe_stream() override { end_->close(); }

  io_result read(std::span<char> into) override { return end_->read(into); }
  io_result write(std::span<const std::string_view> pieces) override { return end_->write(pieces); }
  void on_readable(ready_callback callback) override { end_->on_readable(std::move(callback)); }
  void pause_reading() override { end_->pause_reading(); }
  void resume_reading() override { end_->resume_reading(); }
  void on_writable_once(ready_callback callback) override { end_->on_writable_once(std::move(callback)); }
  void shutdown_write() override { end_->shutdown_write(); }
  void close() override { end_->close(); }
  const endpoint& local() const override { return local_; }
  const endpoint& peer() const override { return peer_; }

 private:
  const std::shared_ptr<pipe_end> end_;
  const endpoint local_;
  const endpoint peer_;
};

// A name that is listened on. `owner` is guarded by the network's mutex, the callback belongs to the owner's thread.
struct listening {
  shard* owner;
  transport::accept_callback accept;
};

// What one network shares: who listens under which name.
struct pipe_names {
  explicit pipe_names(std::size_t buffer_bytes) : buffer_bytes(buffer_bytes) {}

  const std::size_t buffer_bytes;
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<listening>, std::less<>> names;

  void stop(const std::string& name, const std::shared_ptr<listening>& which) {
    const std::scoped_lock lock(mutex);
    which->owner = nullptr;
    if (const auto found = names.find(name); found != names.end() && found->second == which) names.erase(found);
  }
};

class pipe_listener final : public listener {
 public:
  pipe_listener(std::shared_ptr<pipe_names> network, std::shared_ptr<listening> own, endpoint local)
      : network_(std::move(network)), own_(std::move(own)), local_(std::move(local)) {}
  ~pipe_listener() override { close(); }
  const endpoint& local() const override { return local_; }
  void close() override { network_->stop(local_.host, own_); }

 private:
  const std::shared_ptr<pipe_names> network_;
  const std::shared_ptr<listening> own_;
  const endpoint local_;
};

class pipe_transport final : public transport {
 public:
  pipe_transport(std::shared_ptr<pipe_names> network, shard& owner) : network_(std::move(network)), owner_(owner) {}

  result<std::unique_ptr<listener>> listen(const endpoint& at, accept_callback accept) override {
    if (!at.in_process) return fail(errc::unsupported, "listen on " + at.text() + ": not an in-process name");
    auto own = std::make_shared<listening>(&owner_, std::move(accept));
    const std::scoped_lock lock(network_->mutex);
    if (!network_->names.emplace(at.host, own).second) {
      return fail(errc::already_exists, "listen on " + at.text() + ": the name is in use");
    }
    return std::make_unique<pipe_listener>(network_, std::move(own), at);
  }

  void connect(const endpoint& to, nanoseconds, connect_callback done) override {
    std::shared_ptr<listening> found;
    if (to.in_process) {
      const std::scoped_lock lock(network_->mutex);
      const auto entry = network_->names.find(to.host);
      if (entry != network_->names.end()) {
        found = entry->second;
        offer(found, to);
      }
    }
    if (!found) {
      const auto reason = to.in_process ? ": nobody listens" : ": not an in-process name";
      owner_.post([done = std::move(done), text = "connect to " + to.text() + reason]() mutable {
        done(fail(errc::connect_failed, std::move(text)));
      });
      return;
    }
    owner_.post([done = std::move(done), stream = std::move(connecting_)]() mutable { done(std::move(stream)); });
  }

 private:
  // With the network's mutex held, so that the listener's shard is there to be posted to. Leaves our own end in
  // connecting_.
  void offer(const std::shared_ptr<listening>& to, const endpoint& name) {
    const endpoint caller{.host = "pipe", .in_process = true};
    auto shared = std::make_shared<pipe>(network_->buffer_bytes);
    auto near = std::make_shared<pipe_end>(shared, 0), far = std::make_shared<pipe_end>(shared, 1);
    near->open_on(owner_);
    far->open_on(*to->owner);
    connecting_ = std::make_unique<pipe_stream>(std::move(near), caller, name);
    auto accepted = std::make_unique<pipe_stream>(std::move(far), name, caller);
    to->owner->post([network = network_, to, accepted = std::move(accepted)]() mutable {
      {
        const std::scoped_lock lock(network->mutex);
        if (to->owner == nullptr) return;  // closed since: the caller reads an end of stream
      }
      to->accept(std::move(accepted));
    });
  }

  const std::shared_ptr<pipe_names> network_;
  shard& owner_;
  std::unique_ptr<byte_stream> connecting_;
};

}  // namespace

struct pipe_network::state final : pipe_names {
  using pipe_names::pipe_names;
};

pipe_network::pipe_network(std::size_t buffer_bytes) : state_(std::make_shared<state>(buffer_bytes)) {}
pipe_network::~pipe_network() = default;

std::unique_ptr<transport> pipe_network::make_transport(shard& owner) {
  return std::make_unique<pipe_transport>(state_, owner);
}

}  // namespace tern::runtime
