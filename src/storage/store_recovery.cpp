#include "storage/store_recovery.hpp"

#include "storage/name_encoding.hpp"
#include "storage/state_file.hpp"

#include "base/numbers.hpp"

#include <algorithm>

namespace tern::storage {

result<std::unique_ptr<store>> store::open(runtime::disk* disk, store_options options) {
  auto made = std::make_unique<store_impl>(disk, std::move(options));
  if (disk != nullptr) {
    if (auto outcome = store_recovery(*made).run(); !outcome) return std::unexpected(std::move(outcome.error()).within("store"));
  }
  return made;
}

result<void> store_recovery::run() {
  if (auto outcome = make_folders(); !outcome) return outcome;
  read_catalog();
  read_streams();
  read_journals();
  if (auto outcome = build(); !outcome) return outcome;
  return finish();
}

result<void> store_recovery::make_folders() {
  runtime::disk_batch batch;
  const std::string root = store_.core_.options.directory;
  // Each folder that is new needs its parent synced, the store's own parents included.
  std::vector<std::string> missing;
  for (std::string at = root; !at.empty() && !disk_.exists(at); at = directory_of(at)) {
    missing.push_back(at);
    if (at.find('/') == std::string::npos) break;
  }
  for (auto each = missing.rbegin(); each != missing.rend(); ++each) {
    batch.operations.push_back(runtime::disk_op::make_directory{*each});
    const std::string parent = each->find('/') == std::string::npos ? "." : directory_of(*each);
    batch.operations.push_back(runtime::disk_op::sync_directory{parent.empty() ? "/" : parent});
  }
  for (const char* name : {"journal", "streams", "trash"}) batch.operations.push_back(runtime::disk_op::make_directory{store_.path(name)});
  batch.operations.push_back(runtime::disk_op::sync_directory{root});
  // Removals that a crash interrupted.
  if (const auto left = disk_.list(store_.path("trash"))) {
    for (const auto& each : *left) batch.operations.push_back(runtime::disk_op::remove_tree{store_.path("trash/" + each.name)});
  }
  return disk_.execute(std::move(batch));
}

void store_recovery::keep_copy(const std::string& path) {
  const auto bytes = read_file(disk_, path);
  if (!bytes) return;
  runtime::disk_batch folder;
  folder.operations.push_back(runtime::disk_op::make_directory{store_.path("damaged")});
  (void)disk_.execute(std::move(folder));
  std::string name = path.substr(store_.core_.options.directory.size() + 1);
  std::replace(name.begin(), name.end(), '/', '+');
  auto copy = disk_.open(store_.path("damaged/" + name), runtime::open_mode::create);
  if (!copy) return;
  runtime::disk_batch batch;
  batch.operations.push_back(runtime::disk_op::truncate{*copy, 0});
  batch.operations.push_back(runtime::disk_op::write{*copy, 0, *bytes});
  (void)disk_.execute(std::move(batch));
}

// --- catalog ---

void store_recovery::read_catalog() {
  const auto copies = read_state(disk_, store_.path("catalog"));
  catalog_expected_ = copies.exists;
  for (const auto& each : copies.bad_files) keep_copy(each);
  if (copies.damaged) {
    repair_ = true;
    note(copies.content ? finding::severity::warning : finding::severity::damage,
         copies.content ? "a copy of the catalog was missing or damaged and is made anew" : "both copies of the catalog are damaged");
  }
  if (!copies.content) return;
  byte_reader reader(*copies.content);
  if (reader.number<std::uint16_t>() != format_version) {
    note(finding::severity::damage, "the catalog is of a version that this program does not know");
    return;
  }
  store_.catalog_generation_ = copies.generation;
  store_.next_stream_ = static_cast<std::uint32_t>(reader.varint());
  store_.next_consumer_ = static_cast<std::uint32_t>(reader.varint());
  catalog_epoch_ = static_cast<std::uint32_t>(reader.varint());
  for (std::uint64_t left = reader.varint(); left > 0 && reader.ok(); --left) {
    journal_file file;
    file.epoch = static_cast<std::uint32_t>(reader.varint());
    file.last_batch = static_cast<std::uint32_t>(reader.varint());
    listed_[file.epoch] = file;
  }
  catalog_known_ = reader.ok();
}

// --- states ---

void store_recovery::read_streams() {
  const auto accounts = disk_.list(store_.path("streams"));
  if (!accounts) return;
  for (const auto& account : *accounts) {
    const auto names = disk_.list(store_.path("streams/" + account.name));
    if (!names) continue;
    for (const auto& name : *names) {
      const auto folder = "streams/" + account.name + "/" + name.name;
      const auto ids = disk_.list(store_.path(folder));
      if (!ids) continue;
      for (const auto& id : *ids) {
        const auto number = parse_decimal(id.name);
        if (!id.is_directory || !number || *number == 0 || *number > 0xffffffff) continue;
        read_stream(store_.path(folder + "/" + id.name), static_cast<std::uint32_t>(*number), account.name, name.name);
      }
    }
  }
}

void store_recovery::read_stream(const std::string& directory, std::uint32_t id, const std::string& account_folder,
                                 const std::string& name_folder) {
  auto& known = streams_[id];
  known.directory = directory;
  known.account = account_folder;
  known.name = name_folder;
  const auto copies = read_state(disk_, directory + "/state");
  known.bad_files = copies.bad_files;
  known.copy_damaged = copies.damaged;
  known.generation = copies.generation;
  if (copies.content && decode_stream(*copies.content, id, known)) known.has_state = true;
  read_consumers(known);
}

bool store_recovery::decode_stream(std::string_view bytes, std::uint32_t id, known_stream& out) {
  byte_reader reader(bytes);
  if (reader.number<std::uint16_t>() != format_version || reader.varint() != id) return false;
  const std::string_view account = reader.text();
  const std::string_view name = reader.text();
  const auto level = reader.number<std::uint8_t>();
  const sequence first = reader.varint();
  const std::uint64_t revision = reader.varint();
  const std::string_view metadata = reader.text();
  const std::string_view log_state = reader.text();
  if (!reader.ok() || level > static_cast<std::uint8_t>(durability::memory)) return false;
  out.account = account;
  out.name = name;
  out.level = static_cast<durability>(level);
  out.first_sequence = first;
  out.revision = revision;
  out.metadata = metadata;
  out.log_state = log_state;
  return true;
}

void store_recovery::read_consumers(known_stream& of) {
  const std::string folder = of.directory + "/consumers";
  const auto files = disk_.list(folder);
  if (!files) return;
  std::set<std::uint32_t> ids;
  for (const auto& each : *files) {
    const auto number = parse_decimal(std::string_view(each.name).substr(0, each.name.find('.')));
    if (each.name.ends_with(".new")) {
      repairs_.operations.push_back(runtime::disk_op::unlink{folder + "/" + each.name});
    } else if (number && *number <= 0xffffffff) {
      ids.insert(static_cast<std::uint32_t>(*number));
    }
  }
  for (const std::uint32_t id : ids) {
    const auto copies = read_state(disk_, folder + "/" + std::to_string(id));
    auto& known = of.consumers[id];
    known.copy_damaged = copies.damaged;
    known.generation = copies.generation;
    for (const auto& each : copies.bad_files) keep_copy(each);
    if (!copies.content) continue;
    byte_reader reader(*copies.content);
    if (reader.number<std::uint16_t>() != format_version || reader.varint() != id) continue;
    known.name = reader.text();
    known.revision = reader.varint();
    known.metadata = reader.text();
    known.last_delta = reader.varint();
    known.snapshot = reader.text();
    for (std::uint64_t left = reader.varint(); left > 0 && reader.ok(); --left) known.deltas.emplace_back(reader.text());
    known.has_state = reader.ok();
  }
}

// --- journals ---

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
    note(finding::severity::damage, "journal " + store_.journal_path(epoch) +
                                        " is missing: changes since the last settling may be lost where segments do not have them");
  }
  if (!catalog_expected_ && (!streams_.empty() || !journals_.empty())) {
    // A first start that a crash interrupted has no stream either.
    if (!streams_.empty()) note(finding::severity::damage, "both copies of the catalog are missing");
    repair_ = true;
  }
  std::sort(journals_.begin(), journals_.end(), [](const auto& a, const auto& b) { return a.file.epoch < b.file.epoch; });
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
  struct damaged_part { std::uint64_t offset, end; };
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
      kept = "stream " + std::to_string(reader.header().stream) + " sequence " + std::to_string(reader.header().sequence);
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
    note(finding::severity::warning, path + ": an incomplete end of " + std::to_string(journal.bytes.size() - good_end) +
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
    note(finding::severity::damage, path + ": bytes " + std::to_string(each.offset) + " to " + std::to_string(each.end) + " are damaged");
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
      return;
    }
    case record_kind::stream_delete: known.deleted = true; return;
    case record_kind::consumer_create:
    case record_kind::consumer_update:
    case record_kind::consumer_delete:
    case record_kind::consumer_delta:
    case record_kind::consumer_snapshot: return replay_consumer(known, header, body);
    default: known.records.push_back(whole);
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
    case record_kind::consumer_delete: known.deleted = true; return;
    case record_kind::consumer_delta:
      if (header.sequence <= known.last_delta) return;
      if (header.sequence != known.last_delta + 1 && !known.reported && known.has_state + known.created > 0) {
        known.reported = true;
        note(finding::severity::damage, "consumer " + known.name + " of stream " + of.name + ": some of its changes are lost");
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

// --- building ---

result<void> store_recovery::build() {
  for (const std::uint32_t id : unknown_streams_) {
    if (deleted_streams_.contains(id)) continue;
    repair_ = true;
    note(finding::severity::damage, "the journal has records of stream " + std::to_string(id) + ", whose creation is lost");
  }
  for (auto& [id, known] : streams_) {
    store_.next_stream_ = std::max(store_.next_stream_, id + 1);
    for (const auto& [number, consumer] : known.consumers) store_.next_consumer_ = std::max(store_.next_consumer_, number + 1);
    if (known.deleted) {
      if (disk_.exists(known.directory)) store_.core_.batch(false).removed.emplace_back(id, known.directory);
      continue;
    }
    if (auto outcome = build_stream(id, known); !outcome) return outcome;
  }
  // Removed streams: their files go now, the record of it is in a journal.
  if (!store_.core_.gathering.empty()) {
    store_.blocking_ = true;
    for (const auto& [id, directory] : store_.core_.gathering.back()->removed) store_.remove_folders(id, directory);
    store_.blocking_ = false;
    store_.core_.gathering.clear();
    store_.core_.batch_number = 0;
  }
  return {};
}

void store_recovery::take_offline(std::uint32_t id, const known_stream& known, std::string reason) {
  note(finding::severity::damage, "stream " + known.name + " (" + std::to_string(id) + ") is offline: " + reason);
  store_.offline_.push_back({known.account, known.name, std::move(reason)});
}

bool store_recovery::has_files(const std::string& directory) {
  const auto content = disk_.list(directory);
  return content && std::ranges::any_of(*content, [&](const auto& each) {
    return !each.is_directory || has_files(directory + "/" + each.name);
  });
}

result<void> store_recovery::build_stream(std::uint32_t id, known_stream& known) {
  for (const auto& each : known.bad_files) keep_copy(each);
  if (!known.has_state && !known.created) {
    // Folders may be older than the record of the stream's creation, and stay when that never came.
    if (known.records.empty() && !has_files(known.directory)) return {};
    take_offline(id, known, "both copies of its state are missing or damaged");
    return {};
  }
  if (known.copy_damaged && !known.created) {
    repair_ = true;
    note(finding::severity::warning, "a copy of the state of stream " + known.name + " was missing or damaged and is made anew");
  }
  auto entry = std::make_unique<stream_entry>(store_, id, known.account, known.name, known.level, known.first_sequence);
  entry->directory = known.directory;
  entry->configuration = known.metadata;
  entry->revision = known.revision;
  entry->generation = known.generation;
  log_recovery messages(*entry->messages);
  messages.set_torn_batch(torn_epoch_, torn_batch_);
  if (known.has_state && !messages.read_state(known.log_state)) {
    take_offline(id, known, "its state makes no sense");
    return {};
  }
  for (const auto record : known.records) messages.note(read_header(record.data()), record);
  runtime::disk_batch folders;
  const std::string name_folder = directory_of(known.directory);
  for (const auto& each : {directory_of(name_folder), name_folder, known.directory, entry->segments_directory(), entry->consumers_directory()}) {
    folders.operations.push_back(runtime::disk_op::make_directory{each});
  }
  if (auto outcome = disk_.execute(std::move(folders)); !outcome) return outcome;
  entry->state = stream_entry::folders::made;
  if (auto outcome = messages.run(entry->segments_directory()); !outcome) {
    if (outcome.error().code() != errc::unsupported) return outcome;
    take_offline(id, known, outcome.error().message());
    return {};
  }
  repair_ |= messages.found_damage();
  entry->dirty = !known.has_state || known.copy_damaged || messages.found_damage() || messages.found_records() || known.created;
  for (auto& [number, consumer] : known.consumers) {
    if (consumer.deleted) {
      store_.gone_consumers_.emplace_back(id, entry->consumer_base(number));
      entry->dirty = true;
      continue;
    }
    if (consumer.name.empty()) {
      repair_ = true;
      note(finding::severity::damage, "a consumer of stream " + known.name + " is lost: its creation and state are missing or damaged");
      continue;
    }
    auto made = std::make_unique<consumer_entry>(store_, *entry, number, consumer.name, false);
    made->configuration = std::move(consumer.metadata);
    made->revision = consumer.revision;
    made->deltas = consumer.last_delta;
    made->generation = consumer.generation;
    made->known = {std::move(consumer.snapshot), std::move(consumer.deltas)};
    made->dirty = consumer.changed || consumer.copy_damaged || !consumer.has_state;
    entry->dirty |= made->dirty;
    if (consumer.copy_damaged && !consumer.created) {
      repair_ = true;
      note(finding::severity::warning, "a copy of the state of consumer " + consumer.name + " of stream " + known.name +
                                           " was missing or damaged and is made anew");
    }
    entry->consumers.emplace(consumer.name, std::move(made));
  }
  store_.by_name_[{known.account, known.name}] = entry.get();
  store_.by_id_[id] = entry.get();
  if (entry->messages->needs_flush()) store_.note_flush(*entry->messages);
  store_.entries_.push_back(std::move(entry));
  return {};
}

result<void> store_recovery::finish() {
  if (!repairs_.operations.empty()) {
    if (auto outcome = disk_.execute(std::move(repairs_)); !outcome) return outcome;
  }
  for (const auto& each : journals_) store_.journals_.push_back(each.file);
  store_.settle_wanted_ = repair_;
  return {};
}

}  // namespace tern::storage
