#include <tern/base/error.hpp>

namespace tern {
namespace {

class category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "tern"; }
  std::string message(int code) const override {
    switch (static_cast<errc>(code)) {
      case errc::invalid_argument:
        return "invalid argument";
      case errc::invalid_options:
        return "invalid options";
      case errc::invalid_subject:
        return "invalid subject";
      case errc::invalid_header:
        return "invalid header";
      case errc::connect_failed:
        return "connect failed";
      case errc::subscribe_failed:
        return "subscribe failed";
      case errc::not_started:
        return "not started";
      case errc::closed:
        return "closed";
      case errc::unsupported:
        return "unsupported";
      case errc::settle_failed:
        return "settle failed";
      case errc::payload_too_large:
        return "payload too large";
      case errc::no_responders:
        return "no responders";
      case errc::timeout:
        return "timeout";
      case errc::no_stream_for_subject:
        return "no stream for subject";
      case errc::wrong_last_sequence:
        return "wrong last sequence";
      case errc::decode_error:
        return "decode error";
      case errc::encode_error:
        return "encode error";
      case errc::extract_failed:
        return "extract failed";
      case errc::handler_failed:
        return "handler failed";
      case errc::missing_heartbeat:
        return "missing heartbeat";
      case errc::consumer_deleted:
        return "consumer deleted";
      case errc::pull_failed:
        return "pull failed";
      case errc::shutdown_timeout:
        return "shutdown timeout";
      case errc::not_quiescent:
        return "not quiescent";
      case errc::api_error:
        return "JetStream API error";
      case errc::disconnected:
        return "disconnected";
      case errc::not_found:
        return "not found";
      case errc::already_exists:
        return "already exists";
      case errc::config_error:
        return "configuration error";
      case errc::io_error:
        return "input/output error";
      case errc::disk_full:
        return "disk full";
      case errc::corrupted:
        return "corrupted data";
      case errc::protocol_error:
        return "protocol error";
      case errc::limit_exceeded:
        return "limit exceeded";
      case errc::cancelled:
        return "cancelled";
    }
    return "unknown error";
  }
};

}  // namespace

const std::error_category& tern_category() noexcept {
  static const category instance;
  return instance;
}

std::string error::message() const {
  std::string text = context_.empty() ? tern_category().message(static_cast<int>(code_)) : context_;
  if (!hint_.empty()) text += " (" + hint_ + ")";
  return text;
}

error&& error::within(std::string_view prefix) && {
  context_ = context_.empty() ? std::string(prefix) : std::string(prefix) + ": " + context_;
  return std::move(*this);
}

}  // namespace tern
