#include "storage/store_recovery.hpp"

#include "storage/segment/name_encoding.hpp"
#include "storage/state_file.hpp"

#include "base/numbers.hpp"

#include <algorithm>

namespace tern::storage {

result<std::unique_ptr<store>> store::open(runtime::disk* disk, store_options options) {
  auto made = std::make_unique<store_impl>(disk, std::move(options));
  if (disk != nullptr) {
    if (auto outcome = store_recovery(*made).run(); !outcome)
      return std::unexpected(std::move(outcome.error()).within("store"));
  }
  return made;
}

result<void> store_recovery::run() {
  if (auto outcome = check_version(); !outcome) return outcome;
  if (auto outcome = make_folders(); !outcome) return outcome;
  if (auto outcome = disk_.claim(store_.core_.options.directory); !outcome) return outcome;
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
  for (const char* name : {"journal", "streams", "trash"})
    batch.operations.push_back(runtime::disk_op::make_directory{store_.path(name)});
  batch.operations.push_back(runtime::disk_op::sync_directory{root});
  // Removals that a crash interrupted.
  if (const auto left = disk_.list(store_.path("trash"))) {
    for (const auto& each : *left)
      batch.operations.push_back(runtime::disk_op::remove_tree{store_.path("trash/" + each.name)});
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

// Before anything is written: a store of a newer program must stay as it is.
result<void> store_recovery::check_version() {
  const auto copies = read_state(disk_, store_.path("catalog"));
  if (!copies.content) return {};
  byte_reader reader(*copies.content);
  const auto version = reader.number<std::uint16_t>();
  if (!reader.ok() || version == format_version) return {};
  return fail(errc::unsupported,
              "the catalog is of format version " + std::to_string(version) + ", this program knows version " +
                  std::to_string(format_version),
              "start the program that wrote this store; nothing was changed");
}

void store_recovery::read_catalog() {
  const auto copies = read_state(disk_, store_.path("catalog"));
  catalog_expected_ = copies.exists;
  for (const auto& each : copies.bad_files) keep_copy(each);
  if (copies.damaged) {
    repair_ = true;
    note(copies.content ? finding::severity::warning : finding::severity::damage,
         copies.content ? "a copy of the catalog was missing or damaged and is made anew"
                        : "both copies of the catalog are damaged");
  }
  if (!copies.content) return;
  byte_reader reader(*copies.content);
  if (reader.number<std::uint16_t>() != format_version) {
    note(finding::severity::damage, "the catalog makes no sense");  // check_version() refused other versions
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
    for (std::uint64_t left = reader.varint(); left > 0 && reader.ok(); --left)
      known.deltas.emplace_back(reader.text());
    known.has_state = reader.ok();
  }
}

// --- building ---

result<void> store_recovery::build() {
  for (const std::uint32_t id : unknown_streams_) {
    if (deleted_streams_.contains(id)) continue;
    repair_ = true;
    note(finding::severity::damage,
         "the journal has records of stream " + std::to_string(id) + ", whose creation is lost");
  }
  for (auto& [id, known] : streams_) {
    store_.next_stream_ = std::max(store_.next_stream_, id + 1);
    for (const auto& [number, consumer] : known.consumers)
      store_.next_consumer_ = std::max(store_.next_consumer_, number + 1);
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
    note(finding::severity::warning,
         "a copy of the state of stream " + known.name + " was missing or damaged and is made anew");
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
  for (const auto& each : {directory_of(name_folder), name_folder, known.directory, entry->segments_directory(),
                           entry->consumers_directory()}) {
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
  entry->dirty = !known.has_state || known.copy_damaged || messages.found_damage() || messages.found_records() ||
                 known.created || known.updated;
  for (auto& [number, consumer] : known.consumers) {
    if (consumer.deleted) {
      store_.gone_consumers_.emplace_back(id, entry->consumer_base(number));
      entry->dirty = true;
      continue;
    }
    if (consumer.name.empty()) {
      repair_ = true;
      note(finding::severity::damage,
           "a consumer of stream " + known.name + " is lost: its creation and state are missing or damaged");
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
