#include "runtime/host/log.hpp"

#include "runtime/clock.hpp"
#include "runtime/host/files.hpp"
#include "runtime/host/syslog.hpp"

#include <spdlog/formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <ctime>

#include <sys/stat.h>
#include <unistd.h>

namespace tern::runtime::host {
namespace {

std::tm broken_down(time_point at, bool utc) {
  const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
  std::tm parts{};
  if (utc) {
    ::gmtime_r(&seconds, &parts);
  } else {
    ::localtime_r(&seconds, &parts);
  }
  return parts;
}

long long fraction_of(time_point at) { return (at - std::chrono::floor<std::chrono::seconds>(at)).count(); }

// The colours of nats-server.
std::string_view colour_of(log_level level) {
  switch (level) {
    case log_level::trace:
      return "\x1b[33m";
    case log_level::debug:
      return "\x1b[36m";
    case log_level::info:
      return "\x1b[32m";
    case log_level::warn:
      return "\x1b[0;93m";
    case log_level::error:
    case log_level::fatal:
      return "\x1b[31m";
  }
  return "";
}

struct line_style {
  int pid = 0;
  bool time = true;
  bool utc = false;
  bool colour = false;
};

template <class Buffer>
void append_line(Buffer& out, const line_style& style, log_level level, std::string_view message, time_point at) {
  const auto append = [&out](std::string_view text) { out.append(text.data(), text.data() + text.size()); };
  char head[64];
  append({head, static_cast<std::size_t>(std::snprintf(head, sizeof head, "[%d] ", style.pid))});
  if (style.time) {
    const std::tm parts = broken_down(at, style.utc);
    const int length = std::snprintf(head, sizeof head, "%04d/%02d/%02d %02d:%02d:%02d.%06lld ", parts.tm_year + 1900,
                                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                                     fraction_of(at) / 1000);
    append({head, static_cast<std::size_t>(length)});
  }
  append("[");
  if (style.colour) append(colour_of(level));
  append(log_label(level));
  if (style.colour) append("\x1b[0m");
  append("] ");
  append(message);
}

constexpr spdlog::level::level_enum to_spdlog(log_level level) {
  switch (level) {
    case log_level::trace:
      return spdlog::level::trace;
    case log_level::debug:
      return spdlog::level::debug;
    case log_level::info:
      return spdlog::level::info;
    case log_level::warn:
      return spdlog::level::warn;
    case log_level::error:
      return spdlog::level::err;
    case log_level::fatal:
      return spdlog::level::critical;
  }
  return spdlog::level::info;
}

constexpr log_level from_spdlog(spdlog::level::level_enum level) {
  using enum log_level;
  for (const auto candidate : {trace, debug, info, warn, error}) {
    if (to_spdlog(candidate) == level) return candidate;
  }
  return log_level::fatal;
}

class line_formatter final : public spdlog::formatter {
 public:
  explicit line_formatter(line_style style) : style_(style) {}
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const time_point at{std::chrono::duration_cast<nanoseconds>(message.time.time_since_epoch())};
    append_line(out, style_, from_spdlog(message.level), {message.payload.data(), message.payload.size()}, at);
    out.push_back('\n');
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<line_formatter>(style_); }

 private:
  const line_style style_;
};

// Lines without time and level: the syslog has its own.
class syslog_sink final : public spdlog::sinks::sink {
 public:
  explicit syslog_sink(std::unique_ptr<syslog_target> to) : to_(std::move(to)) {}
  void log(const spdlog::details::log_msg& message) override {
    to_->write(from_spdlog(message.level), {message.payload.data(), message.payload.size()},
               time_point{std::chrono::duration_cast<nanoseconds>(message.time.time_since_epoch())});
  }
  void flush() override {}
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

 private:
  const std::unique_ptr<syslog_target> to_;
};

class spdlog_log final : public process_log {
 public:
  explicit spdlog_log(clock& time) : time_(time) {}

  result<void> configure(log_options options) override {
    const std::scoped_lock lock(mutex_);
    auto sink = open_sink(options);
    if (!sink) return std::unexpected(sink.error());
    sink_ = std::move(*sink);
    options_ = std::move(options);
    lowest_ = options_.trace ? log_level::trace : options_.debug ? log_level::debug : log_level::info;
    debug_ = options_.debug;
    return {};
  }

  result<void> reopen() override {
    const std::scoped_lock lock(mutex_);
    auto sink = open_sink(options_);
    if (!sink) return std::unexpected(sink.error());
    sink_ = std::move(*sink);
    return {};
  }

  // Debug and trace are switched apart: -V alone shows traces without debug lines.
  bool enabled(log_level level) const override {
    if (level == log_level::debug) return debug_.load(std::memory_order_relaxed);
    return level >= lowest_.load(std::memory_order_relaxed);
  }

  void write(log_level level, std::string_view message) override {
    const std::scoped_lock lock(mutex_);
    emit(level, message);
    if (options_.size_limit > 0 && !options_.file.empty() && size_ > options_.size_limit) rotate();
  }

 private:
  result<std::shared_ptr<spdlog::sinks::sink>> open_sink(const log_options& options) {
    line_style style{.pid = static_cast<int>(::getpid()), .time = options.time, .utc = options.utc};
    std::shared_ptr<spdlog::sinks::sink> sink;
    if (options.file.empty() && !options.remote_syslog.empty()) {
      auto target = open_remote_syslog(options.remote_syslog);
      if (!target) return std::unexpected(std::move(target).error());
      sink = std::make_shared<syslog_sink>(std::move(*target));
    } else if (options.file.empty() && options.syslog) {
      sink = std::make_shared<syslog_sink>(open_local_syslog());
    } else if (options.file.empty()) {
      style.colour = ::isatty(STDERR_FILENO) == 1;
      sink = std::make_shared<spdlog::sinks::stderr_sink_st>();
    } else {
      try {
        sink = std::make_shared<spdlog::sinks::basic_file_sink_st>(options.file);
      } catch (const spdlog::spdlog_ex& refused) {
        return fail(errc::io_error, "error opening logfile: open " + options.file + ": " + refused.what());
      }
      struct stat status{};
      size_ = ::stat(options.file.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
    }
    sink->set_formatter(std::make_unique<line_formatter>(style));
    return sink;
  }

  void emit(log_level level, std::string_view message) {
    const std::chrono::system_clock::time_point at{
        std::chrono::duration_cast<std::chrono::system_clock::duration>(time_.now().time_since_epoch())};
    const spdlog::details::log_msg line(at, spdlog::source_loc{}, spdlog::string_view_t{}, to_spdlog(level),
                                        spdlog::string_view_t(message.data(), message.size()));
    try {
      sink_->log(line);
      sink_->flush();
    } catch (const spdlog::spdlog_ex&) {
      // A log that cannot be written, on a full disk for example, does not end the server.
    }
    size_ += message.size() + 48;  // about the head of a line
  }

  void rotate() {
    const time_point now = time_.now();
    const std::tm parts = broken_down(now, options_.utc);
    char suffix[64];
    std::snprintf(suffix, sizeof suffix, ".%04d.%02d.%02d.%02d.%02d.%02d.%09lld", parts.tm_year + 1900,
                  parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, fraction_of(now));
    const std::string backup = options_.file + suffix;
    if (std::rename(options_.file.c_str(), backup.c_str()) != 0) {
      size_ = 0;  // tried again after another size_limit bytes
      return;
    }
    if (auto sink = open_sink(options_)) sink_ = std::move(*sink);
    emit(log_level::info, "Rotated log, backup saved as \"" + backup + "\"");
    prune_backups();
  }

  void prune_backups() {
    if (options_.backups == 0) return;
    const std::size_t slash = options_.file.rfind('/');
    const std::string directory = slash == std::string::npos ? "." : options_.file.substr(0, slash);
    const std::string prefix = options_.file.substr(slash == std::string::npos ? 0 : slash + 1) + ".";
    auto names = list_directory(directory);
    if (!names) return;
    std::erase_if(*names, [&prefix](const std::string& name) { return !name.starts_with(prefix); });
    // Names sort by their time.
    for (std::size_t i = 0; i + options_.backups < names->size(); ++i) {
      ::unlink((directory + "/" + (*names)[i]).c_str());
    }
  }

  clock& time_;
  std::atomic<log_level> lowest_ = log_level::info;
  std::atomic<bool> debug_ = false;

  // --- guarded by mutex_ ---
  std::mutex mutex_;
  log_options options_;
  std::shared_ptr<spdlog::sinks::sink> sink_;
  std::uint64_t size_ = 0;
};

}  // namespace

std::string_view log_label(log_level level) {
  switch (level) {
    case log_level::trace:
      return "TRC";
    case log_level::debug:
      return "DBG";
    case log_level::info:
      return "INF";
    case log_level::warn:
      return "WRN";
    case log_level::error:
      return "ERR";
    case log_level::fatal:
      return "FTL";
  }
  return "INF";
}

std::string format_log_line(log_level level, std::string_view message, time_point at, int pid, bool with_time,
                            bool utc) {
  std::string line;
  append_line(line, {.pid = pid, .time = with_time, .utc = utc}, level, message, at);
  return line;
}

result<std::unique_ptr<process_log>> open_log(log_options options, clock& time) {
  auto log = std::make_unique<spdlog_log>(time);
  if (auto configured = log->configure(std::move(options)); !configured) return std::unexpected(configured.error());
  return log;
}

void captured_log::write(log_level level, std::string_view message) {
  const std::scoped_lock lock(mutex_);
  lines_.push_back({level, std::string(message)});
}

std::vector<captured_log::line> captured_log::lines() const {
  const std::scoped_lock lock(mutex_);
  return lines_;
}

bool captured_log::contains(std::string_view part) const {
  const std::scoped_lock lock(mutex_);
  return std::ranges::any_of(lines_, [part](const line& one) { return one.message.find(part) != std::string::npos; });
}

void captured_log::clear() {
  const std::scoped_lock lock(mutex_);
  lines_.clear();
}

}  // namespace tern::runtime::host
