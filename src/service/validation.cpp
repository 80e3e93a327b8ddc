#include "service/validation.hpp"

#include <set>

namespace tern::service::detail {
namespace {

bool has_wildcard(std::string_view subject) {
  return subject == "*" || subject == ">" || subject.starts_with("*.") ||
         subject.find(".*") != std::string_view::npos || subject.ends_with(".>");
}

std::string check_name(std::string_view what, std::string_view name) {
  if (name.empty()) return std::string(what) + " must be non-empty";
  if (name.find_first_of(" \t\r\n.*>/\\") != std::string_view::npos) {
    return std::string(what) + " \"" + std::string(name) + "\" must not contain blanks or any of . * > / \\";
  }
  return {};
}

std::string check_jetstream(const jetstream_consumer& from, const registration_options& options) {
  if (auto wrong = check_name("stream name", from.stream()); !wrong.empty()) return wrong;
  if (!from.durable().empty()) {
    if (auto wrong = check_name("durable name", from.durable()); !wrong.empty()) return wrong;
  }
  if (from.binds() && from.durable().empty()) return "bind() needs the name of a durable";
  if (from.binds() && from.updates()) return "bind() never changes a consumer, update() does: choose one";
  if (from.ack_wait().count() <= 0) return "ack_wait must be above zero";
  if (from.max_ack_pending() < 1) return "max_ack_pending must be at least 1";
  if (from.pull_expires() < std::chrono::milliseconds(1)) return "pull_expires must be at least 1 ms";
  if (options.prefetch == std::size_t{0}) return "prefetch must be at least 1";
  return {};
}

std::string check_options(const registration& what) {
  const registration_options& options = what.options;
  if (options.workers == 0) return "workers must be at least 1";
  if (options.batch == std::size_t{0}) return "batch must be at least 1";
  if (options.batch && options.by_key) return "a batch cannot have workers_by_key";
  if (options.max_attempts == std::uint64_t{0}) return "max_attempts must be at least 1";
  if (!options.dead_letter.empty() && !options.max_attempts && !options.on_decode_failure && !options.on_panic) {
    return "dead_letter needs max_attempts: without a cap nothing is ever given up";
  }
  if (options.batch && options.timeout) return "a batch has no timeout";
  if (options.timeout && !what.handler->asynchronous())
    return "timeout needs a coroutine handler: a plain function cannot be ended";
  if (options.keep_alive && !what.is_jetstream()) return "keep_alive needs a JetStream descriptor";
  if (options.ack_sync && !what.is_jetstream()) return "ack_sync needs a JetStream descriptor";
  const auto delays = [](const std::optional<failure_action>& action) {
    return action && action->kind() == failure_action::kinds::retry_after;
  };
  const bool wildcard = std::holds_alternative<core_wildcard>(what.from);
  if (wildcard && options.retry_to.empty() && (delays(options.on_decode_failure) || delays(options.on_panic))) {
    return "retry_after on a wildcard needs retry_to(subject): a copy has no single subject to go to";
  }
  const auto dead = [](const std::optional<failure_action>& action) {
    return action && action->kind() == failure_action::kinds::dead_letter;
  };
  if (options.dead_letter.empty() && (dead(options.on_decode_failure) || dead(options.on_panic))) {
    return "the failure action dead_letter needs a dead_letter subject";
  }
  for (const auto& reply : what.replies) {
    if (reply.subject.empty() && what.is_jetstream())
      return "reply<T>() on a JetStream descriptor needs a subject: its deliveries carry no inbox";
  }
  return {};
}

std::string check_registration(const registration& what) {
  if (what.subject().empty()) return "subject must be non-empty";
  if (what.subject().find_first_of(" \t\r\n") != std::string::npos) return "subject must not contain blanks";
  if (std::holds_alternative<core>(what.from) && has_wildcard(what.subject()))
    return "core() takes a literal subject: use core_wildcard()";
  if (const auto* from = std::get_if<jetstream_consumer>(&what.from)) {
    if (auto wrong = check_jetstream(*from, what.options); !wrong.empty()) return wrong;
  }
  return check_options(what);
}

}  // namespace

result<void> validate_definition(const app_definition& definition) {
  std::set<std::string> names;
  for (const auto& broker : definition.brokers) {
    if (broker.problem) return std::unexpected(*broker.problem);
    if (!names.insert(broker.name).second) return fail(errc::invalid_options, "two brokers are named " + broker.name);
    for (const auto& each : broker.registrations) {
      if (auto wrong = check_registration(each); !wrong.empty()) {
        return fail(errc::invalid_options, "subscription " + each.options.name + ": " + wrong);
      }
      for (const auto& [slot, to] : each.outs) {
        const auto known = [&](const auto& other) { return other.name == to.broker(); };
        if (!to.broker().empty() && std::none_of(definition.brokers.begin(), definition.brokers.end(), known)) {
          return fail(errc::invalid_options,
                      "subscription " + each.options.name + ": no broker is named " + to.broker());
        }
      }
    }
  }
  return {};
}

}  // namespace tern::service::detail
