/// Key-value buckets: the last values of keys, with revisions, kept in a stream.
///
///     key_value_buckets buckets(js);
///     key_value_config profiles;
///     profiles.bucket = "profiles";
///     profiles.history = 5;
///     auto opened = buckets.create(profiles).get();
///     auto revision = opened->put("ada", R"({"plan":"pro"})").get();
///     auto entry = opened->get("ada").get();                                    // errc::not_found
///     auto taken = opened->update("ada", R"({"plan":"free"})", *revision).get();   // errc::wrong_last_sequence
///
/// Bucket B is the stream `KV_B` on the subjects `$KV.B.>`, by the same conventions as all NATS clients, so they share
/// buckets. Bucket names are letters, digits, `_` and `-`; keys also have `/ = .` and neither begin nor end with a dot
/// nor have two in a row: errc::invalid_argument otherwise. Handles may be copied and keep the connection open. Thread
/// safety: all functions from any thread; of one watcher, one next() at a time. Source: jetstream 21.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
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

/// What a bucket is made of. An absent optional leaves the server's default.
struct key_value_config {
  std::string bucket;
  std::optional<std::string> description;
  std::int64_t history = 1;                    ///< Values kept per key, 1 to 64.
  std::optional<nanoseconds> ttl;              ///< Values go after that time. Default: never.
  std::optional<std::int64_t> max_bytes;       ///< Default: no limit. A full bucket refuses: errc::api_error 10077.
  std::optional<std::int32_t> max_value_size;  ///< Default: no limit.
  std::optional<storage_type> storage;         ///< Default file.
  std::optional<int> replicas;                 ///< Default 1.
  bool compression = false;
  /// Time to live per key (put with ttl()), and how long the marker of one that went stays. At least 1 s.
  std::optional<nanoseconds> limit_marker_ttl;
  std::optional<client::placement> placement;
  std::optional<client::republish> republish;
  /// A bucket that is a copy of another, by bucket or stream name; it is read here and written there.
  std::optional<stream_source> mirror;
  /// Other buckets whose values come in too.
  std::vector<stream_source> sources;
  std::map<std::string, std::string> metadata;
};

enum class key_value_operation { put, deleted, purged };

struct key_value_entry {
  std::string key;
  std::string value;  ///< Empty for markers and with meta_only().
  std::uint64_t revision = 0;
  time_point created{};
  std::uint64_t delta = 0;  ///< Entries behind it in the watch that brought it.
  key_value_operation operation = key_value_operation::put;
};

struct key_value_status {
  std::string bucket;
  std::uint64_t values = 0;  ///< History and markers included.
  std::uint64_t bytes = 0;
  std::int64_t history = 1;
  nanoseconds ttl{};  ///< 0: never
  std::optional<nanoseconds> limit_marker_ttl;
  bool compressed = false;
  client::stream_info stream;
};

/// How keys and values are written: both directions of each; an absent function changes nothing. Key functions get one
/// key; a pattern's `*` and `>` tokens are left as they are.
struct key_value_codec {
  std::function<result<std::string>(std::string_view)> encode_key, decode_key;
  std::function<result<std::string>(std::string_view)> encode_value, decode_value;
};
/// Each token of a key as base64 (URL alphabet, no padding), so that keys may hold any bytes but dots.
key_value_codec base64_keys();

class key_value_put_options {
 public:
  /// Only if this is the key's last revision; 0: only if there is none.
  key_value_put_options& expect_revision(std::uint64_t revision) {
    revision_ = revision;
    return *this;
  }
  /// The value goes after that time (whole seconds). The bucket needs limit_marker_ttl.
  key_value_put_options& ttl(nanoseconds life) {
    ttl_ = life;
    return *this;
  }
  std::optional<std::uint64_t> revision() const { return revision_; }
  std::optional<nanoseconds> ttl() const { return ttl_; }

 private:
  std::optional<std::uint64_t> revision_;
  std::optional<nanoseconds> ttl_;
};

class key_value_watch_options {
 public:
  /// All kept values of each key, oldest first. Default: the last one.
  key_value_watch_options& history(bool yes = true) {
    history_ = yes;
    return *this;
  }
  /// Nothing that stands there already.
  key_value_watch_options& updates_only(bool yes = true) {
    updates_only_ = yes;
    return *this;
  }
  key_value_watch_options& ignore_deletes(bool yes = true) {
    ignore_deletes_ = yes;
    return *this;
  }
  /// Keys and revisions without values.
  key_value_watch_options& meta_only(bool yes = true) {
    meta_only_ = yes;
    return *this;
  }
  /// Everything from this revision on.
  key_value_watch_options& resume_from(std::uint64_t revision) {
    resume_from_ = revision;
    return *this;
  }
  bool history() const { return history_; }
  bool updates_only() const { return updates_only_; }
  bool ignore_deletes() const { return ignore_deletes_; }
  bool meta_only() const { return meta_only_; }
  std::optional<std::uint64_t> resume_from() const { return resume_from_; }

 private:
  bool history_ = false, updates_only_ = false, ignore_deletes_ = false, meta_only_ = false;
  std::optional<std::uint64_t> resume_from_;
};

namespace detail {
struct bucket_core;
}

/// Changes as they come. An item without an entry says once that all values that stood there have come (not with
/// updates_only()).
using key_value_watcher = watcher<std::optional<key_value_entry>>;

class key_value {
 public:
  key_value() = default;
  explicit key_value(std::shared_ptr<const detail::bucket_core> core) : core_(std::move(core)) {}

  const std::string& bucket() const;
  /// The same bucket through other eyes.
  key_value with_codec(key_value_codec codec) const;

  /// errc::not_found, also for a key that was deleted.
  operation<key_value_entry> get(std::string_view key) const;
  operation<key_value_entry> get(std::string_view key, std::uint64_t revision) const;

  /// Each answers the new revision.
  operation<std::uint64_t> put(std::string_view key, std::string_view value,
                               const key_value_put_options& with = {}) const;
  /// errc::already_exists unless the key is new or was deleted.
  operation<std::uint64_t> create(std::string_view key, std::string_view value,
                                  const key_value_put_options& with = {}) const;
  /// errc::wrong_last_sequence unless `revision` is the key's last.
  operation<std::uint64_t> update(std::string_view key, std::string_view value, std::uint64_t revision,
                                  const key_value_put_options& with = {}) const;
  /// Leaves a marker; earlier values stay in the history.
  operation<std::uint64_t> remove(std::string_view key, const key_value_put_options& with = {}) const;
  /// Leaves a marker only. ttl(): of the marker.
  operation<std::uint64_t> purge(std::string_view key, const key_value_put_options& with = {}) const;
  /// Removes the markers of deleted keys, with what is before them; younger ones than that stay.
  operation<void> purge_deletes(nanoseconds keep_younger_than = std::chrono::minutes(30)) const;

  /// Keys that have a value. Patterns may have `*` and `>`; none: all.
  operation<std::vector<std::string>> keys(const std::vector<std::string>& patterns = {}) const;
  /// What is kept of a key, oldest first, markers included. errc::not_found.
  operation<std::vector<key_value_entry>> history(std::string_view key) const;

  result<key_value_watcher> watch(const std::vector<std::string>& patterns,
                                  const key_value_watch_options& with = {}) const;
  result<key_value_watcher> watch(const std::vector<std::string>& patterns, key_value_watcher::callback callback,
                                  const key_value_watch_options& with = {}) const;

  operation<key_value_status> status() const;

 private:
  std::shared_ptr<const detail::bucket_core> core_;
};

class key_value_buckets {
 public:
  explicit key_value_buckets(const jetstream& js) : js_(js) {}

  /// errc::already_exists when one of that name differs.
  operation<key_value> create(const key_value_config& config) const;
  operation<key_value> update(const key_value_config& config) const;  ///< errc::not_found
  operation<key_value> create_or_update(const key_value_config& config) const;
  operation<key_value> open(std::string_view bucket) const;  ///< errc::not_found
  operation<void> remove(std::string_view bucket) const;
  operation<std::vector<std::string>> names() const;
  operation<std::vector<key_value_status>> list() const;

  template <class T>
    requires unsafe_in_co_await<T>
  operation<key_value> create(T&& name_the_value_first) const = delete;
  template <class T>
    requires unsafe_in_co_await<T>
  operation<key_value> update(T&& name_the_value_first) const = delete;
  template <class T>
    requires unsafe_in_co_await<T>
  operation<key_value> create_or_update(T&& name_the_value_first) const = delete;

 private:
  jetstream js_;
};

}  // namespace tern::client
