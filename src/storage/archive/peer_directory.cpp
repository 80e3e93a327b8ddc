#include "storage/archive/peer_directory.hpp"

#include "base/numbers.hpp"
#include "storage/segment/byte_order.hpp"

#include <algorithm>

namespace tern::storage::archive {
namespace {

constexpr std::size_t checksum_size = 8;
constexpr std::string_view block_suffix = ".blk";

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<std::uint32_t> block_number(std::string_view file_name) {
  if (!file_name.ends_with(block_suffix)) return std::nullopt;
  const auto number = parse_decimal(file_name.substr(0, file_name.size() - block_suffix.size()));
  if (!number || *number > 0xffffffff) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

// --- the merger ---

void peer_block_merger::note(std::uint64_t number, std::int64_t time) {
  if (number <= last_) return;
  last_ = number;
  last_time_ = time;
}

result<void> peer_block_merger::add(std::uint32_t block, std::string_view bytes, sink& to) {
  peer_block_reader reader(bytes, block_key(stream_, block));
  for (auto item = reader.next(); item != peer_block_reader::item::end; item = reader.next()) {
    if (item == peer_block_reader::item::damaged) {
      to.damaged(block, reader.offset(), reader.size(), last_);
      continue;
    }
    const peer_record& record = reader.record();
    note(record.number, record.time);
    if (record.what == peer_record::kind::tombstone) {
      tombstones_.push_back(record.number);
      continue;
    }
    // Sequences only ascend; a record that goes back was written over by a later one.
    if (record.what == peer_record::kind::erased || record.number <= given_) continue;
    if (index_ && (record.number < index_->first() || index_->removed(block, record.number))) continue;
    if (auto outcome = to.message(record); !outcome) return outcome;
    if (first_given_ == 0) first_given_ = record.number;
    given_ = record.number;
  }
  return {};
}

std::vector<std::uint64_t> peer_block_merger::take_removals() {
  std::ranges::sort(tombstones_);
  const auto repeated = std::ranges::unique(tombstones_);
  tombstones_.erase(repeated.begin(), repeated.end());
  std::erase_if(tombstones_, [this](std::uint64_t number) { return number < first_given_ || number > given_; });
  return std::move(tombstones_);
}

std::uint64_t peer_block_merger::last() const { return std::max(last_, index_ ? index_->last() : 0); }

std::uint64_t peer_block_merger::first() const { return index_ ? index_->first() : 0; }

// --- the directory ---

peer_directory::peer_directory(runtime::disk& disk, std::string path, std::string name, const peer_keys& keys)
    : disk_(disk), path_(std::move(path)), name_(std::move(name)), keys_(keys) {}

result<std::string> peer_directory::read(const std::string& name) const {
  auto opened = disk_.open(file(name), runtime::open_mode::read_only);
  if (!opened) return std::unexpected(std::move(opened.error()));
  const auto size = disk_.size(*opened);
  if (!size) return std::unexpected(size.error());
  if (*size > peer_block_max)
    return fail(errc::limit_exceeded, file(name) + " is larger than a file of its kind can be");
  std::string bytes(static_cast<std::size_t>(*size), '\0');
  const auto got = disk_.read(*opened, 0, bytes);
  if (!got) return std::unexpected(got.error());
  bytes.resize(*got);
  return bytes;
}

// A file that is sealed when its folder has a `meta.key`.
result<std::string> peer_directory::read_sealed(const std::string& folder, const std::string& name,
                                                std::string_view context) {
  auto bytes = read(folder + name);
  if (!bytes || !disk_.exists(file(folder + "meta.key"))) return bytes;
  if (!keys_.given()) {
    return fail(errc::invalid_argument, file(folder + name) + " is encrypted",
                "give the server's key with --key or --key-file");
  }
  const auto sealed_key = read(folder + "meta.key");
  if (!sealed_key) return std::unexpected(sealed_key.error());
  const auto key = keys_.open(*sealed_key, context);
  if (!key) return std::unexpected(error(key.error()).within(file(folder + "meta.key")));
  auto plain = peer_keys::unseal(*key, *bytes);
  if (!plain) return std::unexpected(std::move(plain.error()).within(file(folder + name)));
  return plain;
}

result<std::string> peer_directory::read_metadata() {
  const auto bytes = read("meta.inf");
  if (!bytes) return std::unexpected(bytes.error());
  const auto sum = read("meta.sum");
  const std::string expected = hash_text(highway_hash(highway_hash::key_of(name_)).update(*bytes).finish());
  if (!sum) {
    problems_.push_back("meta.sum cannot be read: " + sum.error().message());
  } else if (without_blanks(*sum) != expected) {
    problems_.push_back("meta.inf does not have the checksum that meta.sum names");
  }
  return read_sealed("", "meta.inf", name_);
}

// A purge that was cut off: the new folder counts once it has a block.
std::string peer_directory::messages_folder() const {
  if (const auto entries = disk_.list(file("__new_msgs__"))) {
    for (const auto& each : *entries) {
      if (block_number(each.name)) return "__new_msgs__/";
    }
  }
  return "msgs/";
}

void peer_directory::read_index(peer_block_merger& merger) {
  const std::string name = messages_ + "index.db";
  if (!disk_.exists(file(name))) return;
  const auto sealed = read(name);
  if (!sealed || sealed->size() < checksum_size) return problems_.push_back(name + " cannot be read");
  const std::string_view body = std::string_view(*sealed).substr(0, sealed->size() - checksum_size);
  const auto sum = get<std::uint64_t>(sealed->data() + body.size());
  if (highway_hash(highway_hash::key_of(name_)).update(body).finish() != sum)
    return problems_.push_back(name + " is damaged; the message blocks are read alone");
  result<std::string> plain = std::string(body);
  if (disk_.exists(file("meta.key"))) {
    const auto sealed_key = read("meta.key");
    const auto key =
        sealed_key ? keys_.open(*sealed_key, name_) : result<peer_keys::asset_key>(std::unexpected(sealed_key.error()));
    plain = key ? peer_keys::unseal(*key, body) : result<std::string>(std::unexpected(key.error()));
  }
  if (!plain) return problems_.push_back(name + ": " + plain.error().message());
  auto index = peer_index::decode(*plain);
  if (!index) return problems_.push_back(name + ": " + index.error().message());
  merger.set_index(std::move(*index));
}

result<void> peer_directory::read_block(std::uint32_t number, peer_block_merger& merger, peer_block_merger::sink& to) {
  const std::string base = messages_ + std::to_string(number);
  auto bytes = read(base + ".blk");
  if (!bytes) return std::unexpected(bytes.error());
  if (disk_.exists(file(base + ".key"))) {
    if (!keys_.given()) {
      return fail(errc::invalid_argument, file(base + ".blk") + " is encrypted",
                  "give the server's key with --key or --key-file");
    }
    const auto sealed_key = read(base + ".key");
    if (!sealed_key) return std::unexpected(sealed_key.error());
    const auto key = keys_.open(*sealed_key, name_ + ":" + std::to_string(number));
    if (!key) return std::unexpected(error(key.error()).within(file(base + ".key")));
    if (auto outcome = peer_keys::decrypt_block(*key, *bytes); !outcome) return outcome;
  }
  auto plain = decompress_peer_block(std::move(*bytes));
  if (!plain) {
    problems_.push_back(base + ".blk: " + plain.error().message());
    to.damaged(number, 0, 0, merger.last());
    return {};
  }
  return merger.add(number, *plain, to);
}

result<void> peer_directory::read_messages(peer_block_merger& merger, peer_block_merger::sink& to) {
  messages_ = messages_folder();
  const auto entries = disk_.list(file(messages_.substr(0, messages_.size() - 1)));
  if (!entries) {
    if (entries.error().code() == errc::not_found) return {};
    return std::unexpected(entries.error());
  }
  std::vector<std::uint32_t> numbers;
  for (const auto& each : *entries) {
    if (const auto number = block_number(each.name)) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  read_index(merger);
  for (const std::uint32_t number : numbers) {
    if (auto outcome = read_block(number, merger, to); !outcome) return outcome;
  }
  return {};
}

std::vector<std::string> peer_directory::consumer_names() {
  std::vector<std::string> names;
  const auto entries = disk_.list(file("obs"));
  if (!entries) return names;
  for (const auto& each : *entries) {
    if (each.is_directory && disk_.exists(file("obs/" + each.name + "/meta.inf"))) names.push_back(each.name);
  }
  return names;
}

result<peer_consumer> peer_directory::read_consumer(const std::string& name) {
  const std::string folder = "obs/" + name + "/";
  const std::string context = name_ + "." + name;
  peer_consumer made{.name = name, .metadata = {}, .state = {}, .problems = {}};
  auto metadata = read_sealed(folder, "meta.inf", context);
  if (!metadata) return std::unexpected(std::move(metadata.error()));
  made.metadata = std::move(*metadata);
  if (!disk_.exists(file(folder + "o.dat"))) return made;
  const auto bytes = read_sealed(folder, "o.dat", context);
  if (!bytes) return std::unexpected(bytes.error());
  auto state = decode_peer_consumer(*bytes);
  if (!state) {
    made.problems.push_back(file(folder + "o.dat") + ": " + state.error().message());
  } else {
    made.state = std::move(*state);
  }
  return made;
}

}  // namespace tern::storage::archive
