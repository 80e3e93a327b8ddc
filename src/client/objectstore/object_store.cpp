// Making and finding object stores; reading and watching objects.
#include "client/core/loop_work.hpp"
#include "client/core/watcher_of.hpp"
#include "client/jetstream/core.hpp"
#include "client/keyvalue/bucket.hpp"
#include "client/objectstore/store.hpp"

namespace tern::client {
namespace detail {
namespace {

using shared_store = std::shared_ptr<const object_store_core>;
using piece = std::optional<std::string>;
using info_update = std::optional<object_info>;

error no_store() { return error(errc::closed, "no object store"); }

result<stream_config> stream_config_of(const object_store_config& config) {
  if (auto good = check_bucket_name(config.bucket); !good) return std::unexpected(std::move(good).error());
  const auto names = object_store_named({}, config.bucket);
  stream_config stream;
  stream.name = names->stream;
  stream.description = config.description;
  stream.subjects = {names->chunk_prefix + ">", names->meta_prefix + ">"};
  stream.max_age = config.ttl;
  stream.max_bytes = config.max_bytes;
  stream.storage = config.storage;
  stream.num_replicas = config.replicas;
  stream.placement = config.placement;
  stream.discard = discard_policy::new_messages;
  stream.allow_rollup_hdrs = true;
  stream.allow_direct = true;
  if (config.compression) stream.compression = store_compression::s2;
  stream.metadata = config.metadata;
  return stream;
}

operation<object_store> store_from(const jetstream& js, std::string_view bucket, operation<client::stream_info> asked) {
  return converted<object_store>(
      js.base(), std::move(asked),
      [store = object_store_named(js, bucket)](result<client::stream_info> info) -> result<object_store> {
        if (!info) return std::unexpected(std::move(info).error().within("object store " + store->bucket));
        return object_store(store);
      });
}

std::shared_ptr<ordered_core> ordered_of(const object_store_core& store, consumer_config config,
                                         ordered_events events) {
  auto& js = *store.js.core();
  return std::make_shared<ordered_core>(js.connection().shared_from_this(), js.settings().api_prefix(),
                                        js.api_patience(), store.stream, std::move(config), std::move(events));
}

// Puts pieces into the queue, counts and digests them. On the loop.
class piece_source {
 public:
  piece_source(object_info about, std::shared_ptr<item_queue<piece>> to)
      : about_(std::move(about)), items_(std::move(to)) {}

  void on_created(const consumer_info& info) {
    // Made anew, the consumer has only what is left.
    if (info.num_pending + chunks_ < about_.chunks) fail_with("pieces are missing");
  }
  void on_message(const message& received) {
    if (done_) return;
    ++chunks_;
    size_ += received.payload().size();
    digest_.add(received.payload());
    items_->push(piece(std::string(received.payload())));
    if (chunks_ < about_.chunks) return;
    if (size_ != about_.size || (!about_.digest.empty() && digest_.finish() != about_.digest)) {
      return fail_with("its data is not what was stored");
    }
    done_ = true;
    items_->push(piece());
  }

 private:
  void fail_with(std::string_view what) {
    done_ = true;
    items_->end(error(errc::corrupted, "object '" + about_.meta.name + "': " + std::string(what)));
  }
  object_info about_;
  std::shared_ptr<item_queue<piece>> items_;
  object_digest digest_;
  std::uint64_t chunks_ = 0;
  std::uint64_t size_ = 0;
  bool done_ = false;
};

object_reader read_pieces(const object_store_core& store, const object_info& about) {
  auto items = std::make_shared<item_queue<piece>>(store.js.core()->connection(), "object " + about.meta.name, nullptr);
  if (about.chunks == 0) {
    items->push(piece());
    return object_reader(object_reader::base(nullptr, std::move(items)), about);
  }
  auto source = std::make_shared<piece_source>(about, items);
  consumer_config config;
  config.filter_subject = store.chunk_prefix + about.nuid;
  ordered_events events;
  events.on_created = [source](const consumer_info& info) { source->on_created(info); };
  events.on_message = [source](message&& received, const jetstream_metadata&) { source->on_message(received); };
  events.on_end = [items](error why) { items->end(std::move(why)); };
  events.when_taken = [items](std::move_only_function<void()> action) { items->when_taken(std::move(action)); };
  auto core = ordered_of(store, std::move(config), std::move(events));
  core->open();
  return object_reader(object_reader::base(std::move(core), std::move(items)), about);
}

boost::asio::awaitable<result<object_reader>> open_object(shared_store store, std::string name) {
  auto info = co_await object_info_of(store, name, false);
  if (!info) co_return std::unexpected(std::move(info).error());
  if (info->is_link()) {
    const object_link link = *info->meta.options->link;
    if (!link.name || link.name->empty()) {
      co_return fail(errc::unsupported, "'" + name + "' is a link to the object store " + link.bucket);
    }
    if (link.bucket != store->bucket) store = object_store_named(store->js, link.bucket);
    info = co_await object_info_of(store, *link.name, false);
    if (!info) co_return std::unexpected(std::move(info).error());
    if (info->is_link()) co_return fail(errc::unsupported, "'" + name + "' is a link to a link");
  }
  co_return read_pieces(*store, *info);
}

boost::asio::awaitable<result<object>> read_object(shared_store store, std::string name) {
  auto reader = co_await open_object(std::move(store), std::move(name));
  if (!reader) co_return std::unexpected(std::move(reader).error());
  object whole;
  whole.info = reader->info();
  for (;;) {
    auto next = co_await reader->next();
    if (!next) co_return std::unexpected(std::move(next).error());
    if (!*next) co_return whole;
    whole.data += **next;
  }
}

// Turns stored information into updates, and notices when all that stood there has come. On the loop.
class info_source {
 public:
  info_source(const object_watch_options& with, std::shared_ptr<item_queue<info_update>> to)
      : with_(with), initial_done_(with.updates_only()), items_(std::move(to)) {}

  void on_created(const consumer_info& info) {
    if (std::exchange(created_, true)) return;  // made anew: what stood there was told by the first one
    if (info.num_pending == 0) all_came();
  }
  void on_message(const message& received, const jetstream_metadata& about) {
    auto info = read_object_info(received.payload());
    if (!info) {
      items_->push(std::unexpected(std::move(info).error()));
    } else if (!info->deleted || !with_.ignore_deletes()) {
      info->modified = about.timestamp;
      items_->push(info_update(*std::move(info)));
    }
    if (about.pending == 0) all_came();
  }

 private:
  void all_came() {
    if (!std::exchange(initial_done_, true)) items_->push(info_update());
  }
  const object_watch_options with_;
  bool initial_done_;
  bool created_ = false;
  std::shared_ptr<item_queue<info_update>> items_;
};

object_watcher open_watch(const object_store_core& store, object_watcher::callback callback,
                          const object_watch_options& with) {
  auto items = std::make_shared<item_queue<info_update>>(store.js.core()->connection(), "a watch of " + store.bucket,
                                                         std::move(callback));
  auto source = std::make_shared<info_source>(with, items);
  consumer_config config;
  config.deliver_policy = with.updates_only() ? deliver_policy::new_messages : deliver_policy::last_per_subject;
  config.filter_subject = store.meta_prefix + ">";
  ordered_events events;
  events.on_created = [source](const consumer_info& info) { source->on_created(info); };
  events.on_message = [source](message&& received, const jetstream_metadata& about) {
    source->on_message(received, about);
  };
  events.on_end = [items](error why) { items->end(std::move(why)); };
  events.when_taken = [items](std::move_only_function<void()> action) { items->when_taken(std::move(action)); };
  auto core = ordered_of(store, std::move(config), std::move(events));
  core->open();
  return object_watcher(std::move(core), std::move(items));
}

boost::asio::awaitable<result<std::vector<object_info>>> list_objects(shared_store store) {
  object_watch_options with;
  with.ignore_deletes();
  auto watch = open_watch(*store, nullptr, with);
  std::vector<object_info> all;
  for (;;) {
    auto next = co_await watch.next();
    if (!next) co_return std::unexpected(std::move(next).error());
    if (!*next) co_return all;
    all.push_back(**std::move(next));
  }
}

boost::asio::awaitable<result<void>> seal_store(shared_store store) {
  jetstream js(store->js);
  auto info = co_await js.stream_info(store->stream);
  if (!info) co_return std::unexpected(std::move(info).error());
  auto config = info->config;
  config.sealed = true;
  auto sealed = co_await js.update_stream(config);
  if (!sealed) co_return std::unexpected(std::move(sealed).error());
  co_return result<void>();
}

}  // namespace
}  // namespace detail

using detail::no_store;

template class watcher<std::optional<object_info>>;
template class watcher<std::optional<std::string>>;

const std::string& object_store::bucket() const {
  static const std::string none;
  return core_ ? core_->bucket : none;
}

operation<object_info> object_store::info(std::string_view name, bool deleted_too) const {
  return detail::object_info_of(core_, name, deleted_too);
}

operation<object> object_store::get(std::string_view name) const {
  if (!core_) return operation<object>::ended(std::unexpected(no_store()));
  return detail::run_on_loop(core_->js.base(), detail::read_object(core_, std::string(name)));
}

operation<object_reader> object_store::open(std::string_view name) const {
  if (!core_) return operation<object_reader>::ended(std::unexpected(no_store()));
  return detail::run_on_loop(core_->js.base(), detail::open_object(core_, std::string(name)));
}

operation<std::vector<object_info>> object_store::list() const {
  if (!core_) return operation<std::vector<object_info>>::ended(std::unexpected(no_store()));
  return detail::run_on_loop(core_->js.base(), detail::list_objects(core_));
}

result<object_watcher> object_store::watch(const object_watch_options& with) const { return watch(nullptr, with); }

result<object_watcher> object_store::watch(object_watcher::callback callback, const object_watch_options& with) const {
  if (!core_) return std::unexpected(no_store());
  return detail::open_watch(*core_, std::move(callback), with);
}

operation<void> object_store::seal() const {
  if (!core_) return operation<void>::ended(std::unexpected(no_store()));
  return detail::run_on_loop(core_->js.base(), detail::seal_store(core_));
}

operation<object_store_status> object_store::status() const {
  using outcome = operation<object_store_status>;
  if (!core_) return outcome::ended(std::unexpected(no_store()));
  jetstream js(core_->js);
  return detail::converted<object_store_status>(
      js.base(), js.stream_info(core_->stream),
      [bucket = core_->bucket](result<client::stream_info> info) -> result<object_store_status> {
        if (!info) return std::unexpected(std::move(info).error());
        object_store_status status;
        status.bucket = bucket;
        status.bytes = info->state.bytes;
        status.ttl = info->config.max_age.value_or(nanoseconds());
        status.sealed = info->config.sealed.value_or(false);
        status.compressed = info->config.compression.value_or(store_compression::none) != store_compression::none;
        status.stream = *std::move(info);
        return status;
      });
}

operation<object_store> object_stores::create(const object_store_config& config) const {
  auto stream = detail::stream_config_of(config);
  if (!stream) return operation<object_store>::ended(std::unexpected(std::move(stream).error()));
  return detail::store_from(js_, config.bucket, jetstream(js_).create_stream(*stream));
}

operation<object_store> object_stores::update(const object_store_config& config) const {
  auto stream = detail::stream_config_of(config);
  if (!stream) return operation<object_store>::ended(std::unexpected(std::move(stream).error()));
  return detail::store_from(js_, config.bucket, jetstream(js_).update_stream(*stream));
}

operation<object_store> object_stores::open(std::string_view bucket) const {
  if (auto good = detail::check_bucket_name(bucket); !good) {
    return operation<object_store>::ended(std::unexpected(std::move(good).error()));
  }
  return detail::store_from(js_, bucket,
                            jetstream(js_).stream_info(std::string(detail::object_stream_prefix).append(bucket)));
}

operation<void> object_stores::remove(std::string_view bucket) const {
  if (auto good = detail::check_bucket_name(bucket); !good) {
    return operation<void>::ended(std::unexpected(std::move(good).error()));
  }
  return jetstream(js_).delete_stream(std::string(detail::object_stream_prefix).append(bucket));
}

operation<std::vector<std::string>> object_stores::names() const {
  return detail::converted<std::vector<std::string>>(
      js_.base(), jetstream(js_).stream_names("$O.*.C.>"),
      [](result<std::vector<std::string>> streams) -> result<std::vector<std::string>> {
        if (!streams) return streams;
        std::vector<std::string> buckets;
        for (const auto& name : *streams) {
          if (!name.starts_with(detail::object_stream_prefix)) continue;
          buckets.push_back(name.substr(detail::object_stream_prefix.size()));
        }
        return buckets;
      });
}

}  // namespace tern::client
