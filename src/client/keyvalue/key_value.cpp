// Reading and writing the keys of a bucket.
#include <tern/client/key_value.hpp>

#include "client/core/loop_work.hpp"
#include "client/keyvalue/bucket.hpp"

namespace tern::client {
namespace {

using detail::bucket_core;
using shared_bucket = std::shared_ptr<const bucket_core>;

error no_bucket() { return error(errc::closed, "no bucket"); }

result<key_value_entry> entry_of_stored(const bucket_core& bucket, result<stored_message> stored) {
  if (!stored) return std::unexpected(std::move(stored).error().within("bucket " + bucket.bucket));
  auto entry = detail::entry_of(bucket, stored->subject, stored->header_block, stored->payload);
  if (entry) {
    entry->revision = stored->seq;
    entry->created = stored->time;
  }
  return entry;
}

result<key_value_entry> without_markers(result<key_value_entry> entry) {
  if (entry && entry->operation != key_value_operation::put) {
    return fail(errc::not_found, "key '" + entry->key + "' was deleted");
  }
  return entry;
}

publish_options publish_options_of(const key_value_put_options& with) {
  publish_options out;
  if (with.revision()) out.expect_last_subject_sequence(*with.revision());
  if (with.ttl()) out.ttl(*with.ttl());
  return out;
}

operation<std::uint64_t> send(const shared_bucket& bucket, std::string_view key, std::string_view value,
                              const publish_options& with) {
  if (!bucket) return operation<std::uint64_t>::ended(std::unexpected(no_bucket()));
  auto written = detail::encode_key(*bucket, key);
  if (!written) return operation<std::uint64_t>::ended(std::unexpected(std::move(written).error()));
  jetstream js(bucket->js);
  return detail::converted<std::uint64_t>(js.base(), js.publish(bucket->put_prefix + *written, value, with),
                                          [](result<pub_ack> ack) -> result<std::uint64_t> {
                                            if (!ack) return std::unexpected(std::move(ack).error());
                                            return ack->seq;
                                          });
}

operation<std::uint64_t> send_value(const shared_bucket& bucket, std::string_view key, std::string_view value,
                                    const publish_options& with) {
  if (!bucket) return operation<std::uint64_t>::ended(std::unexpected(no_bucket()));
  auto written = detail::encode_value(*bucket, value);
  if (!written) return operation<std::uint64_t>::ended(std::unexpected(std::move(written).error()));
  return send(bucket, key, *written, with);
}

// Markers included.
operation<key_value_entry> last_entry(const shared_bucket& bucket, std::string_view key) {
  using outcome = operation<key_value_entry>;
  if (!bucket) return outcome::ended(std::unexpected(no_bucket()));
  auto written = detail::encode_key(*bucket, key);
  if (!written) return outcome::ended(std::unexpected(std::move(written).error()));
  jetstream js(bucket->js);
  const std::string subject = bucket->prefix + *written;
  return detail::converted<key_value_entry>(
      js.base(),
      bucket->direct ? js.direct_get_last(bucket->stream, subject) : js.get_last_message(bucket->stream, subject),
      [bucket](result<stored_message> stored) { return entry_of_stored(*bucket, std::move(stored)); });
}

// A key that was deleted counts as new: the marker's revision is expected then.
boost::asio::awaitable<result<std::uint64_t>> create_entry(shared_bucket bucket, std::string key, std::string value,
                                                           key_value_put_options with) {
  with.expect_revision(0);
  auto first = co_await send_value(bucket, key, value, publish_options_of(with));
  if (first || first.error().code() != errc::wrong_last_sequence) co_return first;
  auto last = co_await last_entry(bucket, key);
  if (!last || last->operation == key_value_operation::put) {
    co_return fail(errc::already_exists, "key '" + key + "' exists");
  }
  with.expect_revision(last->revision);
  auto second = co_await send_value(bucket, key, value, publish_options_of(with));
  if (!second && second.error().code() == errc::wrong_last_sequence) {
    co_return fail(errc::already_exists, "key '" + key + "' exists");
  }
  co_return second;
}

}  // namespace

const std::string& key_value::bucket() const {
  static const std::string none;
  return core_ ? core_->bucket : none;
}

key_value key_value::with_codec(key_value_codec codec) const {
  if (!core_) return {};
  auto other = std::make_shared<bucket_core>(*core_);
  other->codec = std::move(codec);
  return key_value(std::move(other));
}

operation<key_value_entry> key_value::get(std::string_view key) const {
  if (!core_) return operation<key_value_entry>::ended(std::unexpected(no_bucket()));
  return detail::converted<key_value_entry>(core_->js.base(), last_entry(core_, key), without_markers);
}

operation<key_value_entry> key_value::get(std::string_view key, std::uint64_t revision) const {
  using outcome = operation<key_value_entry>;
  if (!core_) return outcome::ended(std::unexpected(no_bucket()));
  auto written = detail::encode_key(*core_, key);
  if (!written) return outcome::ended(std::unexpected(std::move(written).error()));
  jetstream js(core_->js);
  return detail::converted<key_value_entry>(
      js.base(), core_->direct ? js.direct_get(core_->stream, revision) : js.get_message(core_->stream, revision),
      [bucket = core_, key = std::string(key)](result<stored_message> stored) -> result<key_value_entry> {
        auto entry = without_markers(entry_of_stored(*bucket, std::move(stored)));
        if (entry && entry->key != key) return fail(errc::not_found, "this revision is of key '" + entry->key + "'");
        return entry;
      });
}

operation<std::uint64_t> key_value::put(std::string_view key, std::string_view value,
                                        const key_value_put_options& with) const {
  return send_value(core_, key, value, publish_options_of(with));
}

operation<std::uint64_t> key_value::create(std::string_view key, std::string_view value,
                                           const key_value_put_options& with) const {
  if (!core_) return operation<std::uint64_t>::ended(std::unexpected(no_bucket()));
  return detail::run_on_loop(core_->js.base(), create_entry(core_, std::string(key), std::string(value), with));
}

operation<std::uint64_t> key_value::update(std::string_view key, std::string_view value, std::uint64_t revision,
                                           const key_value_put_options& with) const {
  auto expecting = with;
  expecting.expect_revision(revision);
  return send_value(core_, key, value, publish_options_of(expecting));
}

operation<std::uint64_t> key_value::remove(std::string_view key, const key_value_put_options& with) const {
  auto options = publish_options_of(with);
  options.header("KV-Operation", "DEL");
  return send(core_, key, {}, options);
}

operation<std::uint64_t> key_value::purge(std::string_view key, const key_value_put_options& with) const {
  auto options = publish_options_of(with);
  options.header("KV-Operation", "PURGE").rollup_subject();
  return send(core_, key, {}, options);
}

}  // namespace tern::client
