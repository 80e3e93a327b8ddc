#include "storage/check/store_verify.hpp"

#include "storage/check/overlay_disk.hpp"
#include "storage/segment/name_encoding.hpp"
#include "storage/segment/record_reader.hpp"
#include "storage/state_file.hpp"

#include <algorithm>
#include <set>

namespace tern::storage {
namespace {

// A place in a file that holds no whole message, and which sequences could have been there.
struct spot {
  std::string file;
  std::uint64_t offset, size;
  sequence first, last;
  const char* why;
  std::string subject = {};  // as the damaged bytes have it
};

void look_into(runtime::disk& disk, const std::string& path, std::vector<spot>& into) {
  const auto bytes = read_file(disk, path);
  if (!bytes) {
    into.push_back({path, 0, 0, 0, ~sequence{0}, "the file cannot be read"});
    return;
  }
  record_reader reader(*bytes);
  sequence before = 0;
  std::size_t open = into.size();  // spots from here on do not know what comes behind them
  for (auto item = reader.next(); item != record_reader::item::end; item = reader.next()) {
    if (item == record_reader::item::damaged_range) {
      into.push_back({path, reader.offset(), reader.size(), before + 1, ~sequence{0}, "no whole record"});
      continue;
    }
    const record_header& header = reader.header();
    if (header.kind != record_kind::message) continue;
    for (; open < into.size(); ++open) into[open].last = std::min(into[open].last, header.sequence - 1);
    if (item == record_reader::item::damaged_body) {
      into.push_back({path, reader.offset(), reader.size(), header.sequence, header.sequence,
                      "the message's checksum does not fit"});
      message_parts parts;
      if (split_message(reader.body(), parts)) into.back().subject = parts.subject;
      ++open;
    }
    before = header.sequence;
  }
}

std::vector<spot> find_spots(runtime::disk& disk, const std::string& directory, const verified_stream& of) {
  std::vector<spot> spots;
  const std::string folder = directory + "/streams/" + encode_name(of.account) + "/" + encode_name(of.name);
  const auto ids = disk.list(folder);
  if (!ids) return spots;
  for (const auto& id : *ids) {
    const std::string segments = folder + "/" + id.name + "/segments";
    const auto files = disk.list(segments);
    if (!files) continue;
    for (const auto& each : *files) {
      if (each.name.ends_with(".seg")) look_into(disk, segments + "/" + each.name, spots);
    }
  }
  return spots;
}

void locate(damaged_messages& what, const std::vector<spot>& spots, const stream_log& log) {
  const spot* found = nullptr;
  for (const spot& each : spots) {
    if (each.first > what.last || each.last < what.first) continue;
    if (found == nullptr || each.last - each.first < found->last - found->first) found = &each;
  }
  if (found == nullptr) {
    if (what.why.empty()) what.why = "no file has it any more";
    return;
  }
  what.file = found->file;
  what.offset = found->offset;
  what.size = found->size;
  what.why = found->why;
  // The bytes are damaged: their subject is believed where whole messages have it too.
  if (what.subject.empty() && what.first == what.last && log.totals(found->subject).messages > 0)
    what.subject = found->subject;
}

// Messages that have a place of their own stand alone, the rest of a range stays together.
std::vector<damaged_messages> apart(const std::vector<damaged_messages>& ranges, const std::vector<spot>& spots) {
  std::set<sequence> alone;
  for (const spot& each : spots) {
    if (each.first == each.last) alone.insert(each.first);
  }
  std::vector<damaged_messages> out;
  for (const damaged_messages& each : ranges) {
    sequence from = each.first;
    for (auto at = alone.lower_bound(each.first); at != alone.end() && *at <= each.last; ++at) {
      if (from < *at) out.push_back({.first = from, .last = *at - 1});
      out.push_back({.first = *at, .last = *at, .subject = each.subject});
      from = *at + 1;
    }
    if (from > each.last) continue;
    damaged_messages rest = each;
    rest.first = from;
    out.push_back(std::move(rest));
  }
  return out;
}

bool contains(const std::vector<sequence_range>& ranges, sequence number) {
  return std::ranges::any_of(ranges, [&](const auto& each) { return number >= each.first && number <= each.last; });
}

bool speaks_of(const std::vector<finding>& findings, const std::string& stream) {
  return std::ranges::any_of(findings, [&](const finding& each) {
    return each.level == finding::severity::damage && each.text.find("stream " + stream) != std::string::npos;
  });
}

// Reads every message; what cannot be read becomes lost in the log.
verified_stream read_stream(stream_record& record, bool newly_lost) {
  verified_stream out{.account = record.account(), .name = record.name()};
  stream_log& log = record.log();
  const std::vector<sequence_range> lost = log.state().lost;
  if (newly_lost) {
    for (const auto& each : lost) out.damaged.push_back({.first = each.first, .last = each.last});
  } else {
    out.known_lost = lost;
  }
  for (auto number = log.next_live(log.state().first); number; number = log.next_live(*number + 1)) {
    const std::string subject(log.subject_of(*number));
    if (log.load(*number)) {
      ++out.messages;
    } else if (contains(log.state().lost, *number) && !contains(lost, *number)) {
      out.damaged.push_back({.first = *number, .last = *number, .subject = subject});
    }
  }
  out.first = log.state().first;
  out.last = log.state().last;
  return out;
}

// `base`: where damaged messages are looked for, or null.
result<verified_store> read_store(runtime::disk& disk, const std::string& directory, runtime::disk* base) {
  if (!disk.exists(directory)) return fail(errc::not_found, directory + " is no store: there is no such directory");
  if (!disk.exists(directory + "/catalog.a") && !disk.exists(directory + "/catalog.b") &&
      !disk.exists(directory + "/streams")) {
    return fail(errc::invalid_argument, directory + " is no store of Tern", "give the store_dir of ternd");
  }
  auto opened = store::open(&disk, {.directory = directory});
  if (!opened) return std::unexpected(std::move(opened.error()));
  verified_store out;
  const std::vector<finding> at_open = (*opened)->findings();
  for (stream_record* each : (*opened)->streams()) {
    verified_stream& stream = out.streams.emplace_back(read_stream(*each, speaks_of(at_open, each->name())));
    if (stream.damaged.empty() || base == nullptr) continue;
    const auto spots = find_spots(*base, directory, stream);
    stream.damaged = apart(stream.damaged, spots);
    for (damaged_messages& damage : stream.damaged) locate(damage, spots, each->log());
  }
  // A store without a journal has nothing to settle: said again, the configuration brings all states to the disk.
  for (stream_record* each : (*opened)->streams()) each->set_metadata(each->metadata());
  out.findings = (*opened)->findings();
  out.offline = (*opened)->offline();
  if (auto closed = (*opened)->close(); !closed) return std::unexpected(std::move(closed.error()));
  return out;
}

}  // namespace

bool verified_store::whole() const {
  return damaged_count() == 0 && offline.empty() &&
         std::ranges::none_of(findings, [](const finding& each) { return each.level == finding::severity::damage; });
}

std::uint64_t verified_store::damaged_count() const {
  std::uint64_t count = 0;
  for (const auto& stream : streams) {
    for (const auto& each : stream.damaged) count += each.last - each.first + 1;
  }
  return count;
}

result<verified_store> verify_store(runtime::disk& disk, const std::string& directory, const std::string& scratch) {
  runtime::disk_batch place;
  place.operations.push_back(runtime::disk_op::make_directory{scratch});
  if (auto made = disk.execute(std::move(place)); !made) return std::unexpected(std::move(made.error()));
  overlay_disk overlay(disk, scratch);
  auto out = read_store(overlay, directory, &disk);
  if (!out) return out;
  out->changed_files = overlay.changed();
  return out;
}

result<verified_store> settle_store(runtime::disk& disk, const std::string& directory) {
  return read_store(disk, directory, nullptr);
}

}  // namespace tern::storage
