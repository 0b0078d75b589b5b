// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/logger.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <poll.h>
#include <spdlog/pattern_formatter.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kRedrawNs = 100'000'000;
constexpr int kDefaultColumns = 80;

// Keeps the signal of a write to a closed pipe from the process, which may not ignore it.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigemptyset(&sigpipe_);
    sigaddset(&sigpipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &sigpipe_, &previous_);
  }
  ~WithoutSigpipe() {
    const timespec at_once{0, 0};
    if (!was_pending_)
      while (sigtimedwait(&sigpipe_, nullptr, &at_once) < 0 && errno == EINTR) continue;
    pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

 private:
  sigset_t sigpipe_, previous_;
  bool was_pending_ = false;
};

// Which file a descriptor leads to; {0, 0}: none.
std::pair<dev_t, ino_t> file_of(int fd) {
  struct stat s {};
  return ::fstat(fd, &s) == 0 ? std::pair{s.st_dev, s.st_ino} : std::pair<dev_t, ino_t>{};
}

// Writes to a descriptor of its own, never for long. Something else in the process may close that one, and its number
// may be another file's then: a line goes to what was opened, or to the descriptor that it was made from, or nowhere.
class DescriptorWriter {
 public:
  DescriptorWriter(int fd, std::chrono::milliseconds patience)
      : fd_(::fcntl(fd, F_DUPFD_CLOEXEC, 3)), original_(fd), file_(file_of(fd_)), patience_(patience) {}
  ~DescriptorWriter() {
    if (fd_ >= 0 && fd_ != original_ && file_of(fd_) == file_) ::close(fd_);
  }
  DescriptorWriter(const DescriptorWriter&) = delete;
  DescriptorWriter& operator=(const DescriptorWriter&) = delete;

  bool write(std::string_view text) {
    if (fd_ < 0) return false;
    if (file_of(fd_) != file_) fd_ = original_;
    if (file_of(fd_) != file_) return false;
    const WithoutSigpipe guard;
    if (torn_ && !write_all("\n")) return false;
    torn_ = false;
    return write_all(text);
  }

  int columns() const {
    winsize size{};
    return ::ioctl(fd_, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
  }

 private:
  bool write_all(std::string_view text) {
    const std::size_t whole = text.size();
    while (!text.empty()) {
      // Where poll says so, a pipe takes PIPE_BUF bytes without blocking.
      const ssize_t n = ready() ? ::write(fd_, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF)) : -1;
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        torn_ = torn_ || text.size() != whole;
        return false;
      }
      text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  bool ready() {
    pollfd wanted{fd_, POLLOUT, 0};
    const int n = ::poll(&wanted, 1, behind_ ? 0 : static_cast<int>(patience_.count()));
    if (n < 0) return errno == EINVAL;  // else interrupted; EINVAL: more than RLIMIT_NOFILE, which is 0
    behind_ = n == 0;
    errno = EAGAIN;
    return n > 0;
  }

  int fd_;
  const int original_;
  const std::pair<dev_t, ino_t> file_;
  const std::chrono::milliseconds patience_;
  bool behind_ = false;  // the reader did not keep up
  bool torn_ = false;    // the last line was cut
};

bool set_and_not_empty(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
  }
  return spdlog::level::err;
}

const char* colour_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return "\x1b[2m";
    case LogLevel::kInfo: return "\x1b[32m";
    case LogLevel::kWarning: return "\x1b[33m";
    case LogLevel::kError: return "\x1b[31m";
  }
  return "";
}

std::chrono::system_clock::time_point to_time(std::int64_t wall_ns) {
  return std::chrono::system_clock::time_point(std::chrono::nanoseconds(wall_ns));
}

class StreamLogger final : public Logger {
 public:
  StreamLogger(LogOutput output, LogFormat format, LogLevel level, Clock& clock)
      : output_(std::move(output)),
        format_(format),
        level_(level),
        clock_(clock),
        text_format_("%H:%M:%S.%e %^%l%$ %v", spdlog::pattern_time_type::local) {}

  ~StreamLogger() override { status_line({}); }

  void log(LogLevel level, std::string_view source, std::string_view text) override {
    if (!enabled(level)) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    try {
      if (lost_ != 0 && write_line(LogLevel::kWarning, {}, std::to_string(lost_) + " lines of the log were lost here"))
        lost_ = 0;
      if (!write_line(level, source, text)) ++lost_;
    } catch (...) {
      ++lost_;  // out of memory: the program goes on
    }
  }

  bool enabled(LogLevel level) const override { return level >= level_; }
  bool interactive() const override { return output_.terminal && format_ == LogFormat::kText; }

  void status_line(std::string_view text) override {
    if (!interactive()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    try {
      status_ = escaped(text);
      if (text.empty() ? drawn_ : clock_.monotonic_ns() >= next_draw_ns_) draw();
    } catch (...) {
      // A status line that is not shown does no harm.
    }
  }

  void set_step(std::int64_t step) override { step_.store(step, std::memory_order_relaxed); }

  void flush() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    try {
      if (!status_.empty()) draw();
    } catch (...) {
      // As above.
    }
  }

 private:
  // Lock held, as for all that follow.
  bool write_line(LogLevel level, std::string_view source, std::string_view text) {
    const std::string line =
        format_ == LogFormat::kJson ? json_line(level, source, text) : text_line(level, source, text);
    if (!drawn_ && status_.empty()) return output_.write(line);
    drawn_ = !status_.empty();
    next_draw_ns_ = clock_.monotonic_ns() + kRedrawNs;
    return output_.write("\r\x1b[K" + line + shown_status());
  }

  void draw() {
    drawn_ = !status_.empty();
    next_draw_ns_ = status_.empty() ? 0 : clock_.monotonic_ns() + kRedrawNs;
    output_.write("\r" + shown_status() + "\x1b[K");
  }

  // Not up to the last column, where some terminals go to the next line.
  std::string shown_status() const {
    const int columns = output_.columns ? output_.columns() : 0;
    return std::string(cut_to_width(status_, static_cast<std::size_t>((columns > 0 ? columns : kDefaultColumns) - 1)));
  }

  std::string text_line(LogLevel level, std::string_view source, std::string_view text) {
    const std::string message = source.empty() ? escaped(text) : escaped(source) + ": " + escaped(text);
    const spdlog::details::log_msg entry(to_time(clock_.wall_ns()), spdlog::source_loc{}, "", to_spdlog(level),
                                         message);
    spdlog::memory_buf_t line;
    text_format_.format(entry, line);
    std::string out(line.data(), line.size());
    if (output_.colour) {
      out.insert(entry.color_range_end, "\x1b[0m");
      out.insert(entry.color_range_start, colour_of(level));
    }
    return out;
  }

  std::string json_line(LogLevel level, std::string_view source, std::string_view text) const {
    const auto time = std::chrono::floor<std::chrono::milliseconds>(to_time(clock_.wall_ns()));
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
    nlohmann::ordered_json line;
    line["time"] = fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                               (time - seconds).count());
    const auto name = spdlog::level::to_string_view(to_spdlog(level));
    line["level"] = std::string_view(name.data(), name.size());
    line["source"] = source;
    if (const std::int64_t step = step_.load(std::memory_order_relaxed); step >= 0) line["step"] = step;
    line["message"] = text;
    return line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
  }

  const LogOutput output_;
  const LogFormat format_;
  const LogLevel level_;
  Clock& clock_;
  std::atomic<std::int64_t> step_{-1};
  std::mutex mutex_;
  spdlog::pattern_formatter text_format_;
  std::string status_;             // escaped, whole
  bool drawn_ = false;             // a status line is on the terminal
  std::int64_t next_draw_ns_ = 0;  // no redraw before
  std::uint64_t lost_ = 0;         // lines that were not taken
};

}  // namespace

LogOutput fd_output(int fd, std::chrono::milliseconds patience) {
  const auto writer = std::make_shared<DescriptorWriter>(fd, patience);
  const char* term = std::getenv("TERM");
  LogOutput output;
  output.write = [writer](std::string_view text) { return writer->write(text); };
  output.terminal = ::isatty(fd) == 1 && term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
  output.colour = output.terminal && !set_and_not_empty("NO_COLOR");
  output.columns = [writer] { return writer->columns(); };
  return output;
}

std::unique_ptr<Logger> make_logger(LogOutput output, LogFormat format, LogLevel level, Clock& clock) {
  return std::make_unique<StreamLogger>(std::move(output), format, level, clock);
}

std::unique_ptr<Logger> make_stderr_logger(LogFormat format, LogLevel level, Clock& clock) {
  return make_logger(fd_output(STDERR_FILENO), format, level, clock);
}

}  // namespace belay::runtime
