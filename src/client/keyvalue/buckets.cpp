// Making, finding and removing buckets.
#include <algorithm>

#include "client/core/loop_work.hpp"
#include "client/jetstream/core.hpp"
#include "client/keyvalue/bucket.hpp"

namespace tern::client {
namespace {

using detail::bucket_core;

constexpr std::int64_t history_max = 64;
constexpr nanoseconds window_max = std::chrono::minutes(2);

std::string with_stream_prefix(std::string_view name) {
  std::string out(name.starts_with(detail::stream_prefix) ? std::string_view() : detail::stream_prefix);
  return out.append(name);
}

std::string subject_prefix_of(std::string_view stream) {
  return "$KV." + std::string(stream.substr(detail::stream_prefix.size())) + ".";
}

result<stream_config> stream_config_of(const key_value_config& config) {
  if (auto good = detail::check_bucket_name(config.bucket); !good) return std::unexpected(std::move(good).error());
  if (config.history < 1 || config.history > history_max) {
    return fail(errc::invalid_argument, "a bucket keeps 1 to 64 values per key");
  }
  stream_config stream;
  stream.name = with_stream_prefix(config.bucket);
  stream.description = config.description;
  stream.max_msgs_per_subject = config.history;
  stream.max_bytes = config.max_bytes;
  stream.max_age = config.ttl;
  stream.max_msg_size = config.max_value_size;
  stream.storage = config.storage;
  stream.num_replicas = config.replicas;
  stream.discard = discard_policy::new_messages;
  stream.duplicate_window =
      config.ttl && *config.ttl > nanoseconds::zero() ? std::min(*config.ttl, window_max) : window_max;
  stream.allow_rollup_hdrs = true;
  stream.deny_delete = true;
  stream.allow_direct = true;
  if (config.compression) stream.compression = store_compression::s2;
  if (config.limit_marker_ttl) {
    stream.allow_msg_ttl = true;
    stream.subject_delete_marker_ttl = config.limit_marker_ttl;
  }
  stream.placement = config.placement;
  stream.republish = config.republish;
  stream.metadata = config.metadata;
  if (config.mirror) {
    stream.mirror = config.mirror;
    stream.mirror->name = with_stream_prefix(config.mirror->name);
    stream.mirror_direct = true;
    stream.duplicate_window.reset();
    return stream;
  }
  const std::string own = subject_prefix_of(stream.name) + ">";
  stream.subjects = {own};
  for (const auto& origin : config.sources) {
    stream_source source = origin;
    source.name = with_stream_prefix(origin.name);
    if (source.subject_transforms.empty() && !source.filter_subject) {
      source.subject_transforms.push_back({.src = subject_prefix_of(source.name) + ">", .dest = own});
    }
    stream.sources.push_back(std::move(source));
  }
  return stream;
}

result<key_value> bucket_of(const jetstream& js, const client::stream_info& info) {
  if (!info.config.name.starts_with(detail::stream_prefix)) {
    return fail(errc::not_found, "stream " + info.config.name + " is no bucket");
  }
  auto core = std::make_shared<bucket_core>();
  core->js = js;
  core->stream = info.config.name;
  core->bucket = info.config.name.substr(detail::stream_prefix.size());
  core->prefix = subject_prefix_of(core->stream);
  core->put_prefix = core->prefix;
  core->direct = info.config.allow_direct.value_or(false) || info.config.mirror_direct.value_or(false);
  if (const auto& origin = info.config.mirror; origin && origin->name.starts_with(detail::stream_prefix)) {
    core->prefix = core->put_prefix = subject_prefix_of(origin->name);
    if (origin->external && !origin->external->api.empty())
      core->put_prefix = origin->external->api + "." + core->prefix;
  } else if (js.core() != nullptr) {
    // Through the API of another domain, values are published through it too.
    const std::string& api = js.core()->settings().api_prefix();
    if (api != "$JS.API") core->put_prefix = api + "." + core->prefix;
  }
  return key_value(std::move(core));
}

key_value_status status_of(client::stream_info info) {
  key_value_status status;
  status.bucket = info.config.name.substr(detail::stream_prefix.size());
  status.values = info.state.messages;
  status.bytes = info.state.bytes;
  status.history = info.config.max_msgs_per_subject.value_or(1);
  status.ttl = info.config.max_age.value_or(nanoseconds());
  status.limit_marker_ttl = info.config.subject_delete_marker_ttl;
  status.compressed = info.config.compression.value_or(store_compression::none) != store_compression::none;
  status.stream = std::move(info);
  return status;
}

operation<key_value> bucket_from(const jetstream& js, operation<client::stream_info> asked) {
  return detail::converted<key_value>(js.base(), std::move(asked),
                                      [js](result<client::stream_info> info) -> result<key_value> {
                                        if (!info) return std::unexpected(std::move(info).error().within("bucket"));
                                        return bucket_of(js, *info);
                                      });
}

boost::asio::awaitable<result<key_value>> put_bucket(jetstream js, stream_config config) {
  auto updated = co_await js.update_stream(config);
  if (updated) co_return bucket_of(js, *updated);
  if (updated.error().code() != errc::not_found) co_return std::unexpected(std::move(updated).error());
  auto created = co_await js.create_stream(config);
  if (!created) co_return std::unexpected(std::move(created).error());
  co_return bucket_of(js, *created);
}

}  // namespace

operation<key_value> key_value_buckets::create(const key_value_config& config) const {
  auto stream = stream_config_of(config);
  if (!stream) return operation<key_value>::ended(std::unexpected(std::move(stream).error()));
  return bucket_from(js_, jetstream(js_).create_stream(*stream));
}

operation<key_value> key_value_buckets::update(const key_value_config& config) const {
  auto stream = stream_config_of(config);
  if (!stream) return operation<key_value>::ended(std::unexpected(std::move(stream).error()));
  return bucket_from(js_, jetstream(js_).update_stream(*stream));
}

operation<key_value> key_value_buckets::create_or_update(const key_value_config& config) const {
  auto stream = stream_config_of(config);
  if (!stream) return operation<key_value>::ended(std::unexpected(std::move(stream).error()));
  if (!js_.base()) return operation<key_value>::ended(fail(errc::closed, "no connection"));
  return detail::run_on_loop(js_.base(), put_bucket(js_, *std::move(stream)));
}

operation<key_value> key_value_buckets::open(std::string_view bucket) const {
  if (auto good = detail::check_bucket_name(bucket); !good) {
    return operation<key_value>::ended(std::unexpected(std::move(good).error()));
  }
  return bucket_from(js_, jetstream(js_).stream_info(std::string(detail::stream_prefix).append(bucket)));
}

operation<void> key_value_buckets::remove(std::string_view bucket) const {
  if (auto good = detail::check_bucket_name(bucket); !good) {
    return operation<void>::ended(std::unexpected(std::move(good).error()));
  }
  return jetstream(js_).delete_stream(std::string(detail::stream_prefix).append(bucket));
}

operation<std::vector<std::string>> key_value_buckets::names() const {
  return detail::converted<std::vector<std::string>>(
      js_.base(), jetstream(js_).stream_names("$KV.*.>"),
      [](result<std::vector<std::string>> streams) -> result<std::vector<std::string>> {
        if (!streams) return streams;
        std::vector<std::string> buckets;
        for (const auto& name : *streams) {
          if (name.starts_with(detail::stream_prefix)) buckets.push_back(name.substr(detail::stream_prefix.size()));
        }
        return buckets;
      });
}

operation<std::vector<key_value_status>> key_value_buckets::list() const {
  return detail::converted<std::vector<key_value_status>>(
      js_.base(), jetstream(js_).streams("$KV.*.>"),
      [](result<std::vector<client::stream_info>> streams) -> result<std::vector<key_value_status>> {
        if (!streams) return std::unexpected(std::move(streams).error());
        std::vector<key_value_status> buckets;
        for (auto& info : *streams) {
          if (info.config.name.starts_with(detail::stream_prefix)) buckets.push_back(status_of(std::move(info)));
        }
        return buckets;
      });
}

operation<key_value_status> key_value::status() const {
  if (!core_) return operation<key_value_status>::ended(fail(errc::closed, "no bucket"));
  jetstream js(core_->js);
  return detail::converted<key_value_status>(js.base(), js.stream_info(core_->stream),
                                             [](result<client::stream_info> info) -> result<key_value_status> {
                                               if (!info) return std::unexpected(std::move(info).error());
                                               return status_of(*std::move(info));
                                             });
}

}  // namespace tern::client
