#include "jetstream/consumer/consumer_sourcing.hpp"

#include "protocol/headers.hpp"

namespace tern::jetstream {
namespace {

constexpr std::int64_t reader_ack_pending = 1000;

}  // namespace

std::optional<protocol::api_error> check_reader_identity(const stream_context& stream, std::string_view headers) {
  if (headers.empty()) return std::nullopt;
  const auto wanted = protocol::header_view(headers).get_non_empty(stream_identity_header);
  if (!wanted || *wanted == stream.identity()) return std::nullopt;
  return protocol::make_api_error(protocol::jetstream_errc::consumer_stream_identity_mismatch,
                                  {{"msg", stream.identity()}});
}

void adapt_reader(consumer_config& config, retention_policy retention, const consumer_config* before,
                  std::string_view fresh) {
  if (retention == retention_policy::limits) {
    if (!config.name.empty()) config.name.append("-").append(fresh);
    return;
  }
  config.durable_name = config.name;
  config.direct = false;
  config.ack_policy = ack_mode::flow_control;
  config.max_deliver = -1;
  config.max_ack_pending = reader_ack_pending;
  config.ack_wait = nanoseconds(0);
  config.inactive_threshold = nanoseconds(0);
  if (retention == retention_policy::workqueue) {
    config.deliver_policy = delivery_start::all;  // what the reader has already, it passes over
    config.opt_start_seq = 0;
    config.opt_start_time.reset();
  }
  if (before == nullptr || !before->sourcing) return;
  config.deliver_policy = before->deliver_policy;
  config.opt_start_seq = before->opt_start_seq;
  config.opt_start_time = before->opt_start_time;
}

}  // namespace tern::jetstream
