/// Services that can be found and watched: endpoints with statistics, answering `$SRV.PING`, `INFO` and `STATS`, as the
/// `nats service` command and the other NATS clients expect.
///
///     auto started = micro_service::start(nats, micro_service_options("orders", "1.2.0").description("takes orders"));
///     started->add_endpoint("place", [](micro_request&& asked) {
///       if (asked.payload().empty()) asked.fail("400", "an order is missing");
///       else asked.respond(R"({"id":"o-1"})");
///     });
///     auto admin = started->group("admin");
///     admin.add_endpoint("reload", reload);                        // on the subject "admin.reload"
///
/// Instances of a service share requests by their queue group. For typed services with settlement, middleware and tests
/// see tern/service. A service keeps its connection open. Its handle is moved, not copied; it ends with it and no
/// handler runs after its destructor. Thread safety: all functions from any thread. Source: service 16, NATS ADR-32.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tern/client/connection.hpp>

namespace tern::client {

using micro_metadata = std::map<std::string, std::string>;

class micro_service_options {
 public:
  /// The name is letters, digits, `_` and `-`; the version is a semantic one ("1.2.0").
  micro_service_options(std::string_view name, std::string_view version) : name_(name), version_(version) {}
  micro_service_options& description(std::string_view text) {
    description_ = text;
    return *this;
  }
  micro_service_options& metadata(micro_metadata about) {
    metadata_ = std::move(about);
    return *this;
  }
  /// Of endpoints that name none. Default "q"; empty: every instance gets every request.
  micro_service_options& queue_group(std::string_view name) {
    queue_group_ = name;
    return *this;
  }

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  const std::string& description() const { return description_; }
  const micro_metadata& metadata() const { return metadata_; }
  const std::string& queue_group() const { return queue_group_; }

 private:
  std::string name_, version_, description_, queue_group_ = "q";
  micro_metadata metadata_;
};

class micro_endpoint_options {
 public:
  /// Default: the endpoint's name, behind the group's prefix.
  micro_endpoint_options& subject(std::string_view name) {
    subject_ = name;
    return *this;
  }
  micro_endpoint_options& queue_group(std::string_view name) {
    queue_group_ = name;
    return *this;
  }
  micro_endpoint_options& metadata(micro_metadata about) {
    metadata_ = std::move(about);
    return *this;
  }

  const std::string& subject() const { return subject_; }
  const std::optional<std::string>& queue_group() const { return queue_group_; }
  const micro_metadata& metadata() const { return metadata_; }

 private:
  std::string subject_;
  std::optional<std::string> queue_group_;
  micro_metadata metadata_;
};

struct micro_endpoint_stats {
  std::string name;
  std::string subject;
  std::string queue_group;
  std::uint64_t num_requests = 0;
  std::uint64_t num_errors = 0;
  std::string last_error;
  nanoseconds processing_time{};  ///< Of the handlers' own runs.
  nanoseconds average_processing_time{};
};

struct micro_endpoint_info {
  std::string name;
  std::string subject;
  std::string queue_group;
  micro_metadata metadata;
};

namespace detail {
class micro_core;
struct micro_endpoint;
}  // namespace detail

/// One request. It may be moved away and answered later, on any thread.
class micro_request {
 public:
  micro_request(message asked, std::shared_ptr<detail::micro_endpoint> at, connection over);

  std::string_view subject() const { return message_.subject(); }
  std::string_view payload() const { return message_.payload(); }
  std::optional<std::string_view> header(std::string_view name) const { return message_.header(name); }
  const message& base() const { return message_; }

  result<void> respond(std::string_view payload, const headers& with = {});
  /// Answers with `Nats-Service-Error-Code` and `Nats-Service-Error`; counted as an error of the endpoint.
  result<void> fail(std::string_view code, std::string_view description, std::string_view payload = {});

 private:
  message message_;
  std::shared_ptr<detail::micro_endpoint> endpoint_;
  connection connection_;
};

using micro_handler = std::move_only_function<void(micro_request&&)>;  ///< On the loop; must not block.

class micro_group {
 public:
  micro_group(std::shared_ptr<detail::micro_core> core, std::string prefix, std::optional<std::string> queue_group)
      : core_(std::move(core)), prefix_(std::move(prefix)), queue_group_(std::move(queue_group)) {}
  micro_group group(std::string_view prefix, std::optional<std::string> queue_group = {}) const;
  result<void> add_endpoint(std::string_view name, micro_handler handler, const micro_endpoint_options& with = {});

 private:
  std::shared_ptr<detail::micro_core> core_;
  std::string prefix_;
  std::optional<std::string> queue_group_;
};

class micro_service {
 public:
  micro_service() = default;
  explicit micro_service(std::shared_ptr<detail::micro_core> core) : core_(std::move(core)) {}
  ~micro_service();
  micro_service(micro_service&&) noexcept;
  micro_service& operator=(micro_service&&) noexcept;

  /// errc::invalid_options for a bad name or version. It can be found after the next flush().
  static result<micro_service> start(const connection& over, const micro_service_options& with);

  /// errc::invalid_argument for a bad name, errc::invalid_subject, errc::closed.
  result<void> add_endpoint(std::string_view name, micro_handler handler, const micro_endpoint_options& with = {});
  /// Endpoints under a common prefix of their subjects.
  micro_group group(std::string_view prefix, std::optional<std::string> queue_group = {}) const;

  const std::string& id() const;
  std::vector<micro_endpoint_info> endpoints() const;
  std::vector<micro_endpoint_stats> statistics() const;
  time_point started() const;
  void reset_statistics();
  /// Takes no more requests; completes when those that had come were handled.
  operation<void> stop();

 private:
  std::shared_ptr<detail::micro_core> core_;
};

}  // namespace tern::client
