// The part of opening a store that reads the journals and replays what they say.
#include "storage/segment/name_encoding.hpp"
#include "storage/state_file.hpp"
#include "storage/store_recovery.hpp"

#include <algorithm>

namespace tern::storage {

void store_recovery::read_journals() {
  const auto files = disk_.list(store_.path("journal"));
  std::set<std::uint32_t> present;
  if (files) {
    for (const auto& each : *files) {
      unsigned long long epoch = 0;
      if (!each.name.ends_with(".log") || !parse_hex_number(std::string_view(each.name).substr(0, 16), epoch)) continue;
      const auto number = static_cast<std::uint32_t>(epoch);
      const bool listed = listed_.contains(number);
      if (catalog_known_ && !listed && number <= catalog_epoch_) {
        // The catalog let it go; a crash kept it from being removed.
        repairs_.operations.push_back(runtime::disk_op::unlink{store_.journal_path(number)});
        continue;
      }
      journal_content content;
      content.file.epoch = number;
      if (listed) content.file.last_batch = listed_[number].last_batch;
      auto bytes = read_file(disk_, store_.journal_path(number));
      content.bytes = bytes ? std::move(*bytes) : std::string();
      present.insert(number);
      journals_.push_back(std::move(content));
    }
  }
  for (const auto& [epoch, file] : listed_) {
    if (present.contains(epoch) || file.last_batch == 0) continue;
    repair_ = true;
    note(finding::severity::damage,
         "journal " + store_.journal_path(epoch) +
             " is missing: changes since the last settling may be lost where segments do not have them");
  }
  if (!catalog_expected_ && (!streams_.empty() || !journals_.empty())) {
    // A first start that a crash interrupted has no stream either.
    if (!streams_.empty()) note(finding::severity::damage, "both copies of the catalog are missing");
    repair_ = true;
  }
  std::sort(journals_.begin(), journals_.end(),
            [](const auto& a, const auto& b) { return a.file.epoch < b.file.epoch; });
  const std::uint32_t newest = journals_.empty() ? 0 : journals_.back().file.epoch;
  // A journal takes records once its beginning is synced: one without any, at the end, was never begun.
  while (!journals_.empty() && !is_begun(journals_.back()) && !listed_.contains(journals_.back().file.epoch)) {
    repairs_.operations.push_back(runtime::disk_op::unlink{store_.journal_path(journals_.back().file.epoch)});
    journals_.pop_back();
  }
  for (const auto& each : journals_) apply_cuts(each);
  for (auto& each : journals_) replay(each, &each == &journals_.back());
  store_.core_.epoch = std::max(catalog_epoch_, newest) + 1;
}

bool store_recovery::is_begun(const journal_content& journal) {
  record_reader reader(journal.bytes);
  for (auto item = reader.next(); item != record_reader::item::end; item = reader.next()) {
    if (item == record_reader::item::record && reader.header().epoch == journal.file.epoch) return true;
  }
  return false;
}

// Each journal tells what the ones before it are worth.
void store_recovery::apply_cuts(const journal_content& from) {
  record_reader reader(from.bytes);
  if (reader.next() != record_reader::item::record || reader.header().kind != record_kind::journal_header) return;
  byte_reader body(reader.body());
  body.number<std::uint16_t>();
  for (std::uint64_t left = body.varint(); left > 0 && body.ok(); --left) {
    const auto epoch = static_cast<std::uint32_t>(body.varint());
    const auto last_batch = static_cast<std::uint32_t>(body.varint());
    for (auto& each : journals_) {
      if (each.file.epoch == epoch && body.ok()) each.file.last_batch = std::min(each.file.last_batch, last_batch);
    }
  }
}

void store_recovery::replay(journal_content& journal, bool newest) {
  const std::string path = store_.journal_path(journal.file.epoch);
  struct damaged_part {
    std::uint64_t offset, end;
  };
  std::vector<damaged_part> damaged;
  std::uint64_t good_end = 0;  // behind the last whole record that counts
  std::uint32_t last_batch = 0, batch_after_damage = 0;
  bool trailing = false;
  std::string kept = "nothing";
  record_reader reader(journal.bytes);
  for (auto item = reader.next(); item != record_reader::item::end; item = reader.next()) {
    const bool whole = item == record_reader::item::record && reader.header().epoch == journal.file.epoch;
    if (!whole) {
      damaged.push_back({reader.offset(), reader.offset() + reader.size()});
      trailing = true;
      continue;
    }
    if (reader.header().batch > journal.file.last_batch) break;
    if (trailing) batch_after_damage = reader.header().batch;
    trailing = false;
    good_end = reader.offset() + reader.size();
    last_batch = reader.header().batch;
    if (reader.header().kind == record_kind::message) {
      kept =
          "stream " + std::to_string(reader.header().stream) + " sequence " + std::to_string(reader.header().sequence);
      if (const auto found = streams_.find(reader.header().stream); found != streams_.end()) {
        kept = "stream " + found->second.name + " sequence " + std::to_string(reader.header().sequence);
      }
    }
    if (reader.header().transform != body_transform::none) {
      note(finding::severity::damage, path + ": a record with a transform that this version does not know is left out");
      continue;
    }
    replay_record(reader.header(), reader.body(), reader.whole());
  }
  const bool cut = newest || journal.file.last_batch != journal_file::every_batch;
  while (cut && !damaged.empty() && damaged.back().offset >= good_end) damaged.pop_back();
  if (newest && good_end < journal.bytes.size()) {
    note(finding::severity::warning, path + ": an incomplete end of " +
                                         std::to_string(journal.bytes.size() - good_end) +
                                         " bytes was cut; the last message kept is " + kept);
    repair_ = true;
    if (auto file = disk_.open(path, runtime::open_mode::read_write)) {
      repairs_.operations.push_back(runtime::disk_op::truncate{*file, good_end});
      repairs_.operations.push_back(runtime::disk_op::sync{*file});
    }
  }
  if (damaged.empty()) return;
  repair_ = true;
  journal.file.damaged = true;
  if (newest && damaged.size() == 1 && batch_after_damage == last_batch) {
    // All behind it is of the last batch, which may never have been confirmed.
    torn_epoch_ = journal.file.epoch;
    torn_batch_ = last_batch;
    note(finding::severity::warning, path + ": the last batch is incomplete");
    return;
  }
  for (const auto& each : damaged) {
    note(finding::severity::damage,
         path + ": bytes " + std::to_string(each.offset) + " to " + std::to_string(each.end) + " are damaged");
  }
}

void store_recovery::replay_record(const record_header& header, std::string_view body, std::string_view whole) {
  if (header.kind == record_kind::journal_header) return;
  if (header.kind == record_kind::stream_create) {
    byte_reader reader(body);
    const auto account = reader.text();
    const auto name = reader.text();
    const auto level = reader.number<std::uint8_t>();
    const sequence first = reader.varint();
    const auto metadata = reader.text();
    if (!reader.ok()) return;
    auto& known = streams_[header.stream];
    known.created = true;
    if (known.has_state) return;
    known.account = account;
    known.name = name;
    known.level = static_cast<durability>(level);
    known.first_sequence = first;
    known.metadata = metadata;
    known.revision = header.sequence;
    if (known.directory.empty()) known.directory = store_.stream_directory(known.account, known.name, header.stream);
    return;
  }
  const auto found = streams_.find(header.stream);
  if (found == streams_.end()) {
    if (header.kind == record_kind::stream_delete) {
      deleted_streams_.insert(header.stream);
    } else {
      unknown_streams_.insert(header.stream);
    }
    return;
  }
  auto& known = found->second;
  switch (header.kind) {
    case record_kind::stream_update: {
      if (header.sequence <= known.revision) return;
      byte_reader reader(body);
      const auto level = reader.number<std::uint8_t>();
      const auto metadata = reader.text();
      if (!reader.ok()) return;
      known.level = static_cast<durability>(level);
      known.metadata = metadata;
      known.revision = header.sequence;
      known.updated = true;
      return;
    }
    case record_kind::stream_delete:
      known.deleted = true;
      return;
    case record_kind::consumer_create:
    case record_kind::consumer_update:
    case record_kind::consumer_delete:
    case record_kind::consumer_delta:
    case record_kind::consumer_snapshot:
      return replay_consumer(known, header, body);
    default:
      known.records.push_back(whole);
  }
}

void store_recovery::replay_consumer(known_stream& of, const record_header& header, std::string_view body) {
  byte_reader reader(body);
  const bool fixed_id = header.kind == record_kind::consumer_delta || header.kind == record_kind::consumer_snapshot;
  const auto id = fixed_id ? reader.number<std::uint32_t>() : static_cast<std::uint32_t>(reader.varint());
  if (!reader.ok()) return;
  auto& known = of.consumers[id];
  known.changed = true;
  switch (header.kind) {
    case record_kind::consumer_create: {
      known.created = true;
      const auto name = reader.text();
      const auto metadata = reader.text();
      if (header.sequence <= known.revision || !reader.ok()) return;
      known.name = name;
      known.metadata = metadata;
      known.revision = header.sequence;
      return;
    }
    case record_kind::consumer_update: {
      const auto metadata = reader.text();
      if (header.sequence <= known.revision || !reader.ok()) return;
      known.metadata = metadata;
      known.revision = header.sequence;
      return;
    }
    case record_kind::consumer_delete:
      known.deleted = true;
      return;
    case record_kind::consumer_delta:
      if (header.sequence <= known.last_delta) return;
      if (header.sequence != known.last_delta + 1 && !known.reported && known.has_state + known.created > 0) {
        known.reported = true;
        note(finding::severity::damage,
             "consumer " + known.name + " of stream " + of.name + ": some of its changes are lost");
      }
      known.last_delta = header.sequence;
      known.deltas.emplace_back(reader.rest());
      return;
    default: {  // a snapshot
      if (header.sequence < known.last_delta) return;
      const auto snapshot = reader.text();
      std::vector<std::string> deltas;
      for (std::uint64_t left = reader.varint(); left > 0 && reader.ok(); --left) deltas.emplace_back(reader.text());
      if (!reader.ok()) return;
      known.last_delta = header.sequence;
      known.snapshot = snapshot;
      known.deltas = std::move(deltas);
    }
  }
}

}  // namespace tern::storage
