// The log: lines as nats-server writes them, `[PID] 2006/01/02 15:04:05.000000 [LVL] message`, to standard error or a
// file (core 4.7). Handed to whoever logs; there is no global one.
#pragma once

#include <tern/base/error.hpp>
#include <tern/base/time.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace tern::runtime {
class clock;
}

namespace tern::runtime::host {

enum class log_level { trace, debug, info, warn, error, fatal };

// The three letters of the line: TRC DBG INF WRN ERR FTL.
std::string_view log_label(log_level level);

// Any thread. fatal() only writes: who calls it decides to end the process.
class logger {
 public:
  virtual ~logger() = default;
  virtual bool enabled(log_level level) const = 0;
  virtual void write(log_level level, std::string_view message) = 0;

  bool debug_enabled() const { return enabled(log_level::debug); }
  bool trace_enabled() const { return enabled(log_level::trace); }

  void trace(std::string_view message) { log(log_level::trace, message); }
  void debug(std::string_view message) { log(log_level::debug, message); }
  void info(std::string_view message) { log(log_level::info, message); }
  void warn(std::string_view message) { log(log_level::warn, message); }
  void error(std::string_view message) { log(log_level::error, message); }
  void fatal(std::string_view message) { log(log_level::fatal, message); }

 private:
  void log(log_level level, std::string_view message) {
    if (enabled(level)) write(level, message);
  }
};

struct log_options {
  std::string file;           // wins over a syslog; with neither: standard error
  std::string remote_syslog;  // a URL; wins over the local one
  bool syslog = false;
  bool time = true;  // logtime
  bool utc = false;  // logtime_utc
  bool debug = false;
  bool trace = false;
  std::uint64_t size_limit = 0;  // bytes after which the file is moved to a backup name; 0: never
  std::size_t backups = 0;       // how many of those are kept; 0: all
};

// The logger of a process. Reopening and changing options is safe while others log.
class process_log : public logger {
 public:
  virtual result<void> reopen() = 0;                        // after the file was moved away (SIGUSR1)
  virtual result<void> configure(log_options options) = 0;  // a reload; on failure the old settings stay
};
result<std::unique_ptr<process_log>> open_log(log_options options, clock& time);

// The line without its end, for tests and for whoever writes elsewhere.
std::string format_log_line(log_level level, std::string_view message, time_point at, int pid, bool with_time,
                            bool utc);

// Keeps what was logged. For tests.
class captured_log final : public logger {
 public:
  struct line {
    log_level level;
    std::string message;
  };
  explicit captured_log(log_level lowest = log_level::trace) : lowest_(lowest) {}
  bool enabled(log_level level) const override { return level >= lowest_; }
  void write(log_level level, std::string_view message) override;
  std::vector<line> lines() const;
  bool contains(std::string_view part) const;  // of any line's message
  void clear();

 private:
  const log_level lowest_;
  mutable std::mutex mutex_;
  std::vector<line> lines_;
};

// Swallows everything.
class silent_log final : public logger {
 public:
  bool enabled(log_level) const override { return false; }
  void write(log_level, std::string_view) override {}
};

}  // namespace tern::runtime::host
