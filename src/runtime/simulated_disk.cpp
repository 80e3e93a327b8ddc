#include "runtime/simulated_disk.hpp"

#include "runtime/shard.hpp"
#include "runtime/simulated_file_system.hpp"

#include <algorithm>
#include <cstring>
#include <deque>

namespace tern::runtime {

// One machine's disk over all its lives. Each life has a number; files and disks of an earlier life are orphans.
struct simulated_disk::state {
  state(std::uint64_t seed, naming_rules rules) : choices(seed), files(rules) {}

  seeded_random choices;
  simulated::file_system files;
  std::uint64_t life = 0;
  std::uint64_t steps = 0;
  std::uint64_t stop_at = 0;  // 0: never
  bool stopped = false;
  std::function<void(const disk_step&)> observer;
  std::uint64_t failing_syncs = 0;
  bool failed_stay_readable = false;
  std::uint64_t failing_writes = 0;
  std::optional<std::uint64_t> capacity;
  bool read_only = false;
  std::uint64_t syncs = 0;

  // Counts a step and tells whether it may run.
  result<void> begin(std::string_view kind, std::string_view path, std::uint64_t bytes = 0) {
    if (!stopped && stop_at != 0 && steps + 1 >= stop_at) stopped = true;
    if (stopped) return fail(errc::io_error, "the simulated machine has stopped");
    ++steps;
    if (observer) observer({steps, kind, path, bytes});
    if (read_only && kind != "sync" && kind != "sync_directory") {
      return fail(errc::io_error, std::string(kind) + " " + std::string(path) + ": Read-only file system");
    }
    return {};
  }

  // How many bytes more may be stored.
  std::uint64_t room() const {
    if (!capacity) return ~std::uint64_t{0};
    const std::uint64_t used = files.used_bytes();
    return used < *capacity ? *capacity - used : 0;
  }
};

namespace {

using machine = simulated_disk::state;

std::unexpected<error> no_space(std::string_view what, const std::string& path) {
  return fail(errc::disk_full, std::string(what) + " " + path + ": No space left on device");
}

class simulated_file final : public file {
 public:
  simulated_file(std::string path, simulated::node_ref node, std::uint64_t life)
      : node(std::move(node)), life(life), path_(std::move(path)) {}
  const std::string& path() const override { return path_; }

  const simulated::node_ref node;
  const std::uint64_t life;

 private:
  const std::string path_;
};

const simulated_file& opened(const file_ref& which) { return static_cast<const simulated_file&>(*which); }

struct runner {
  machine& on;

  result<simulated::node*> node_of(const file_ref& which) const {
    if (opened(which).life != on.life) return fail(errc::io_error, which->path() + ": opened before the crash");
    return opened(which).node.get();
  }

  result<void> operator()(const disk_op::write& op) const {
    if (auto begun = on.begin("write", op.to->path(), op.bytes.size()); !begun) return begun;
    const auto node = node_of(op.to);
    if (!node) return std::unexpected(node.error());
    if (on.failing_writes > 0) {
      --on.failing_writes;
      return fail(errc::io_error, "write " + op.to->path() + ": Input/output error");
    }
    // A write that meets the end of the disk leaves what still fitted.
    const std::uint64_t size = (*node)->current.size(), end = op.offset + op.bytes.size();
    const std::uint64_t growth = end > size ? end - size : 0, room = growth > 0 ? on.room() : 0;
    const std::uint64_t lacking = growth > room ? growth - room : 0;
    const std::uint64_t written = lacking < op.bytes.size() ? op.bytes.size() - lacking : 0;
    on.files.write(**node, op.offset, std::string_view(op.bytes).substr(0, written));
    if (lacking > 0) return no_space("write", op.to->path());
    return {};
  }
  result<void> operator()(const disk_op::sync& op) const {
    if (auto begun = on.begin("sync", op.what->path()); !begun) return begun;
    const auto node = node_of(op.what);
    if (!node) return std::unexpected(node.error());
    if (on.failing_syncs > 0) {
      --on.failing_syncs;
      on.files.drop_unsynced(**node, on.failed_stay_readable);
      return fail(errc::io_error, "sync " + op.what->path() + ": Input/output error");
    }
    on.files.sync(**node);
    ++on.syncs;
    return {};
  }
  result<void> operator()(const disk_op::truncate& op) const {
    if (auto begun = on.begin("truncate", op.what->path()); !begun) return begun;
    return resize(op.what, op.size, "truncate");
  }
  result<void> operator()(const disk_op::allocate& op) const {
    if (auto begun = on.begin("allocate", op.what->path()); !begun) return begun;
    const auto node = node_of(op.what);
    if (!node) return std::unexpected(node.error());
    if ((*node)->current.size() >= op.size) return {};
    return resize(op.what, op.size, "allocate");
  }
  result<void> operator()(const disk_op::rename& op) const {
    if (auto begun = on.begin("rename", op.from); !begun) return begun;
    return on.files.rename(op.from, op.to);
  }
  result<void> operator()(const disk_op::unlink& op) const {
    if (auto begun = on.begin("unlink", op.path); !begun) return begun;
    return on.files.unlink(op.path);
  }
  result<void> operator()(const disk_op::make_directory& op) const {
    if (auto begun = on.begin("make_directory", op.path); !begun) return begun;
    return on.files.make_directory(op.path);
  }
  result<void> operator()(const disk_op::remove_tree& op) const {
    if (auto begun = on.begin("remove_tree", op.path); !begun) return begun;
    return on.files.remove_tree(op.path);
  }
  result<void> operator()(const disk_op::sync_directory& op) const {
    if (auto begun = on.begin("sync_directory", op.path); !begun) return begun;
    if (on.failing_syncs > 0) {
      --on.failing_syncs;
      return fail(errc::io_error, "sync directory " + op.path + ": Input/output error");
    }
    if (auto synced = on.files.sync_directory(op.path); !synced) return synced;
    ++on.syncs;
    return {};
  }

 private:
  result<void> resize(const file_ref& what, std::uint64_t size, std::string_view kind) const {
    const auto node = node_of(what);
    if (!node) return std::unexpected(node.error());
    const std::uint64_t before = (*node)->current.size();
    if (size > before && size - before > on.room()) return no_space(kind, what->path());
    on.files.resize(**node, size);
    return {};
  }
};

// One life's view of the machine. Batches run one per posted event, their completions in an event of their own.
class attached_disk final : public disk {
 public:
  attached_disk(std::shared_ptr<machine> machine, shard& owner)
      : machine_(std::move(machine)), owner_(owner), life_(machine_->life), work_(std::make_shared<queue>()) {}

  ~attached_disk() override {
    work_->delivering = false;
    while (alive() && !work_->waiting.empty()) run_next(*machine_, *work_);
    work_->waiting.clear();
  }

  result<file_ref> open(const std::string& path, open_mode mode) override {
    if (!alive()) return orphaned();
    simulated::node_ref node = machine_->files.find(path);
    if (!node && mode == open_mode::create) {
      if (auto begun = machine_->begin("create", path); !begun) return std::unexpected(begun.error());
      auto made = machine_->files.create_file(path);
      if (!made) return std::unexpected(made.error());
      node = std::move(*made);
    }
    if (!node) return fail(errc::not_found, "open " + path + ": No such file or directory");
    if (node->is_directory && mode != open_mode::read_only) {
      return fail(errc::io_error, "open " + path + ": Is a directory");
    }
    return std::make_shared<simulated_file>(path, std::move(node), life_);
  }

  result<std::uint64_t> size(const file_ref& what) override {
    if (!alive() || opened(what).life != life_) return orphaned();
    return opened(what).node->current.size();
  }

  result<std::size_t> read(const file_ref& from, std::uint64_t offset, std::span<char> into) override {
    if (!alive() || opened(from).life != life_) return orphaned();
    const std::string& bytes = opened(from).node->current;
    if (offset >= bytes.size()) return std::size_t{0};
    const std::size_t taken = std::min<std::size_t>(into.size(), bytes.size() - offset);
    std::memcpy(into.data(), bytes.data() + offset, taken);
    return taken;
  }

  result<std::vector<directory_entry>> list(const std::string& directory) override {
    if (!alive()) return orphaned();
    const auto node = machine_->files.find(directory);
    if (!node || !node->is_directory) return fail(errc::not_found, "list " + directory + ": No such file or directory");
    std::vector<directory_entry> entries;
    for (const auto& [name, child] : node->names) entries.push_back({name, child->is_directory, child->current.size()});
    return entries;
  }

  result<void> claim(const std::string&) override { return {}; }  // a machine has one disk, and a disk one process
  bool exists(const std::string& path) override { return alive() && machine_->files.find(path) != nullptr; }

  void submit(disk_batch batch, completion done) override {
    work_->waiting.emplace_back(std::move(batch), std::move(done));
    owner_.post([machine = machine_, work = work_, life = life_, owner = &owner_] {
      if (machine->life != life || work->waiting.empty()) return;
      deliver(*owner, machine, work, life);
    });
  }

  result<void> execute(disk_batch batch) override {
    if (!alive()) return orphaned();
    // What was submitted before runs first; its completions still come from the loop.
    while (!work_->waiting.empty()) deliver(owner_, machine_, work_, life_);
    return run(*machine_, batch);
  }

 private:
  struct submission {
    disk_batch batch;
    completion done;
  };
  struct queue {
    std::deque<submission> waiting;
    bool delivering = true;
  };

  static result<void> run(machine& on, const disk_batch& batch) {
    for (const disk_operation& operation : batch.operations) {
      if (auto done = std::visit(runner{on}, operation); !done) return done;
    }
    return {};
  }

  static std::pair<completion, result<void>> run_next(machine& on, queue& work) {
    submission current = std::move(work.waiting.front());
    work.waiting.pop_front();
    auto outcome = run(on, current.batch);
    return {std::move(current.done), std::move(outcome)};
  }

  static void deliver(shard& owner, const std::shared_ptr<machine>& on, const std::shared_ptr<queue>& work,
                      std::uint64_t life) {
    auto [done, outcome] = run_next(*on, *work);
    owner.post([on, work, life, done = std::move(done), outcome = std::move(outcome)]() mutable {
      if (on->life == life && !on->stopped && work->delivering) done(std::move(outcome));
    });
  }

  bool alive() const { return machine_->life == life_; }
  static std::unexpected<error> orphaned() { return fail(errc::io_error, "the simulated machine has crashed since"); }

  const std::shared_ptr<machine> machine_;
  shard& owner_;
  const std::uint64_t life_;
  const std::shared_ptr<queue> work_;
};

}  // namespace

simulated_disk::simulated_disk(std::uint64_t seed, naming_rules rules) : state_(std::make_shared<state>(seed, rules)) {}
simulated_disk::~simulated_disk() = default;

std::unique_ptr<disk> simulated_disk::attach(shard& owner) {
  ++state_->life;
  return std::make_unique<attached_disk>(state_, owner);
}

void simulated_disk::crash(crash_loss loss) {
  ++state_->life;
  state_->stop_at = 0;
  state_->stopped = false;
  state_->files.crash(loss, state_->choices);
}

std::uint64_t simulated_disk::steps() const { return state_->steps; }
void simulated_disk::stop_at(std::uint64_t number) { state_->stop_at = number; }
bool simulated_disk::stopped() const { return state_->stopped; }
void simulated_disk::observe(std::function<void(const disk_step&)> observer) { state_->observer = std::move(observer); }

void simulated_disk::fail_next_syncs(std::uint64_t count, bool still_readable) {
  state_->failing_syncs = count;
  state_->failed_stay_readable = still_readable;
}
void simulated_disk::fail_next_writes(std::uint64_t count) { state_->failing_writes = count; }
void simulated_disk::limit_capacity(std::optional<std::uint64_t> bytes) { state_->capacity = bytes; }
void simulated_disk::set_read_only(bool read_only) { state_->read_only = read_only; }

bool simulated_disk::flip_bit(const std::string& path, std::uint64_t offset, int bit) {
  return state_->files.flip_bit(path, offset, bit);
}
bool simulated_disk::truncate_file(const std::string& path, std::uint64_t size) {
  return state_->files.cut(path, size);
}
bool simulated_disk::delete_file(const std::string& path) { return state_->files.erase(path); }

std::optional<std::string> simulated_disk::contents(const std::string& path) const {
  const auto node = state_->files.find(path);
  if (!node || node->is_directory) return std::nullopt;
  return node->current;
}

std::vector<std::string> simulated_disk::files() const {
  std::vector<std::string> paths;
  state_->files.for_each_file([&paths](const std::string& path, const simulated::node&) { paths.push_back(path); });
  return paths;
}

std::uint64_t simulated_disk::used_bytes() const { return state_->files.used_bytes(); }
std::uint64_t simulated_disk::syncs() const { return state_->syncs; }

}  // namespace tern::runtime
