#include <tern/client/atomic_batch.hpp>

namespace tern::client {
namespace {

constexpr std::uint64_t messages_max = 1000;  // of the server, jetstream 5.10

}  // namespace

atomic_batch::atomic_batch(const jetstream& js) : js_(js) {
  const auto inbox = js.base() ? connection(js.base()).new_inbox() : std::string();
  // Unique as an inbox is, without what all inboxes share, and short enough (64 bytes).
  const auto dot = inbox.find('.');
  id_ = inbox.substr(dot == std::string::npos ? 0 : dot + 1);
  for (char& letter : id_) letter = letter == '.' ? '-' : letter;
  if (id_.size() > 64) id_.erase(0, id_.size() - 64);
}

publish_options atomic_batch::numbered(const publish_options& with) const {
  publish_options out(with);
  out.header("Nats-Batch-Id", id_).header("Nats-Batch-Sequence", std::to_string(count_ + 1));
  return out;
}

result<void> atomic_batch::add(std::string_view subject, std::string_view payload, const publish_options& with) {
  if (committed_) return fail(errc::closed, "the batch was committed");
  if (count_ + 1 >= messages_max) return fail(errc::limit_exceeded, "a batch has at most 1000 messages");
  const auto options = numbered(with);
  auto sent = connection(js_.base()).publish(subject, payload, options.headers());
  if (sent) {
    ++count_;
    last_subject_ = subject;
  }
  return sent;
}

operation<pub_ack> atomic_batch::commit(std::string_view subject, std::string_view payload,
                                        const publish_options& with) {
  if (committed_) return operation<pub_ack>::ended(fail(errc::closed, "the batch was committed"));
  auto options = numbered(with);
  options.header("Nats-Batch-Commit", "1");
  committed_ = true;
  ++count_;
  return js_.publish(subject, payload, options);
}

operation<pub_ack> atomic_batch::commit() {
  if (count_ == 0) return operation<pub_ack>::ended(fail(errc::invalid_argument, "an empty batch"));
  if (committed_) return operation<pub_ack>::ended(fail(errc::closed, "the batch was committed"));
  auto options = numbered({});
  options.header("Nats-Batch-Commit", "eob");
  committed_ = true;
  return js_.publish(last_subject_, {}, options);
}

}  // namespace tern::client
