#include "jetstream/stream/restore_input.hpp"

#include "jetstream/consumer/consumer_checks.hpp"
#include "storage/segment/byte_order.hpp"

#include <tern/codec/json.hpp>

#include <algorithm>
#include <utility>

namespace tern::jetstream {
namespace {

using protocol::jetstream_errc;
using protocol::make_api_error;

// A block of the peer may hold one record of 32 MiB above its usual size; state of a consumer with many pending
// messages.
constexpr std::size_t entry_max = std::size_t{64} << 20;
constexpr std::size_t record_max = std::size_t{32} << 20;
constexpr std::size_t consumers_max = 100'000;
constexpr std::size_t identity_size = 8;

struct created_record {
  std::string created;
};

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

}  // namespace

restore_input::restore_input(account_streams& in, stream_config config, bool replicated)
    : in_(in),
      config_(std::move(config)),
      replicated_(replicated),
      entries_(entry_max),
      files_(entry_max),
      merger_(config_.name),
      created_(in.surroundings().now()) {}

restore_input::~restore_input() = default;

restore_input::problem restore_input::failed(std::string text) {
  return make_api_error(jetstream_errc::stream_restore, {{"err", text}});
}

restore_input::problem restore_input::check_usage(std::uint64_t more) const {
  if (!in_.account_is_full(config_.storage, bytes() + more)) return {};
  return make_api_error(config_.storage == storage_type::memory ? jetstream_errc::memory_resources_exceeded
                                                                : jetstream_errc::storage_resources_exceeded);
}

// The stream in the store, hidden.
restore_input::problem restore_input::start(storage::sequence first, std::uint64_t expected_bytes) {
  environment& around = in_.surroundings();
  if (in_.find(config_.name) != nullptr || in_.offline.contains(config_.name))
    return make_api_error(jetstream_errc::stream_name_exist_restore_failed);
  if (auto found = check_usage(expected_bytes)) return found;
  if (replicated_) return failed("error adding stream: replicas > 1 not supported in non-clustered mode (10074)");
  if (in_.overlaps(config_.subjects, config_.name))
    return failed("error adding stream: subjects overlap with an existing stream (10065)");
  stored_stream what{.config = config_, .created = created_, .identity = around.ids.random_text(identity_size)};
  what.first_sequence = config_.first_seq;
  auto made = stream_loader::begin(
      {.store = &around.store, .account = in_.account().name(), .level = durability_of(config_, around.settings)},
      std::move(what), first);
  if (!made) return failed("error adding stream: " + made.error().message());
  loader_ = std::move(*made);
  return {};
}

restore_input::problem restore_input::push(std::string_view bytes) {
  if (format_ == format::unknown) {
    head_.append(bytes);
    if (head_.size() < storage::archive::archive_magic.size()) return {};
    format_ = head_.starts_with(storage::archive::archive_magic) ? format::archive : format::files;
    bytes = head_;
  }
  if (ended_) return {};  // what follows the end is ignored
  if (format_ == format::archive) {
    entries_.push(bytes);
    return take_entries();
  }
  files_.push(bytes);
  return take_files();
}

restore_input::problem restore_input::end() {
  if (format_ == format::files) return end_of_files();
  if (phase_ != phase::done) return failed(format_ == format::unknown && head_.empty() ? "EOF" : "unexpected EOF");
  loader_->finish(state_.last_seq, parse_rfc3339(state_.last_ts).value_or(in_.surroundings().now()));
  return {};
}

// --- the present archive ---

restore_input::problem restore_input::take_entries() {
  storage::archive::archive_entry entry;
  while (!ended_) {
    const auto more = entries_.next(entry);
    if (!more) return failed("archive: invalid archive stream");
    if (!*more) return {};
    if (auto found = take_entry(entry)) return found;
  }
  return {};
}

restore_input::problem restore_input::take_entry(const storage::archive::archive_entry& entry) {
  switch (phase_) {
    case phase::state: {
      if (entry.name != storage::archive::state_entry) return failed("expected state.json first");
      auto state = read_archived_state(entry.payload);
      if (!state) return failed(state.error().context());
      state_ = std::move(*state);
      consumers_left_ = state_.consumer_count;
      phase_ = consumers_left_ > 0 ? phase::consumers : phase::messages;
      return start(state_.first_seq, state_.bytes);
    }
    case phase::consumers: {
      constexpr auto prefix = storage::archive::consumer_entry_prefix;
      if (!entry.name.starts_with(prefix)) return failed("expected consumer, found " + quoted(entry.name));
      auto consumer = read_archived_consumer(entry.name.substr(prefix.size()), entry.payload);
      if (!consumer) return failed(consumer.error().context());
      if (auto found = check_consumer(*consumer))
        return failed("failed to add consumer " + quoted(consumer->name) + ": " + found->description);
      loader_->add_consumer(*consumer, in_.surroundings().now());
      if (--consumers_left_ == 0) phase_ = phase::messages;
      return {};
    }
    case phase::messages:
      return take_message(entry);
    case phase::done:
      return {};
  }
  return {};
}

restore_input::problem restore_input::take_message(const storage::archive::archive_entry& entry) {
  if (entry.number == 0) {
    if (!entry.is_end()) return failed("expected message sequence");
    phase_ = phase::done;
    ended_ = true;
    return {};
  }
  const std::string which = "message sequence " + std::to_string(entry.number);
  const std::size_t size = entry.headers.size() + entry.payload.size();
  if (size > static_cast<std::size_t>(in_.surroundings().settings.max_payload))
    return failed(which + " exceeds maximum payload size");
  if (config_.max_msg_size >= 0 && size > static_cast<std::size_t>(config_.max_msg_size))
    return failed(which + " exceeds maximum message size");
  if (size + entry.name.size() > record_max) return failed("snapshot message bytes exceed maximum store message size");
  if (entry.number < state_.first_seq) return failed(which + " out of order");
  if (auto found = check_usage(size)) return found;
  const auto outcome = loader_->append({.number = entry.number,
                                        .timestamp = from_unix_nanoseconds(entry.time),
                                        .subject = entry.name,
                                        .headers = entry.headers,
                                        .payload = entry.payload});
  if (!outcome) return failed(outcome.error().context());
  return {};
}

// As the consumer would be made by a request, but for what only a new one is asked.
restore_input::problem restore_input::check_consumer(archived_consumer& what) const {
  const consumer_surroundings around{config_, in_.surroundings().settings.server_limits, in_.limits};
  if (auto found = apply_consumer_defaults(what.config, around, false)) return found;
  return jetstream::check_consumer(what.config, around);
}

// --- the older archive ---

restore_input::problem restore_input::take_files() {
  storage::archive::tar_reader::file file;
  for (;;) {
    const auto more = files_.next(file);
    if (!more) return failed(more.error().context());
    ended_ = files_.ended();
    if (!*more) return {};
    if (auto found = take_file(file)) return found;
  }
}

restore_input::problem restore_input::take_file(const storage::archive::tar_reader::file& file) {
  std::string_view name = file.name;
  if (name == "meta.inf") {
    const auto config = codec::read_json<stream_config>(file.content, codec::peer_lenient);
    const auto created = codec::read_json<created_record>(file.content, codec::peer_lenient);
    if (!config) return failed(config.error().context());
    if (config->name != config_.name) return failed("stream names do not match");
    if (created) created_ = parse_rfc3339(created->created).value_or(created_);
    has_metadata_ = true;
    return {};
  }
  if (name == "msgs/index.db") {
    if (file.content.size() < sizeof(std::uint64_t)) return {};
    auto index =
        storage::archive::peer_index::decode(file.content.substr(0, file.content.size() - sizeof(std::uint64_t)));
    if (index) merger_.set_index(std::move(*index));
    return {};
  }
  if (name.starts_with("msgs/")) {
    const auto number = storage::archive::block_number(name.substr(5));
    if (!number) return {};
    auto plain = storage::archive::decompress_peer_block(std::string(file.content));
    if (!plain) return failed(plain.error().context());
    const auto outcome = merger_.add(*number, *plain, *this);
    if (block_problem_) return block_problem_;
    if (!outcome) return failed(outcome.error().context());
    return {};
  }
  if (name.starts_with("obs/")) {
    name.remove_prefix(4);
    const std::size_t slash = name.find('/');
    if (slash != std::string_view::npos)
      return take_consumer_file(name.substr(0, slash), name.substr(slash + 1), file.content);
  }
  if (name == "errors.txt") return failed("the backup says that it failed: " + std::string(file.content));
  return {};
}

restore_input::problem restore_input::take_consumer_file(std::string_view consumer, std::string_view name,
                                                         std::string_view content) {
  if (consumers_.size() >= consumers_max) return failed("too many consumers");
  consumer_files& files = consumers_[std::string(consumer)];
  if (name == "meta.inf") files.metadata = content;
  if (name == "o.dat") files.state = std::string(content);
  return {};
}

result<void> restore_input::message(const storage::archive::peer_record& what) {
  if (loader_ == nullptr) block_problem_ = start(merger_.index() ? merger_.first() : what.number, 0);
  if (!block_problem_) block_problem_ = check_usage(what.payload.size() + what.headers.size());
  if (block_problem_) return fail(errc::cancelled, "restore");
  return loader_->append({.number = what.number,
                          .timestamp = from_unix_nanoseconds(what.time),
                          .subject = what.subject,
                          .headers = what.headers,
                          .payload = what.payload});
}

void restore_input::damaged(std::uint32_t block, std::uint64_t offset, std::uint64_t size, std::uint64_t) {
  block_problem_ = failed("message block " + std::to_string(block) + " is damaged at byte " + std::to_string(offset) +
                          " (" + std::to_string(size) + " bytes)");
}

restore_input::problem restore_input::end_of_files() {
  if (!has_metadata_) return failed("the archive has no meta.inf");
  if (loader_ == nullptr) {
    if (auto found = start(std::max(merger_.first(), merger_.last() + 1), 0)) return found;
  }
  loader_->remove(merger_.take_removals());
  for (const auto& [name, files] : consumers_) {
    archived_consumer consumer{.name = name, .config = {}, .state = {}};
    const auto refuse = [&name](std::string_view why) {
      return failed("error restoring consumer [" + quoted(name) + "]: " + std::string(why));
    };
    auto config = codec::read_json<consumer_config>(files.metadata, codec::peer_lenient);
    const auto created = codec::read_json<created_record>(files.metadata, codec::peer_lenient);
    if (!config) return refuse(config.error().context());
    consumer.config = std::move(*config);
    if (files.state) {
      auto state = storage::archive::decode_peer_consumer(*files.state);
      if (!state) return refuse(state.error().context());
      consumer.state = std::move(*state);
    }
    if (auto found = check_consumer(consumer)) return refuse(found->description);
    const time_point now = in_.surroundings().now();
    loader_->add_consumer(consumer, created ? parse_rfc3339(created->created).value_or(now) : now);
  }
  loader_->finish(merger_.last(), from_unix_nanoseconds(merger_.last_time()));
  return {};
}

}  // namespace tern::jetstream
