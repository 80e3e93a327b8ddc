// The block `jetstream` and what stands in it.
#include "server/config/option_table.hpp"

namespace tern::server {
namespace {

using enum option_status;
using enum option_reload;

// clang-format off
constexpr option_info rows[] = {
    {"jetstream", "enabled enable", "boolean", "true in a map", honoured, applied, "a reload may switch it on"},
    {"jetstream", "store_dir storedir store", "path", "`nats` below the temporary directory", honoured, fixed, "streams live in `<store_dir>/jetstream`; the one at the top of the file counts where it is not given"},
    {"jetstream", "max_memory_store max_mem_store max_mem", "bytes", "three quarters of the machine's memory", honoured, applied, "of all memory streams; a reload may raise it"},
    {"jetstream", "max_file_store max_file", "bytes", "three quarters of what is free on the disk at the start", honoured, applied, "of all file streams; a reload may raise it"},
    {"jetstream", "domain", "text", "none", honoured, fixed, "names this JetStream apart from those behind leaf nodes"},
    {"jetstream", "strict", "boolean", "true", honoured, fixed, "refuses unknown fields in API requests"},
    {"jetstream", "sync_interval sync", "duration or `always`", "always", honoured, fixed, "when an acknowledged message is on the disk: before its acknowledgement (`always`), or at most so long after it"},
    {"jetstream", "max_buffered_msgs", "number", "100,000", honoured, fixed, "publishes of a stream that wait for the disk"},
    {"jetstream", "max_buffered_size", "bytes", "128 MiB", honoured, fixed, "their bytes"},
    {"jetstream", "limits", "map", "none", honoured, applied, "block `jetstream.limits`"},
    {"jetstream", "key ek encryption_key", "text", "none", refused, none, "the store does not encrypt; put it on an encrypted volume"},
    {"jetstream", "prev_key prev_ek prev_encryption_key", "text", "none", refused, none, "the store does not encrypt; put it on an encrypted volume"},
    {"jetstream", "cipher", "text", "", refused, none, "the store does not encrypt; put it on an encrypted volume"},
    {"jetstream", "tpm", "map", "none", refused, none, "the store does not encrypt; put it on an encrypted volume"},
    {"jetstream", "unique_tag", "text", "", without_effect, none, "it places replicas in a cluster"},
    {"jetstream", "extension_hint", "text", "", without_effect, none, "it is about clusters behind leaf nodes"},
    {"jetstream", "request_queue_limit", "number", "", without_effect, none, "API requests run in the turn in which they come"},
    {"jetstream", "info_queue_limit", "number", "", without_effect, none, "API requests run in the turn in which they come"},
    {"jetstream", "max_outstanding_catchup", "number", "", without_effect, none, "it is about replicas in a cluster"},
    {"jetstream", "meta_compact", "number", "", without_effect, none, "it is about the log of a cluster"},
    {"jetstream", "meta_compact_size", "number", "", without_effect, none, "it is about the log of a cluster"},
    {"jetstream", "meta_compact_sync", "boolean", "", without_effect, none, "it is about the log of a cluster"},
    {"jetstream.limits", "max_ack_pending", "number", "none", honoured, applied, "of a consumer"},
    {"jetstream.limits", "max_request_batch", "number", "none", honoured, applied, "of a pull request"},
    {"jetstream.limits", "duplicate_window", "duration", "none", honoured, applied, "longest of a stream"},
    {"jetstream.limits", "max_ha_assets", "number", "", without_effect, none, "it is about replicas in a cluster"},
    {"jetstream.limits", "default_max_consumers", "number", "1000", without_effect, none, "consumers of a stream are limited by its own `max_consumers`"},
    {"jetstream.limits", "batch", "map", "none", honoured, fixed, "block `jetstream.limits.batch`"},
    {"jetstream.limits.batch", "max_inflight_per_stream", "number", "50", honoured, fixed, "atomic batches of a stream that are open"},
    {"jetstream.limits.batch", "max_inflight_total", "number", "1000", honoured, fixed, "those of all streams"},
    {"jetstream.limits.batch", "max_msgs", "number", "1000", honoured, fixed, "messages of an atomic batch"},
    {"jetstream.limits.batch", "timeout", "duration", "10s", honoured, fixed, "an idle batch is dropped after it"},
};
// clang-format on

}  // namespace

std::span<const option_info> jetstream_option_rows() { return rows; }

}  // namespace tern::server
