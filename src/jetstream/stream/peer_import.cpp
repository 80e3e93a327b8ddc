#include "jetstream/stream/peer_import.hpp"

#include "jetstream/consumer/consumer_checks.hpp"
#include "jetstream/stream/stream_config_checks.hpp"

#include <tern/codec/json.hpp>

#include <algorithm>
#include <utility>

namespace tern::jetstream {
namespace {

using storage::archive::peer_block_merger;
using storage::archive::peer_directory;
using storage::archive::peer_keys;
using storage::archive::peer_record;

constexpr std::size_t settle_bytes = std::size_t{4} << 20;  // appended between two waits for the disk
constexpr std::size_t identity_size = 8;

struct created_record {
  std::string created;
};

// "Created" of a meta.inf, of either kind.
time_point created_of(std::string_view metadata, time_point otherwise) {
  const auto record = codec::read_json<created_record>(metadata, codec::peer_lenient);
  return record ? parse_rfc3339(record->created).value_or(otherwise) : otherwise;
}

}  // namespace

// One stream on its way.
class peer_import::run final : private peer_block_merger::sink {
 public:
  run(peer_import& of, const peer_stream& what)
      : of_(of),
        what_(what),
        keys_(of.server_key_, what.account),
        from_(of.disk_, what.path, what.name, keys_),
        merger_(what.name) {
    report_.account = what.account;
    report_.name = what.name;
  }

  import_report all() {
    if (auto outcome = everything(); !outcome) report_.failure = std::move(outcome.error());
    for (const auto& each : from_.problems()) report_.problems.push_back(each);
    loader_.reset();
    return std::move(report_);
  }

 private:
  result<void> everything() {
    if (auto outcome = read_config(); !outcome) return outcome;
    if (auto outcome = from_.read_messages(merger_, *this); !outcome) return outcome;
    if (auto outcome = begin(std::max(merger_.first(), merger_.last() + 1)); !outcome) return outcome;
    if (auto outcome = settle(); !outcome) return outcome;
    const auto removals = merger_.take_removals();
    report_.messages -= std::min<std::uint64_t>(report_.messages, removals.size());
    if (loader_ != nullptr) loader_->remove(removals);
    for (const std::string& name : from_.consumer_names()) read_consumer(name);
    report_.last = merger_.last();
    if (loader_ != nullptr) {
      loader_->finish(merger_.last(), from_unix_nanoseconds(merger_.last_time()));
      if (auto outcome = settle(); !outcome) {
        of_.to_.store->remove_stream(loader_->record());
        return outcome;
      }
      const storage::log_state& state = loader_->record().log().state();
      report_.messages = state.messages;
      report_.bytes = state.bytes;
      report_.first = state.first;
      report_.last = state.last;
    }
    return {};
  }

  result<void> read_config() {
    const auto metadata = from_.read_metadata();
    if (!metadata) return std::unexpected(metadata.error());
    auto config = codec::read_json<stream_config>(*metadata, codec::peer_lenient);
    if (!config) return fail(errc::corrupted, "meta.inf cannot be read: " + config.error().context());
    if (config->name != what_.name)
      return fail(errc::corrupted,
                  "meta.inf speaks of stream '" + config->name + "', the folder of '" + what_.name + "'");
    if (config->num_replicas > 1) {
      report_.problems.push_back("it had " + std::to_string(config->num_replicas) + " replicas and has one now");
      config->num_replicas = 1;
    }
    auto checked = normalise_stream_config(std::move(*config), false, options());
    if (!checked) return fail(errc::unsupported, "its configuration is refused: " + checked.error().description);
    config_ = std::move(*checked);
    created_ = created_of(*metadata, of_.to_.now());
    return {};
  }

  result<void> begin(storage::sequence first) {
    if (loader_ != nullptr || of_.to_.store == nullptr) return {};
    stored_stream stored{.config = config_, .created = created_, .identity = of_.to_.ids->random_text(identity_size)};
    stored.first_sequence = config_.first_seq;
    auto made = stream_loader::begin(
        {.store = of_.to_.store, .account = what_.account, .level = durability_of(config_, options())},
        std::move(stored), first);
    if (!made) return std::unexpected(std::move(made.error()));
    loader_ = std::move(*made);
    return {};
  }

  result<void> message(const peer_record& what) override {
    ++report_.messages;
    if (report_.first == 0) report_.first = what.number;
    report_.bytes += storage::file_record_bytes(what.subject.size(), what.headers.size(), what.payload.size());
    if (of_.to_.store == nullptr) return {};
    if (auto outcome = begin(merger_.index() ? merger_.first() : what.number); !outcome) return outcome;
    if (auto outcome = loader_->append({.number = what.number,
                                        .timestamp = from_unix_nanoseconds(what.time),
                                        .subject = what.subject,
                                        .headers = what.headers,
                                        .payload = what.payload});
        !outcome) {
      return outcome;
    }
    if (loader_->bytes() - settled_ < settle_bytes) return {};
    settled_ = loader_->bytes();
    return settle();
  }

  void damaged(std::uint32_t block, std::uint64_t offset, std::uint64_t size, std::uint64_t after) override {
    report_.damaged.push_back({block, offset, size, after});
  }

  void read_consumer(const std::string& name) {
    const auto problem = [&](std::string_view why) {
      report_.problems.push_back("consumer " + name + " is left out: " + std::string(why));
    };
    auto found = from_.read_consumer(name);
    if (!found) return problem(found.error().message());
    for (const auto& each : found->problems) report_.problems.push_back(each + "; it starts anew");
    auto config = codec::read_json<consumer_config>(found->metadata, codec::peer_lenient);
    if (!config) return problem(config.error().context());
    archived_consumer made{.name = name, .config = std::move(*config), .state = std::move(found->state)};
    made.config.num_replicas = std::min<std::int64_t>(made.config.num_replicas, 1);
    const limits server;
    const account_limits account;
    const consumer_surroundings around{config_, server, account};
    if (const auto bad = apply_consumer_defaults(made.config, around, false)) return problem(bad->description);
    if (const auto bad = check_consumer(made.config, around)) return problem(bad->description);
    report_.consumers.push_back(name);
    if (loader_ != nullptr) loader_->add_consumer(made, created_of(found->metadata, of_.to_.now()));
  }

  result<void> settle() {
    if (of_.to_.store == nullptr) return {};
    if (auto outcome = of_.to_.settle(); !outcome) return outcome;
    if (loader_ != nullptr && loader_->failure()) return std::unexpected(*loader_->failure());
    return {};
  }

  peer_import& of_;
  const peer_stream& what_;
  peer_keys keys_;
  peer_directory from_;
  peer_block_merger merger_;
  stream_config config_;
  time_point created_{};
  std::unique_ptr<stream_loader> loader_;
  std::uint64_t settled_ = 0;
  import_report report_;
};

result<std::vector<peer_stream>> peer_import::find(const std::string& directory) {
  std::string root = directory;
  while (root.size() > 1 && root.ends_with('/')) root.pop_back();
  if (disk_.exists(root + "/jetstream")) root += "/jetstream";
  if (disk_.exists(root + "/catalog.a") || disk_.exists(root + "/catalog.b")) {
    return fail(errc::invalid_argument, root + " is a store of Tern",
                "ternd starts on it as it is; an import reads what nats-server has written");
  }
  const auto accounts = disk_.list(root);
  if (!accounts) return std::unexpected(accounts.error());
  std::vector<peer_stream> found;
  for (const auto& account : *accounts) {
    if (!account.is_directory) continue;
    const std::string streams = root + "/" + account.name + "/streams";
    const auto names = disk_.exists(streams) ? disk_.list(streams) : result<std::vector<runtime::directory_entry>>();
    if (!names) return std::unexpected(names.error());
    for (const auto& each : *names) {
      if (each.is_directory) found.push_back({account.name, each.name, streams + "/" + each.name});
    }
  }
  if (found.empty()) {
    return fail(errc::not_found, root + " holds no streams of a nats-server",
                "give its store_dir: the folder that contains jetstream/<account>/streams");
  }
  return found;
}

import_report peer_import::take(const peer_stream& what) {
  if (to_.store != nullptr && to_.store->find_stream(what.account, what.name) != nullptr) {
    import_report report{.account = what.account, .name = what.name};
    report.failure = error(errc::already_exists, "the store has a stream of this name");
    return report;
  }
  return run(*this, what).all();
}

}  // namespace tern::jetstream
