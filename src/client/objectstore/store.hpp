// What the handles of an object store share; names, records and digests (jetstream 21).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <tern/client/object_store.hpp>

namespace tern::client::detail {

inline constexpr std::string_view object_stream_prefix = "OBJ_";
inline constexpr std::size_t default_chunk_bytes = 128 * 1024;

struct object_store_core {
  jetstream js;
  std::string bucket;
  std::string stream;
  std::string chunk_prefix;  // "$O.B.C."
  std::string meta_prefix;   // "$O.B.M."
};

std::string meta_subject(const object_store_core& store, std::string_view name);
std::string write_object_info(const object_info& info);
result<object_info> read_object_info(std::string_view json);
std::shared_ptr<object_store_core> object_store_named(const jetstream& js, std::string_view bucket);

// SHA-256 over pieces.
class object_digest {
 public:
  object_digest();
  ~object_digest();
  object_digest(const object_digest&) = delete;
  object_digest& operator=(const object_digest&) = delete;
  void add(std::string_view bytes);
  std::string finish();  // as object_info::digest has it; once

 private:
  struct context;
  std::unique_ptr<context> context_;
};

// Pieces of handles of these, shared by the files of this chamber.
operation<object_info> object_info_of(const std::shared_ptr<const object_store_core>& store, std::string_view name,
                                      bool deleted_too);
boost::asio::awaitable<result<object_info>> publish_object_info(std::shared_ptr<const object_store_core> store,
                                                                object_info info);
boost::asio::awaitable<result<void>> purge_chunks(std::shared_ptr<const object_store_core> store, std::string nuid);

}  // namespace tern::client::detail
