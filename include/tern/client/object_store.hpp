/// Object stores: values of any size, in pieces, with a name and a digest, kept in a stream.
///
///     object_stores stores(js);
///     object_store_config images;
///     images.bucket = "images";
///     auto opened = stores.create(images).get();
///     object_meta logo;
///     logo.name = "logo.png";
///     auto stored = opened->put(logo, bytes).get();
///     auto read = opened->get("logo.png").get();                  // read->data; errc::not_found, errc::corrupted
///
///     auto upload = opened->begin_put(logo);                      // piece by piece, without holding it all
///     while (more) co_await upload.write(piece);
///     auto info = co_await upload.finish();
///
/// Bucket B is the stream `OBJ_B` on `$O.B.C.>` (pieces) and `$O.B.M.>` (information), by the same conventions as all
/// NATS clients. Handles may be copied and keep the connection open. Thread safety: all functions from any thread; of
/// one upload or reader, one operation at a time. Source: jetstream 21.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tern/client/coroutine_guard.hpp>
#include <tern/client/jetstream.hpp>
#include <tern/client/watcher.hpp>

namespace tern::client {

struct object_store_config {
  std::string bucket;
  std::optional<std::string> description;
  std::optional<nanoseconds> ttl;         ///< Objects go after that time. Default: never.
  std::optional<std::int64_t> max_bytes;  ///< Default: no limit.
  std::optional<storage_type> storage;    ///< Default file.
  std::optional<int> replicas;            ///< Default 1.
  std::optional<client::placement> placement;
  bool compression = false;
  std::map<std::string, std::string> metadata;
};

/// Another object, or with an empty name a whole bucket.
struct object_link {
  std::string bucket;
  std::optional<std::string> name;
};

struct object_options {
  std::optional<object_link> link;
  std::optional<std::uint64_t> max_chunk_size;  ///< Bytes per piece. Default 128 KiB.
};

/// What its owner says about an object.
struct object_meta {
  std::string name;
  std::optional<std::string> description;
  std::map<std::string, std::vector<std::string>> headers;
  std::map<std::string, std::string> metadata;
  std::optional<object_options> options;
};

struct object_info {
  object_meta meta;
  std::string bucket;
  std::string nuid;  ///< names its pieces
  std::uint64_t size = 0;
  time_point modified{};
  std::uint64_t chunks = 0;
  std::string digest;  ///< "SHA-256=" and base64 for URLs
  bool deleted = false;
  bool is_link() const { return meta.options && meta.options->link; }
};

struct object {
  object_info info;
  std::string data;
};

struct object_store_status {
  std::string bucket;
  std::uint64_t bytes = 0;
  nanoseconds ttl{};
  bool sealed = false;
  bool compressed = false;
  client::stream_info stream;
};

class object_watch_options {
 public:
  /// Nothing that stands there already.
  object_watch_options& updates_only(bool yes = true) {
    updates_only_ = yes;
    return *this;
  }
  object_watch_options& ignore_deletes(bool yes = true) {
    ignore_deletes_ = yes;
    return *this;
  }
  bool updates_only() const { return updates_only_; }
  bool ignore_deletes() const { return ignore_deletes_; }

 private:
  bool updates_only_ = false, ignore_deletes_ = false;
};

namespace detail {
struct object_store_core;
struct object_upload_core;
}  // namespace detail

/// Information about objects as it changes. An item without one says once that all that stood there have come (not with
/// updates_only()).
using object_watcher = watcher<std::optional<object_info>>;

/// An object while it is written. One that is thrown away without finish() leaves nothing behind that a reader sees;
/// abort() also removes its pieces.
class object_upload {
 public:
  object_upload() = default;
  explicit object_upload(std::shared_ptr<detail::object_upload_core> core) : core_(std::move(core)) {}

  /// Completes when there is room for more: some pieces may still wait for their acknowledgement.
  operation<void> write(std::string bytes);
  /// The object is there, in place of an earlier one of its name.
  operation<object_info> finish();
  operation<void> abort();

 private:
  std::shared_ptr<detail::object_upload_core> core_;
};

/// An object while it is read: pieces in order; an item without one is the end, and the digest was right. A wrong one
/// is errc::corrupted.
class object_reader : public watcher<std::optional<std::string>> {
 public:
  using base = watcher<std::optional<std::string>>;
  object_reader() = default;
  object_reader(base pieces, object_info about) : base(std::move(pieces)), info_(std::move(about)) {}
  const object_info& info() const { return info_; }

 private:
  object_info info_;
};

class object_store {
 public:
  object_store() = default;
  explicit object_store(std::shared_ptr<const detail::object_store_core> core) : core_(std::move(core)) {}

  const std::string& bucket() const;

  /// errc::invalid_argument for an empty name or a link.
  operation<object_info> put(const object_meta& about, std::string data) const;
  operation<object_info> put(std::string_view name, std::string data) const;
  object_upload begin_put(const object_meta& about) const;
  /// Follows a link to an object. errc::not_found, errc::corrupted, errc::unsupported for a link to a bucket.
  operation<object> get(std::string_view name) const;
  operation<object_reader> open(std::string_view name) const;
  /// Without its data. A deleted one is errc::not_found unless asked for.
  operation<object_info> info(std::string_view name, bool deleted_too = false) const;
  /// Name, description, headers and metadata. errc::already_exists when the new name is taken.
  operation<object_info> update_meta(std::string_view name, const object_meta& about) const;
  operation<void> remove(std::string_view name) const;
  /// errc::invalid_argument for a link to a link or where an object of that name is.
  operation<object_info> add_link(std::string_view name, const object_info& to) const;
  operation<object_info> add_bucket_link(std::string_view name, const object_store& to) const;

  operation<std::vector<object_info>> list() const;
  result<object_watcher> watch(const object_watch_options& with = {}) const;
  result<object_watcher> watch(object_watcher::callback callback, const object_watch_options& with = {}) const;
  /// Nothing changes any more, for good.
  operation<void> seal() const;
  operation<object_store_status> status() const;

  template <class T>
    requires unsafe_in_co_await<T>
  operation<object_info> put(T&& name_the_value_first, std::string data) const = delete;
  template <class T>
    requires unsafe_in_co_await<T>
  operation<object_info> update_meta(std::string_view, T&& name_the_value_first) const = delete;

 private:
  std::shared_ptr<const detail::object_store_core> core_;
};

class object_stores {
 public:
  explicit object_stores(const jetstream& js) : js_(js) {}

  operation<object_store> create(const object_store_config& config) const;  ///< errc::already_exists
  operation<object_store> update(const object_store_config& config) const;  ///< errc::not_found
  operation<object_store> open(std::string_view bucket) const;              ///< errc::not_found
  operation<void> remove(std::string_view bucket) const;
  operation<std::vector<std::string>> names() const;

  template <class T>
    requires unsafe_in_co_await<T>
  operation<object_store> create(T&& name_the_value_first) const = delete;
  template <class T>
    requires unsafe_in_co_await<T>
  operation<object_store> update(T&& name_the_value_first) const = delete;

 private:
  jetstream js_;
};

}  // namespace tern::client
