#include "storage/check/store_verify.hpp"

#include "runtime/host/files.hpp"
#include "store.hpp"
#include "text.hpp"

#include <algorithm>

namespace tern::command {
namespace {

using storage::verified_store;

constexpr int copies_max = 1'000;

struct damage_line {
  std::string account, stream;
  std::uint64_t first_seq = 0, last_seq = 0;
  std::string subject, file;
  std::uint64_t offset = 0, size = 0;
  std::string why;
};
struct range_line {
  std::uint64_t first_seq = 0, last_seq = 0;
};
struct stream_line {
  std::string account, stream;
  std::uint64_t messages = 0, first_seq = 0, last_seq = 0;
  std::vector<range_line> lost_before;
};
struct offline_line {
  std::string account, stream, reason;
};
struct finding_line {
  std::string level, text;
};
struct report_line {
  bool whole = false;
  std::uint64_t damaged_messages = 0;
  std::vector<stream_line> streams;
  std::vector<damage_line> damaged;
  std::vector<offline_line> offline;
  std::vector<finding_line> findings;
  std::string copies;  // of a repair
};

std::string level_word(storage::finding::severity level) {
  switch (level) {
    case storage::finding::severity::note:
      return "note";
    case storage::finding::severity::warning:
      return "warning";
    default:
      return "damage";
  }
}

report_line line_of(const verified_store& report) {
  report_line out{.whole = report.whole(), .damaged_messages = report.damaged_count()};
  for (const auto& stream : report.streams) {
    stream_line& line = out.streams.emplace_back();
    line = {stream.account, stream.name, stream.messages, stream.first, stream.last, {}};
    for (const auto& each : stream.known_lost) line.lost_before.push_back({each.first, each.last});
    for (const auto& each : stream.damaged) {
      out.damaged.push_back({stream.account, stream.name, each.first, each.last, each.subject, each.file, each.offset,
                             each.size, each.why});
    }
  }
  for (const auto& each : report.offline) out.offline.push_back({each.account, each.name, each.reason});
  for (const auto& each : report.findings) out.findings.push_back({level_word(each.level), each.text});
  return out;
}

void show(session& in, const report_line& report) {
  if (in.json()) return in.output().print_line(codec::to_json(report));
  for (const auto& each : report.streams) {
    std::string text = each.account + " > " + each.stream + ": " + with_thousands(each.messages) +
                       " whole messages, sequences " + std::to_string(each.first_seq) + " to " +
                       std::to_string(each.last_seq);
    if (!each.lost_before.empty()) text += ", " + std::to_string(each.lost_before.size()) + " ranges lost before";
    in.output().print_line(text);
  }
  for (const auto& each : report.offline)
    in.output().print_line(each.account + " > " + each.stream + ": offline: " + each.reason);
  for (const auto& each : report.damaged) {
    std::string text = "damaged: " + each.account + " > " + each.stream + " sequence " + std::to_string(each.first_seq);
    if (each.last_seq != each.first_seq) text += " to " + std::to_string(each.last_seq);
    if (!each.subject.empty()) text += " (" + each.subject + ")";
    if (!each.file.empty()) text += " in " + each.file + " at byte " + std::to_string(each.offset);
    in.output().print_line(text + ": " + each.why);
  }
  for (const auto& each : report.findings) in.output().print_line(each.level + ": " + each.text);
  if (!report.copies.empty()) in.output().print_line("copies of what was changed: " + report.copies);
}

std::string store_of(const std::string& directory) {
  std::string path = directory;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return runtime::host::is_directory(path + "/jetstream") ? path + "/jetstream" : path;
}

result<verified_store> look(const std::string& store) {
  runtime::host::scratch_directory scratch;
  offline_loop offline;
  return storage::verify_store(offline.disk(), store, scratch.path());
}

result<void> copy_file(runtime::disk& disk, const std::string& from, const std::string& to) {
  constexpr std::size_t at_a_time = std::size_t{1} << 20;
  auto source = disk.open(from, runtime::open_mode::read_only);
  if (!source) return std::unexpected(std::move(source.error()));
  runtime::disk_batch folder;
  folder.operations.push_back(runtime::disk_op::make_directory{to.substr(0, to.rfind('/'))});
  if (auto made = disk.execute(std::move(folder)); !made) return made;
  auto target = disk.open(to, runtime::open_mode::create);
  if (!target) return std::unexpected(std::move(target.error()));
  for (std::uint64_t at = 0;;) {
    std::string bytes(at_a_time, '\0');
    const auto got = disk.read(*source, at, bytes);
    if (!got) return std::unexpected(got.error());
    bytes.resize(*got);
    runtime::disk_batch batch;
    if (*got > 0) batch.operations.push_back(runtime::disk_op::write{*target, at, std::move(bytes)});
    if (*got < at_a_time) batch.operations.push_back(runtime::disk_op::sync{*target});
    if (auto written = disk.execute(std::move(batch)); !written) return written;
    if (*got < at_a_time) return {};
    at += *got;
  }
}

// A folder of this repair's own in the store's place for damaged files.
result<std::string> keep_copies(runtime::disk& disk, const std::string& store, std::vector<std::string> files) {
  std::string folder;
  for (int number = 1; number <= copies_max; ++number) {
    folder = store + "/damaged/repair-" + std::to_string(number);
    if (!disk.exists(folder)) break;
    folder.clear();
  }
  if (folder.empty()) return fail(errc::limit_exceeded, store + "/damaged holds copies of too many repairs");
  std::ranges::sort(files);
  files.erase(std::ranges::unique(files).begin(), files.end());
  for (const std::string& each : files) {
    if (!disk.exists(each)) continue;
    if (auto copied = copy_file(disk, each, folder + each.substr(store.size())); !copied)
      return std::unexpected(std::move(copied.error()).within("copy of " + each));
  }
  return folder;
}

}  // namespace

result<void> store_verify(session& in, const store_check_arguments& what) {
  const auto found = look(store_of(what.directory));
  if (!found) return std::unexpected(found.error());
  show(in, line_of(*found));
  if (found->whole()) return {};
  return fail(errc::corrupted, "the store is damaged: " + std::to_string(found->damaged_count()) + " messages, " +
                                   std::to_string(found->offline.size()) + " streams offline");
}

result<void> store_repair(session& in, const store_repair_arguments& what) {
  const std::string store = store_of(what.directory);
  const auto found = look(store);
  if (!found) return std::unexpected(found.error());
  report_line report = line_of(*found);
  std::vector<std::string> files = found->changed_files;
  for (const auto& each : report.damaged) {
    if (!each.file.empty()) files.push_back(each.file);
  }
  offline_loop offline;
  if (auto claimed = offline.disk().claim(store); !claimed) return claimed;
  if (!found->whole()) {
    auto kept = keep_copies(offline.disk(), store, std::move(files));
    if (!kept) return std::unexpected(std::move(kept.error()));
    report.copies = std::move(*kept);
  }
  const auto done = storage::settle_store(offline.disk(), store);
  if (!done) return std::unexpected(done.error());
  show(in, report);
  if (done->damaged_count() != found->damaged_count())
    return fail(errc::corrupted, "the repair found something else than the look before it; see `tern store verify`");
  if (!done->offline.empty()) {
    return fail(
        errc::corrupted,
        std::to_string(done->offline.size()) + " streams stay offline: " + "both copies of their state are damaged",
        "restore them from a backup, or delete them");
  }
  return {};
}

}  // namespace tern::command
