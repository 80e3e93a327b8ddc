// Messages that come from the stream's mirror or sources (jetstream 7.3). Nobody waits for an answer: what cannot be
// stored is passed over with a line in the log, or offered again later.
#include "jetstream/stream/stream.hpp"

#include "jetstream/stream/counter_value.hpp"
#include "jetstream/stream/incoming_publish.hpp"
#include "jetstream/stream/source_header.hpp"
#include "protocol/headers.hpp"

#include <map>
#include <utility>

namespace tern::jetstream {
namespace {

constexpr std::string_view increment_header = "Nats-Incr";
constexpr std::string_view counter_sources_header = "Nats-Counter-Sources";
// The last value of each counter that was copied: by stream, by subject.
using counter_sources = std::map<std::string, std::map<std::string, std::string>>;

std::string negated(std::string_view number) {
  return number.starts_with('-') ? std::string(number.substr(1)) : "-" + std::string(number);
}

// Expectations and batches concern the publish at the origin alone.
std::string copied_headers(std::string_view block) {
  std::string kept(block);
  for (const std::string_view prefix : {"Nats-Expected-", "Nats-Batch-"}) {
    if (kept.find(prefix) != std::string::npos) kept = protocol::without_headers_with_prefix(kept, prefix);
  }
  return kept;
}

}  // namespace

// Copies stop while the disk is far behind, or refuses, as publishes do (5.3). How many may be on their way is bounded
// by flow control already: it is answered from the disk.
bool stream::has_room_for_copy() const {
  if (closed_ || open_scopes_ > 0 || staged_.bytes() >= surroundings_.settings.max_buffered_bytes) return false;
  if (owner_.server_is_full(config().storage)) return false;
  return config().storage == storage_type::memory || !surroundings_.store.failure();
}

void stream::warn_of_lost_copy(storage::sequence number, std::string_view why) {
  surroundings_.warn("JetStream stream '" + account().name() + " > " + name() + "' passes over message " +
                     std::to_string(number) + " of its origin: " + std::string(why));
}

// Everything after the headers are as they will be stored. Refused for good: the text says why.
std::expected<intake_result, std::string> stream::admit_copy(incoming& what) {
  if (config().max_msg_size >= 0 &&
      what.headers.size() + what.payload.size() > static_cast<std::size_t>(config().max_msg_size))
    return std::unexpected("it is larger than max_msg_size");
  if (config().allow_msg_ttl) {
    if (const auto found = check_lifetime(what)) return std::unexpected(found->description);
    if (what.has_bad_lifetime) return std::unexpected("its time to live cannot be read");
    if (what.raises_lifetime) write_lifetime(what);
  }
  const auto record =
      config().storage == storage_type::memory ? storage::memory_record_bytes : storage::file_record_bytes;
  what.record_bytes = record(what.subject.size(), what.headers.size(), what.payload.size());
  if (config().retention == retention_policy::interest && !consumers_.wanted(what.subject)) {
    what.skipped = true;
    what.entry = {.what = staged_publish::kind::skip, .rollup = what.rollup};
    return intake_result::taken;
  }
  if (owner_.account_is_full(config().storage, what.record_bytes)) return intake_result::later;
  what.entry = entry_for(what);
  if (config().discard == discard_policy::new_messages && check_discard_new(what, what.entry))
    return intake_result::later;
  return intake_result::taken;
}

// Sequence and time are the origin's; what is missing there is missing here.
intake_result stream::take_mirrored(const origin_message& from) {
  if (!has_room_for_copy()) return intake_result::later;
  incoming what{.subject = from.subject, .headers = from.headers, .payload = from.payload};
  if (transform_) transform_subject(what);
  if (!what.headers.empty()) {
    what.stored_headers = copied_headers(what.headers);
    what.headers = what.stored_headers;
    what.known = publish_headers::read(what.headers);
  }
  const auto admitted = admit_copy(what);
  if (!admitted) {
    warn_of_lost_copy(from.number, admitted.error());
    return intake_result::taken;
  }
  if (*admitted == intake_result::later) return intake_result::later;
  if (from.number > last_sequence_ + 1) {
    log_.skip_to(from.number - 1, from.timestamp);
    last_sequence_ = from.number - 1;
  }
  append(what, reserve(what, what.entry, from.timestamp));
  if (what.skipped) await_skips();
  return intake_result::taken;
}

// `copy` becomes the sequence that the message got here, when it is stored.
intake_result stream::take_sourced(const origin_message& from, std::string_view source_header,
                                   std::string_view origin_name, std::string_view origin_subject,
                                   storage::sequence& copy) {
  if (!has_room_for_copy()) return intake_result::later;
  incoming what{.subject = from.subject, .headers = {}, .payload = from.payload};
  if (transform_) transform_subject(what);
  what.stored_headers = copied_headers(from.headers);
  const bool counts = protocol::header_view(what.stored_headers).get_non_empty(increment_header).has_value();
  if (counts != config().allow_msg_counter || (counts && !count_sourced(what, origin_name, origin_subject))) {
    warn_of_lost_copy(from.number, counts ? "it is a counter" : "it is no counter");
    return intake_result::taken;
  }
  protocol::set_header(what.stored_headers, source_header_name, source_header);
  if (!what.counted_sources.empty())
    protocol::set_header(what.stored_headers, counter_sources_header, what.counted_sources);
  what.headers = what.stored_headers;
  what.known = publish_headers::read(what.headers);
  if (find_duplicate(what)) return intake_result::taken;
  if (config().allow_rollup_hdrs && !config().deny_purge)
    what.rollup = parse_rollup(what.known.rollup).value_or(rollup_scope::none);
  const auto admitted = admit_copy(what);
  if (!admitted) {
    warn_of_lost_copy(from.number, admitted.error());
    return intake_result::taken;
  }
  if (*admitted == intake_result::later) return intake_result::later;
  append(what, reserve(what, what.entry));
  if (what.skipped) {
    await_skips();
  } else {
    copy = last_sequence_;
  }
  return intake_result::taken;
}

// A copied counter adds to the total here what it has grown by since its last copy (5.7).
bool stream::count_sourced(incoming& what, std::string_view origin_name, std::string_view origin_subject) {
  const auto value = parse_counter_body(what.payload);
  if (!value) return false;
  std::string total = "0", known;
  if (const auto staged = totals_.find(staged_.hash(what.subject)); staged != totals_.end()) {
    total = staged->second.total;
    known = staged->second.sources;
  } else if (const auto last = log_.totals(what.subject); last.messages > 0) {
    const auto message = log_.load(last.last);
    auto found = message ? parse_counter_body(message->payload) : std::nullopt;
    if (!found) return false;
    total = std::move(*found);
    known = protocol::header_view(message->headers).get(counter_sources_header).value_or("");
  }
  auto sources =
      known.empty() ? counter_sources() : codec::read_json<counter_sources>(known).value_or(counter_sources());
  std::string& remembered = sources[std::string(origin_name)][std::string(origin_subject)];
  const std::string grown = remembered.empty() ? *value : add_decimal_integers(*value, negated(remembered));
  remembered = *value;
  what.total = add_decimal_integers(total, grown);
  what.body = counter_body(what.total);
  what.payload = what.body;
  what.counted_sources = codec::to_json(sources);
  // The increment stands first, whatever else the message says.
  const std::string rest = protocol::without_header(what.stored_headers, increment_header);
  what.stored_headers.assign(protocol::header_line).append("\r\n");
  what.stored_headers.append(increment_header).append(": ").append(grown).append("\r\n");
  what.stored_headers += rest.empty() ? std::string_view("\r\n") : std::string_view(rest).substr(rest.find("\r\n") + 2);
  return true;
}

// A mirror that has caught up answers direct gets in its origin's name too, as one of a group (8.2).
void stream::subscribe_mirror_direct() {
  if (!config().mirror || !config().mirror_direct || !mirror_direct_interest_.empty()) return;
  mirror_direct_interest_ = subscribe_direct_get_of(config().mirror->name);
}

}  // namespace tern::jetstream
