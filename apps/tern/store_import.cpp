#include "store.hpp"

#include "jetstream/stream/peer_import.hpp"
#include "runtime/host/files.hpp"
#include "runtime/run_until.hpp"
#include "text.hpp"

#include <algorithm>

namespace tern::command {
namespace {

constexpr nanoseconds settling_patience = std::chrono::hours(1);  // a disk that hangs that long will not come back

struct import_line {
  std::string account, stream;
  std::uint64_t messages = 0, bytes = 0, first_seq = 0, last_seq = 0;
  std::vector<std::string> consumers, problems;
  std::string error;
};

std::string damage_text(const jetstream::import_report::damage& what) {
  std::string text = "block " + std::to_string(what.block) + ": ";
  text += what.size == 0 ? "cannot be unpacked"
                         : std::to_string(what.size) + " bytes at " + std::to_string(what.offset) + " are no messages";
  return text + " (after sequence " + std::to_string(what.after) + ")";
}

import_line line_of(const jetstream::import_report& report) {
  import_line line{.account = report.account, .stream = report.name};
  line.messages = report.messages;
  line.bytes = report.bytes;
  line.first_seq = report.first;
  line.last_seq = report.last;
  line.consumers = report.consumers;
  line.problems = report.problems;
  for (const auto& each : report.damaged) line.problems.push_back(damage_text(each));
  if (report.failure) line.error = report.failure->message();
  return line;
}

void show(session& in, const import_line& line) {
  if (in.json()) return in.output().print_line(codec::to_json(line));
  std::string text = line.account + " > " + line.stream + ": ";
  if (!line.error.empty()) {
    text += "not imported: " + line.error;
  } else {
    text += with_thousands(line.messages) + " messages, sequences " + std::to_string(line.first_seq) + " to " +
            std::to_string(line.last_seq) + ", " + human_bytes(line.bytes) + ", " +
            std::to_string(line.consumers.size()) + " consumers";
  }
  in.output().print_line(text);
  for (const std::string& each : line.problems) in.output().print_line("  note: " + each);
}

result<std::string> key_of(const store_import_arguments& what) {
  if (what.key_file.empty()) return what.key;
  if (!what.key.empty()) return fail(errc::invalid_options, "--key and --key-file say the same thing", "give one");
  auto text = runtime::host::read_text_file(what.key_file);
  if (!text) return text;
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r')) text->pop_back();
  return text;
}

}  // namespace

offline_loop::offline_loop() : loop_(clock_, randomness_), disk_(runtime::make_real_disk(loop_)) {}
offline_loop::~offline_loop() = default;

result<void> offline_loop::settle(storage::store& store) {
  bool done = false;
  result<void> outcome;
  store.when_durable([&](const result<void>& how) {
    outcome = how;
    done = true;
  });
  const auto hook = loop_.at_turn_end([&store] { store.commit(); });
  loop_.post([] {});
  if (!runtime::run_until(loop_, [&] { return done && !store.busy(); }, settling_patience))
    return fail(errc::timeout, "the disk does not answer");
  if (outcome && store.failure()) return std::unexpected(*store.failure());
  return outcome;
}

result<void> store_import(session& in, const store_import_arguments& what) {
  if (!what.check && what.to.empty())
    return fail(errc::invalid_options, "where to is not said", "give --to STORE, or --check to read only");
  const auto key = key_of(what);
  if (!key) return std::unexpected(key.error());
  offline_loop offline;
  std::unique_ptr<storage::store> store;
  if (!what.check) {
    auto opened = storage::store::open(&offline.disk(), {.directory = what.to + "/jetstream"});
    if (!opened) return std::unexpected(std::move(opened.error()));
    store = std::move(*opened);
  }
  jetstream::peer_import importer(offline.disk(),
                                  {.store = store.get(),
                                   .settle = [&] { return offline.settle(*store); },
                                   .ids = &in.ids(),
                                   .now = [&in] { return in.now(); }},
                                  *key);
  auto streams = importer.find(what.from);
  if (!streams) return std::unexpected(std::move(streams.error()));
  std::erase_if(*streams, [&](const auto& each) {
    return (!what.account.empty() && each.account != what.account) ||
           (!what.stream.empty() && each.name != what.stream);
  });
  if (streams->empty()) return fail(errc::not_found, "no stream of this name is there");
  std::size_t failed = 0, noted = 0;
  for (const auto& each : *streams) {
    const import_line line = line_of(importer.take(each));
    failed += line.error.empty() ? 0 : 1;
    noted += line.problems.empty() ? 0 : 1;
    show(in, line);
  }
  if (store != nullptr) {
    if (auto closed = offline.settle(*store); !closed) return closed;
    if (auto closed = store->close(); !closed) return closed;
  }
  if (failed > 0)
    return fail(errc::io_error,
                std::to_string(failed) + " of " + std::to_string(streams->size()) + " streams were not imported");
  if (noted > 0 && !in.json()) in.note("Imported, with notes about " + std::to_string(noted) + " streams");
  return {};
}

}  // namespace tern::command
