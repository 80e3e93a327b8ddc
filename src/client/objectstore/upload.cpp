// Writing objects, and what changes the information about them.
#include <deque>

#include "base/nuid.hpp"
#include "client/core/loop_work.hpp"
#include "client/jetstream/core.hpp"
#include "client/objectstore/store.hpp"
#include "runtime/random.hpp"

namespace tern::client {
namespace detail {
namespace {

using shared_store = std::shared_ptr<const object_store_core>;

// Pieces that may wait for their acknowledgement at once.
constexpr std::size_t pieces_in_flight = 16;

std::string fresh_nuid(const jetstream& js) {
  nuid_source names(js.core()->connection().loop().randomness().next());
  return names.next();
}

}  // namespace

// Used on the loop, by one coroutine at a time.
struct object_upload_core {
  explicit object_upload_core(shared_store to) : store(std::move(to)) {}
  shared_store store;
  object_info info;
  object_digest digest;
  std::string rest;  // less than a piece
  std::deque<operation<pub_ack>> in_flight;
  std::size_t chunk_bytes = default_chunk_bytes;
  bool over = false;
  std::optional<error> problem;
};

namespace {

using shared_upload = std::shared_ptr<object_upload_core>;

// What cannot be stored is refused by the first operation.
shared_upload new_upload(const shared_store& store, const object_meta& about) {
  auto upload = std::make_shared<object_upload_core>(store);
  upload->info.meta = about;
  if (about.name.empty()) upload->problem = error(errc::invalid_argument, "an object has a name");
  if (about.options && about.options->link) upload->problem = error(errc::invalid_argument, "a link has no data");
  if (!about.options) upload->info.meta.options.emplace();
  auto& chunk = upload->info.meta.options->max_chunk_size;
  if (!chunk || *chunk == 0) chunk = default_chunk_bytes;
  upload->chunk_bytes = *chunk;
  return upload;
}

boost::asio::awaitable<result<void>> await_pieces(shared_upload upload, std::size_t but) {
  while (upload->in_flight.size() > but) {
    auto oldest = std::move(upload->in_flight.front());
    upload->in_flight.pop_front();
    auto ack = co_await std::move(oldest);
    if (ack) continue;
    upload->problem = std::move(ack).error();
    co_return std::unexpected(*upload->problem);
  }
  co_return result<void>();
}

void send_piece(object_upload_core& upload, std::string_view piece) {
  if (upload.info.nuid.empty()) upload.info.nuid = fresh_nuid(upload.store->js);
  upload.digest.add(piece);
  upload.info.size += piece.size();
  ++upload.info.chunks;
  jetstream js(upload.store->js);
  upload.in_flight.push_back(js.publish(upload.store->chunk_prefix + upload.info.nuid, piece));
}

boost::asio::awaitable<result<void>> write_bytes(shared_upload upload, std::string bytes) {
  if (upload->over) co_return fail(errc::closed, "the upload has ended");
  if (upload->problem) co_return std::unexpected(*upload->problem);
  std::string_view left = bytes;
  while (upload->rest.size() + left.size() >= upload->chunk_bytes) {
    const auto taken = upload->chunk_bytes - upload->rest.size();
    if (upload->rest.empty()) {
      send_piece(*upload, left.substr(0, taken));
    } else {
      upload->rest.append(left.substr(0, taken));
      send_piece(*upload, upload->rest);
      upload->rest.clear();
    }
    left.remove_prefix(taken);
    auto room = co_await await_pieces(upload, pieces_in_flight);
    if (!room) co_return room;
  }
  upload->rest.append(left);
  co_return result<void>();
}

boost::asio::awaitable<result<object_info>> finish_upload(shared_upload upload) {
  if (std::exchange(upload->over, true)) co_return fail(errc::closed, "the upload has ended");
  if (upload->problem && upload->info.chunks == 0) co_return std::unexpected(*upload->problem);
  if (!upload->rest.empty()) {
    send_piece(*upload, upload->rest);
    upload->rest.clear();
  }
  if (upload->info.nuid.empty()) upload->info.nuid = fresh_nuid(upload->store->js);
  auto stored = co_await await_pieces(upload, 0);
  if (!stored || upload->problem) {
    (void)co_await purge_chunks(upload->store, upload->info.nuid);
    co_return std::unexpected(*upload->problem);
  }
  auto before = co_await object_info_of(upload->store, upload->info.meta.name, true);
  if (!before && before.error().code() != errc::not_found) {
    (void)co_await purge_chunks(upload->store, upload->info.nuid);
    co_return std::unexpected(std::move(before).error());
  }
  upload->info.digest = upload->digest.finish();
  auto info = co_await publish_object_info(upload->store, upload->info);
  if (!info) {
    (void)co_await purge_chunks(upload->store, upload->info.nuid);
    co_return info;
  }
  // The earlier object's pieces; should that fail, they only take room.
  if (before && !before->deleted && !before->nuid.empty()) (void)co_await purge_chunks(upload->store, before->nuid);
  co_return info;
}

boost::asio::awaitable<result<void>> abort_upload(shared_upload upload) {
  if (std::exchange(upload->over, true)) co_return fail(errc::closed, "the upload has ended");
  (void)co_await await_pieces(upload, 0);
  if (upload->info.nuid.empty()) co_return result<void>();
  auto purged = co_await purge_chunks(upload->store, upload->info.nuid);
  co_return purged;
}

boost::asio::awaitable<result<object_info>> put_whole(shared_upload upload, std::string data) {
  auto written = co_await write_bytes(upload, std::move(data));
  if (!written) upload->problem = std::move(written).error();
  auto info = co_await finish_upload(upload);
  co_return info;
}

boost::asio::awaitable<result<void>> remove_object(shared_store store, std::string name) {
  auto info = co_await object_info_of(store, name, false);
  if (!info) co_return std::unexpected(std::move(info).error());
  object_info gone = *info;
  gone.deleted = true;
  gone.size = 0;
  gone.chunks = 0;
  gone.digest.clear();
  auto told = co_await publish_object_info(store, gone);
  if (!told) co_return std::unexpected(std::move(told).error());
  auto purged = co_await purge_chunks(store, info->nuid);
  co_return purged;
}

boost::asio::awaitable<result<object_info>> change_meta(shared_store store, std::string name, object_meta about) {
  auto info = co_await object_info_of(store, name, false);
  if (!info) co_return info;
  const bool renamed = about.name != name;
  if (renamed) {
    auto taken = co_await object_info_of(store, about.name, false);
    if (taken) co_return fail(errc::already_exists, "object '" + about.name + "' exists");
    if (taken.error().code() != errc::not_found) co_return taken;
  }
  about.options = info->meta.options;  // how it is stored does not change
  info->meta = about;
  auto told = co_await publish_object_info(store, *info);
  if (!told || !renamed) co_return told;
  jetstream js(store->js);
  purge_options what;
  what.filter = meta_subject(*store, name);
  auto purged = co_await js.purge_stream(store->stream, what);
  if (!purged) co_return std::unexpected(std::move(purged).error());
  co_return told;
}

boost::asio::awaitable<result<object_info>> put_link(shared_store store, object_info link) {
  auto there = co_await object_info_of(store, link.meta.name, false);
  if (there && !there->is_link()) {
    co_return fail(errc::invalid_argument, "object '" + link.meta.name + "' exists and is no link");
  }
  if (!there && there.error().code() != errc::not_found) co_return there;
  link.nuid = fresh_nuid(store->js);
  auto told = co_await publish_object_info(store, link);
  co_return told;
}

error no_store() { return error(errc::closed, "no object store"); }

}  // namespace
}  // namespace detail

using detail::no_store;

operation<void> object_upload::write(std::string bytes) {
  if (!core_) return operation<void>::ended(std::unexpected(no_store()));
  return detail::run_on_loop(core_->store->js.base(), detail::write_bytes(core_, std::move(bytes)));
}

operation<object_info> object_upload::finish() {
  if (!core_) return operation<object_info>::ended(std::unexpected(no_store()));
  return detail::run_on_loop(core_->store->js.base(), detail::finish_upload(core_));
}

operation<void> object_upload::abort() {
  if (!core_) return operation<void>::ended(std::unexpected(no_store()));
  return detail::run_on_loop(core_->store->js.base(), detail::abort_upload(core_));
}

object_upload object_store::begin_put(const object_meta& about) const {
  return core_ ? object_upload(detail::new_upload(core_, about)) : object_upload();
}

operation<object_info> object_store::put(const object_meta& about, std::string data) const {
  if (!core_) return operation<object_info>::ended(std::unexpected(no_store()));
  auto upload = detail::new_upload(core_, about);
  if (upload->problem) return operation<object_info>::ended(std::unexpected(*upload->problem));
  return detail::run_on_loop(core_->js.base(), detail::put_whole(std::move(upload), std::move(data)));
}

operation<object_info> object_store::put(std::string_view name, std::string data) const {
  object_meta about;
  about.name = name;
  return put(about, std::move(data));
}

operation<object_info> object_store::update_meta(std::string_view name, const object_meta& about) const {
  if (!core_) return operation<object_info>::ended(std::unexpected(no_store()));
  if (about.name.empty()) return operation<object_info>::ended(fail(errc::invalid_argument, "an object has a name"));
  return detail::run_on_loop(core_->js.base(), detail::change_meta(core_, std::string(name), about));
}

operation<void> object_store::remove(std::string_view name) const {
  if (!core_) return operation<void>::ended(std::unexpected(no_store()));
  return detail::run_on_loop(core_->js.base(), detail::remove_object(core_, std::string(name)));
}

operation<object_info> object_store::add_link(std::string_view name, const object_info& to) const {
  using outcome = operation<object_info>;
  if (!core_) return outcome::ended(std::unexpected(no_store()));
  if (name.empty()) return outcome::ended(fail(errc::invalid_argument, "an object has a name"));
  if (to.deleted) return outcome::ended(fail(errc::not_found, "object '" + to.meta.name + "' was deleted"));
  if (to.is_link()) return outcome::ended(fail(errc::invalid_argument, "a link to a link"));
  object_info link;
  link.meta.name = name;
  link.meta.options.emplace();
  link.meta.options->link.emplace();
  link.meta.options->link->bucket = to.bucket;
  link.meta.options->link->name = to.meta.name;
  return detail::run_on_loop(core_->js.base(), detail::put_link(core_, std::move(link)));
}

operation<object_info> object_store::add_bucket_link(std::string_view name, const object_store& to) const {
  using outcome = operation<object_info>;
  if (!core_ || !to.core_) return outcome::ended(std::unexpected(no_store()));
  if (name.empty()) return outcome::ended(fail(errc::invalid_argument, "an object has a name"));
  object_info link;
  link.meta.name = name;
  link.meta.options.emplace();
  link.meta.options->link.emplace();
  link.meta.options->link->bucket = to.bucket();
  return detail::run_on_loop(core_->js.base(), detail::put_link(core_, std::move(link)));
}

}  // namespace tern::client
