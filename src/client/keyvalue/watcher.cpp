// Watching keys, and what is a watch that ends: keys, history, purge_deletes.
#include "client/core/loop_work.hpp"
#include "client/core/watcher_of.hpp"
#include "client/jetstream/core.hpp"
#include "client/jetstream/ordered_core.hpp"
#include "client/keyvalue/bucket.hpp"

namespace tern::client {
namespace detail {
namespace {

using update = std::optional<key_value_entry>;
using shared_bucket = std::shared_ptr<const bucket_core>;

result<consumer_config> config_of(const bucket_core& bucket, const std::vector<std::string>& patterns,
                                  const key_value_watch_options& with) {
  consumer_config config;
  config.deliver_policy = with.updates_only() ? deliver_policy::new_messages
                          : with.history()    ? deliver_policy::all
                                              : deliver_policy::last_per_subject;
  if (with.resume_from()) {
    config.deliver_policy = deliver_policy::by_start_sequence;
    config.opt_start_seq = with.resume_from();
  }
  if (with.meta_only()) config.headers_only = true;
  for (const auto& pattern : patterns) {
    auto written = encode_pattern(bucket, pattern);
    if (!written) return std::unexpected(std::move(written).error());
    config.filter_subjects.push_back(bucket.prefix + *written);
  }
  if (patterns.empty()) config.filter_subjects.push_back(bucket.prefix + ">");
  if (config.filter_subjects.size() == 1) {
    config.filter_subject = config.filter_subjects.front();
    config.filter_subjects.clear();
  }
  return config;
}

// Turns deliveries into updates and notices when all that stood there has come. On the loop.
class update_source {
 public:
  using receiver = std::move_only_function<void(result<update>)>;
  update_source(shared_bucket bucket, const key_value_watch_options& with, receiver to)
      : bucket_(std::move(bucket)),
        ignore_deletes_(with.ignore_deletes()),
        initial_done_(with.updates_only()),
        to_(std::move(to)) {}

  void on_created(const consumer_info& info) {
    if (created_) return;  // made anew: what stood there was told by the first one
    created_ = true;
    initial_ = info.num_pending;
    if (received_ >= initial_) all_came();
  }
  void on_message(const message& received, const jetstream_metadata& about) {
    auto entry = entry_of(*bucket_, received.subject(), received.header_block(), received.payload());
    ++received_;
    const bool last = about.pending == 0 || (created_ && received_ >= initial_);
    if (!entry) {
      to_(std::unexpected(std::move(entry).error()));
    } else if (!ignore_deletes_ || entry->operation == key_value_operation::put) {
      entry->revision = about.stream_sequence;
      entry->created = about.timestamp;
      entry->delta = about.pending;
      to_(update(*std::move(entry)));
    }
    if (last) all_came();
  }
  receiver& to() { return to_; }

 private:
  void all_came() {
    if (std::exchange(initial_done_, true)) return;
    to_(update());
  }

  shared_bucket bucket_;
  bool ignore_deletes_;
  bool initial_done_;
  bool created_ = false;
  std::uint64_t initial_ = 0;
  std::uint64_t received_ = 0;
  receiver to_;
};

struct opened_watch {
  std::shared_ptr<ordered_core> core;
  std::shared_ptr<item_queue<update>> items;
};

result<opened_watch> open_watch(const shared_bucket& bucket, const std::vector<std::string>& patterns,
                                key_value_watcher::callback callback, const key_value_watch_options& with) {
  if (!bucket) return fail(errc::closed, "no bucket");
  auto config = config_of(*bucket, patterns, with);
  if (!config) return std::unexpected(std::move(config).error());
  auto& js = *bucket->js.core();
  auto items =
      std::make_shared<item_queue<update>>(js.connection(), "a watch of " + bucket->bucket, std::move(callback));
  auto source =
      std::make_shared<update_source>(bucket, with, [items](result<update> what) { items->push(std::move(what)); });
  ordered_events events;
  events.on_created = [source](const consumer_info& info) { source->on_created(info); };
  events.on_message = [source](message&& received, const jetstream_metadata& about) {
    source->on_message(received, about);
  };
  events.on_end = [items](error why) { items->end(std::move(why)); };
  events.when_taken = [items](std::move_only_function<void()> action) { items->when_taken(std::move(action)); };
  auto core = std::make_shared<ordered_core>(js.connection().shared_from_this(), js.settings().api_prefix(),
                                             js.api_patience(), bucket->stream, *std::move(config), std::move(events));
  core->open();
  return opened_watch{.core = std::move(core), .items = std::move(items)};
}

// What stands there, then the watch ends.
boost::asio::awaitable<result<std::vector<key_value_entry>>> entries_now(shared_bucket bucket,
                                                                         std::vector<std::string> patterns,
                                                                         key_value_watch_options with) {
  auto opened = open_watch(bucket, patterns, nullptr, with);
  if (!opened) co_return std::unexpected(std::move(opened).error());
  key_value_watcher watcher(opened->core, opened->items);
  std::vector<key_value_entry> all;
  for (;;) {
    auto next = co_await watcher.next();
    if (!next) co_return std::unexpected(std::move(next).error());
    if (!*next) co_return all;
    all.push_back(**std::move(next));
  }
}

boost::asio::awaitable<result<std::vector<std::string>>> keys_now(shared_bucket bucket,
                                                                  std::vector<std::string> patterns) {
  key_value_watch_options with;
  with.ignore_deletes().meta_only();
  auto entries = co_await entries_now(bucket, std::move(patterns), with);
  if (!entries) co_return std::unexpected(std::move(entries).error());
  std::vector<std::string> keys;
  for (auto& entry : *entries) keys.push_back(std::move(entry.key));
  co_return keys;
}

boost::asio::awaitable<result<std::vector<key_value_entry>>> history_now(shared_bucket bucket, std::string key) {
  std::vector<std::string> patterns(1, key);
  key_value_watch_options with;
  with.history();
  auto entries = co_await entries_now(bucket, std::move(patterns), with);
  if (entries && entries->empty()) co_return fail(errc::not_found, "key '" + key + "' has no history");
  co_return entries;
}

boost::asio::awaitable<result<void>> purge_markers(shared_bucket bucket, nanoseconds keep_younger_than) {
  key_value_watch_options with;
  with.meta_only();
  auto entries = co_await entries_now(bucket, std::vector<std::string>(), with);
  if (!entries) co_return std::unexpected(std::move(entries).error());
  jetstream js(bucket->js);
  const auto limit = js.core()->connection().loop().time().now() - keep_younger_than;
  for (const auto& entry : *entries) {
    if (entry.operation == key_value_operation::put) continue;
    auto key = encode_key(*bucket, entry.key);
    if (!key) co_return std::unexpected(std::move(key).error());
    purge_options what;
    what.filter = bucket->prefix + *key;
    if (keep_younger_than > nanoseconds::zero() && entry.created > limit) what.keep = 1;
    auto purged = co_await js.purge_stream(bucket->stream, what);
    if (!purged) co_return std::unexpected(std::move(purged).error());
  }
  co_return result<void>();
}

}  // namespace
}  // namespace detail

template class watcher<std::optional<key_value_entry>>;

result<key_value_watcher> key_value::watch(const std::vector<std::string>& patterns,
                                           const key_value_watch_options& with) const {
  return watch(patterns, nullptr, with);
}

result<key_value_watcher> key_value::watch(const std::vector<std::string>& patterns,
                                           key_value_watcher::callback callback,
                                           const key_value_watch_options& with) const {
  auto opened = detail::open_watch(core_, patterns, std::move(callback), with);
  if (!opened) return std::unexpected(std::move(opened).error());
  return key_value_watcher(std::move(opened->core), std::move(opened->items));
}

operation<std::vector<std::string>> key_value::keys(const std::vector<std::string>& patterns) const {
  if (!core_) return operation<std::vector<std::string>>::ended(fail(errc::closed, "no bucket"));
  return detail::run_on_loop(core_->js.base(), detail::keys_now(core_, patterns));
}

operation<std::vector<key_value_entry>> key_value::history(std::string_view key) const {
  if (!core_) return operation<std::vector<key_value_entry>>::ended(fail(errc::closed, "no bucket"));
  return detail::run_on_loop(core_->js.base(), detail::history_now(core_, std::string(key)));
}

operation<void> key_value::purge_deletes(nanoseconds keep_younger_than) const {
  if (!core_) return operation<void>::ended(fail(errc::closed, "no bucket"));
  return detail::run_on_loop(core_->js.base(), detail::purge_markers(core_, keep_younger_than));
}

}  // namespace tern::client
