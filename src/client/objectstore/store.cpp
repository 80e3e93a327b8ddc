#include "client/objectstore/store.hpp"

#include <openssl/evp.h>

#include "client/core/loop_work.hpp"
#include "client/jetstream/core.hpp"

namespace tern::client::detail {
namespace {

constexpr std::string_view digest_prefix = "SHA-256=";

// As it stands in the stream: the members of object_meta and object_info in one object.
struct object_record {
  std::string name;
  std::optional<std::string> description;
  std::map<std::string, std::vector<std::string>> headers;
  std::map<std::string, std::string> metadata;
  std::optional<object_options> options;
  std::string bucket;
  std::string nuid;
  std::uint64_t size = 0;
  std::optional<time_point> mtime;
  std::uint64_t chunks = 0;
  std::optional<std::string> digest;
  std::optional<bool> deleted;
  static constexpr codec::omit_when json_omit = codec::omit_when::empty;
  static constexpr codec::member_option json_members[] = {
      {"name", {}}, {"bucket", {}}, {"nuid", {}}, {"size", {}}, {"chunks", {}}};
};

std::string to_url_base64(std::string_view bytes) {
  std::string text = codec::to_base64(bytes);
  for (char& letter : text) {
    if (letter == '+') letter = '-';
    if (letter == '/') letter = '_';
  }
  return text;
}

}  // namespace

std::string meta_subject(const object_store_core& store, std::string_view name) {
  return store.meta_prefix + to_url_base64(name);
}

std::string write_object_info(const object_info& info) {
  object_record record;
  record.name = info.meta.name;
  record.description = info.meta.description;
  record.headers = info.meta.headers;
  record.metadata = info.meta.metadata;
  record.options = info.meta.options;
  record.bucket = info.bucket;
  record.nuid = info.nuid;
  record.size = info.size;
  record.mtime = info.modified;
  record.chunks = info.chunks;
  if (!info.digest.empty()) record.digest = info.digest;
  if (info.deleted) record.deleted = true;
  return codec::to_json(record);
}

result<object_info> read_object_info(std::string_view json) {
  auto record = codec::read_json<object_record>(json, codec::peer_lenient);
  if (!record) return std::unexpected(std::move(record).error().within("information about an object"));
  object_info info;
  info.meta.name = std::move(record->name);
  info.meta.description = std::move(record->description);
  info.meta.headers = std::move(record->headers);
  info.meta.metadata = std::move(record->metadata);
  info.meta.options = std::move(record->options);
  info.bucket = std::move(record->bucket);
  info.nuid = std::move(record->nuid);
  info.size = record->size;
  info.modified = record->mtime.value_or(time_point());
  info.chunks = record->chunks;
  info.digest = std::move(record->digest).value_or("");
  info.deleted = record->deleted.value_or(false);
  return info;
}

std::shared_ptr<object_store_core> object_store_named(const jetstream& js, std::string_view bucket) {
  auto store = std::make_shared<object_store_core>();
  store->js = js;
  store->bucket = bucket;
  store->stream = std::string(object_stream_prefix).append(bucket);
  store->chunk_prefix = "$O." + store->bucket + ".C.";
  store->meta_prefix = "$O." + store->bucket + ".M.";
  return store;
}

struct object_digest::context {
  EVP_MD_CTX* hash = EVP_MD_CTX_new();
};

object_digest::object_digest() : context_(std::make_unique<context>()) {
  EVP_DigestInit_ex(context_->hash, EVP_sha256(), nullptr);
}
object_digest::~object_digest() { EVP_MD_CTX_free(context_->hash); }

void object_digest::add(std::string_view bytes) { EVP_DigestUpdate(context_->hash, bytes.data(), bytes.size()); }

std::string object_digest::finish() {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_DigestFinal_ex(context_->hash, bytes, &size);
  return std::string(digest_prefix) + to_url_base64({reinterpret_cast<const char*>(bytes), size});
}

operation<object_info> object_info_of(const std::shared_ptr<const object_store_core>& store, std::string_view name,
                                      bool deleted_too) {
  using outcome = operation<object_info>;
  if (!store) return outcome::ended(fail(errc::closed, "no object store"));
  if (name.empty()) return outcome::ended(fail(errc::invalid_argument, "an object has a name"));
  jetstream js(store->js);
  return converted<object_info>(
      js.base(), js.direct_get_last(store->stream, meta_subject(*store, name)),
      [deleted_too, name = std::string(name)](result<stored_message> stored) -> result<object_info> {
        if (!stored) return std::unexpected(std::move(stored).error().within("object '" + name + "'"));
        auto info = read_object_info(stored->payload);
        if (!info) return info;
        info->modified = stored->time;
        if (info->deleted && !deleted_too) return fail(errc::not_found, "object '" + name + "' was deleted");
        return info;
      });
}

boost::asio::awaitable<result<object_info>> publish_object_info(std::shared_ptr<const object_store_core> store,
                                                                object_info info) {
  jetstream js(store->js);
  info.bucket = store->bucket;
  info.modified = js.core()->connection().loop().now();
  publish_options rollup;
  rollup.rollup_subject();
  auto ack = co_await js.publish(meta_subject(*store, info.meta.name), write_object_info(info), rollup);
  if (!ack) co_return std::unexpected(std::move(ack).error());
  co_return info;
}

boost::asio::awaitable<result<void>> purge_chunks(std::shared_ptr<const object_store_core> store, std::string nuid) {
  jetstream js(store->js);
  purge_options what;
  what.filter = store->chunk_prefix + nuid;
  auto purged = co_await js.purge_stream(store->stream, what);
  if (!purged) co_return std::unexpected(std::move(purged).error());
  co_return result<void>();
}

}  // namespace tern::client::detail
