#include "jetstream/stream/direct_get.hpp"

#include "base/numbers.hpp"
#include "protocol/headers.hpp"

#include <tern/codec/json.hpp>

#include <algorithm>

namespace tern::jetstream {
namespace {

constexpr std::size_t multiple_subjects_max = 1024;
constexpr std::uint64_t batch_bytes_default = std::uint64_t{64} << 20;  // what a client connection may have pending
constexpr std::size_t direct_get_tokens_size = std::string_view("$JS.API.DIRECT.GET.").size();

void append_number_header(std::string& block, std::string_view name, std::uint64_t value) {
  block.append(name).append(": ");
  append_decimal(block, value);
  block += "\r\n";
}

// The stored block without its final empty line, or a fresh first line.
void begin_headers(std::string& block, std::string_view stored) {
  if (stored.size() > 2) {
    block.assign(stored.substr(0, stored.size() - 2));
  } else {
    block.assign(protocol::header_line).append("\r\n");
  }
}

// An API level above ours (1.6); an empty or negative value passes.
bool level_is_too_high(std::string_view headers, int level) {
  if (headers.empty()) return false;
  const auto wanted = protocol::header_view(headers).get_non_empty("Nats-Required-Api-Level");
  if (!wanted) return false;
  const auto number = parse_signed_decimal(*wanted);
  return !number || *number > level;
}

bool selects_nothing(const message_get_request& what) {
  return what.seq == 0 && what.last_by_subj.empty() && what.next_by_subj.empty() && what.multi_last.empty() &&
         !what.start_time;
}

bool conflicts(const message_get_request& what) {
  const bool last = !what.last_by_subj.empty();
  return (what.seq > 0 && last) || (last && !what.next_by_subj.empty()) || (last && what.start_time) ||
         (what.start_time && what.seq != 0) || (last && what.batch != 0) || (what.up_to_seq > 0 && what.up_to_time) ||
         (!what.multi_last.empty() && (last || !what.next_by_subj.empty()));
}

}  // namespace

bool is_single_selection(const message_get_request& what) {
  const bool last = !what.last_by_subj.empty();
  if (what.batch != 0 || what.max_bytes != 0) return false;
  if (what.seq == 0 && !last && what.next_by_subj.empty() && !what.start_time) return false;
  return !(what.seq > 0 && last) && !(what.seq > 0 && what.start_time) && !(what.start_time && last) &&
         !(last && !what.next_by_subj.empty());
}

std::optional<storage::sequence> select_message(storage::stream_log& log, const message_get_request& what) {
  if (!what.last_by_subj.empty()) return log.last_match(what.last_by_subj, log.state().last);
  storage::sequence from = what.seq;
  if (what.start_time) {
    const auto found = log.first_at_or_after(*what.start_time);
    if (!found) return std::nullopt;
    from = *found;
  }
  if (!what.next_by_subj.empty()) return log.first_match(what.next_by_subj, from);
  return from;
}

struct direct_reader::progress {
  std::uint64_t pending = 0;  // after the message at hand
  storage::sequence last_sent = 0;
  std::uint64_t bytes = 0;
};

void direct_reader::answer(std::uint64_t tag, const routing::message& request) {
  if (request.reply.empty()) return;
  if (level_is_too_high(request.headers, stream_.surroundings().settings.api_level))
    return send_status(request.reply, "412 Required Api Level");
  if (tag == by_subject) return answer_by_subject(request);
  answer_by_body(request);
}

void direct_reader::answer_by_subject(const routing::message& request) {
  message_get_request body;
  if (!request.payload.empty()) {
    if (!codec::read_json_into(request.payload, body, codec::peer_lenient))
      return send_status(request.reply, "408 Malformed Request");
    if (!selects_nothing(body) || body.batch != 0) return send_status(request.reply, "408 Bad Request");
  }
  message_get_request what;
  // Behind the stream's name, which is the origin's where a mirror answers for it.
  const std::size_t end_of_name = request.subject.find('.', direct_get_tokens_size);
  what.last_by_subj = request.subject.substr(std::min(end_of_name, request.subject.size() - 1) + 1);
  what.no_hdr = body.no_hdr;
  answer_one(request.reply, what);
}

void direct_reader::answer_by_body(const routing::message& request) {
  if (request.payload.empty()) return send_status(request.reply, "408 Empty Request");
  message_get_request what;
  if (!codec::read_json_into(request.payload, what, codec::peer_lenient))
    return send_status(request.reply, "408 Malformed Request");
  if (selects_nothing(what)) return send_status(request.reply, "408 Empty Request");
  if (conflicts(what)) return send_status(request.reply, "408 Bad Request");
  if (!what.multi_last.empty()) return answer_multiple(request.reply, what);
  if (what.batch != 0) return answer_batch(request.reply, what);
  answer_one(request.reply, what);
}

void direct_reader::answer_one(std::string_view reply, const message_get_request& what) {
  const auto found = select_message(stream_.log(), what);
  if (!found || !send(reply, *found, what.no_hdr, nullptr)) send_status(reply, "404 Message Not Found");
}

void direct_reader::answer_batch(std::string_view reply, const message_get_request& what) {
  storage::stream_log& log = stream_.log();
  storage::sequence from = std::max<storage::sequence>(what.seq, 1);
  if (what.start_time) {
    const auto found = log.first_at_or_after(*what.start_time);
    if (!found) return send_status(reply, "404 Message Not Found");
    from = *found;
  }
  const auto cursor = log.open_cursor(what.next_by_subj.empty() ? storage::subject_filters{}
                                                                : storage::subject_filters{what.next_by_subj});
  progress batch{.pending = cursor->count_from(from)};
  const std::uint64_t bytes_max = batch_bytes(what);
  for (std::int64_t sent = 0; sent < what.batch && batch.bytes < bytes_max;) {
    const auto found = cursor->next(from);
    if (!found) {
      if (sent == 0) return send_status(reply, "404 Message Not Found");
      break;
    }
    from = *found + 1;
    if (batch.pending > 0) --batch.pending;
    if (send(reply, *found, what.no_hdr, &batch)) ++sent;
  }
  send_end(reply, batch, 0);
}

std::vector<storage::sequence> direct_reader::last_of_each(const message_get_request& what, storage::sequence up_to,
                                                           bool& too_many) {
  storage::stream_log& log = stream_.log();
  std::vector<storage::sequence> found;
  for (const auto& pattern : what.multi_last) {
    log.for_each_subject(pattern, 0, [&](std::string_view subject, const storage::subject_totals& totals) {
      storage::sequence last = totals.last;
      if (last > up_to) last = totals.first > up_to ? 0 : log.last_match(subject, up_to).value_or(0);
      if (last != 0) found.push_back(last);
      // Patterns may overlap, so twice the limit may still be within it.
      too_many = found.size() > multiple_subjects_max * what.multi_last.size();
      return !too_many;
    });
    if (too_many) return found;
  }
  std::ranges::sort(found);
  const auto rest = std::ranges::unique(found);
  found.erase(rest.begin(), rest.end());
  too_many = found.size() > multiple_subjects_max;
  return found;
}

void direct_reader::answer_multiple(std::string_view reply, const message_get_request& what) {
  storage::stream_log& log = stream_.log();
  storage::sequence up_to = what.up_to_seq;
  if (what.up_to_time) {
    const auto beyond = log.first_at_or_after(*what.up_to_time);
    if (beyond && *beyond <= log.state().first) return send_status(reply, "404 No Results");
    up_to = beyond ? *beyond - 1 : log.state().last;
  }
  if (up_to == 0) up_to = log.state().last;
  bool too_many = false;
  const auto found = last_of_each(what, up_to, too_many);
  if (too_many) return send_status(reply, "413 Too Many Results");
  if (found.empty()) return send_status(reply, "404 No Results");
  progress batch{.pending = found.size()};
  const std::uint64_t bytes_max = batch_bytes(what);
  std::int64_t sent = 0;
  for (const storage::sequence number : found) {
    if (batch.bytes >= bytes_max || (what.batch > 0 && sent >= what.batch)) break;
    --batch.pending;
    if (number < what.seq) continue;
    if (send(reply, number, false, &batch)) ++sent;
  }
  send_end(reply, batch, up_to);
}

bool direct_reader::send(std::string_view reply, storage::sequence number, bool without_headers, progress* batch) {
  const auto found = stream_.log().load(number);
  if (!found) return false;
  headers_.clear();
  if (!without_headers) {
    begin_headers(headers_, found->headers);
    headers_.append("Nats-Stream: ").append(stream_.config().name);
    headers_.append("\r\nNats-Subject: ").append(found->subject).append("\r\n");
    append_number_header(headers_, "Nats-Sequence", found->number);
    headers_.append("Nats-Time-Stamp: ");
    append_rfc3339(headers_, found->timestamp);
    headers_ += "\r\n";
    if (batch != nullptr) {
      append_number_header(headers_, "Nats-Num-Pending", batch->pending);
      append_number_header(headers_, "Nats-Last-Sequence", batch->last_sent);
    }
    headers_ += "\r\n";
  }
  if (batch != nullptr) {
    batch->bytes += found->subject.size() + found->headers.size() + found->payload.size();
    batch->last_sent = number;
  }
  const stream_context::delivery_scope scope(stream_);
  stream_.account().publish({.subject = reply, .headers = headers_, .payload = found->payload});
  return true;
}

void direct_reader::send_status(std::string_view reply, std::string_view status) {
  headers_.assign(protocol::header_line).append(" ").append(status).append("\r\n\r\n");
  const stream_context::delivery_scope scope(stream_);
  stream_.account().publish({.subject = reply, .headers = headers_});
}

void direct_reader::send_end(std::string_view reply, const progress& batch, storage::sequence up_to) {
  headers_.assign(protocol::header_line).append(" 204 EOB\r\n");
  append_number_header(headers_, "Nats-Num-Pending", batch.pending);
  append_number_header(headers_, "Nats-Last-Sequence", batch.last_sent);
  if (up_to != 0) append_number_header(headers_, "Nats-UpTo-Sequence", up_to);
  headers_ += "\r\n";
  const stream_context::delivery_scope scope(stream_);
  stream_.account().publish({.subject = reply, .headers = headers_});
}

std::uint64_t direct_reader::batch_bytes(const message_get_request& what) const {
  return what.max_bytes > 0 ? static_cast<std::uint64_t>(what.max_bytes) : batch_bytes_default;
}

}  // namespace tern::jetstream
