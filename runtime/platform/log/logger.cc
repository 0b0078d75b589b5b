// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/log/logger.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <poll.h>
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
#include <vector>

#include "belay/log_fields.h"
#include "runtime/platform/text/coded_message.h"
#include "runtime/platform/text/text.h"

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

// Returns the file of a descriptor; {0, 0}: none.
std::pair<dev_t, ino_t> file_of(int fd) {
  struct stat s {};
  return ::fstat(fd, &s) == 0 ? std::pair{s.st_dev, s.st_ino} : std::pair<dev_t, ino_t>{};
}

// Writes to a separate descriptor, never for long. Other code in the process may close that one, and another file may
// get its number. A line is written to the opened file, or to the original descriptor, or it is dropped.
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
      // If poll reports it ready, a pipe takes PIPE_BUF bytes without blocking.
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
  bool behind_ = false;  // true: the reader did not keep up
  bool torn_ = false;    // true: the last line was cut
};

bool set_and_not_empty(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

const char* name_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return "debug";
    case LogLevel::kInfo: return "info";
    case LogLevel::kWarning: return "warning";
    case LogLevel::kError: return "error";
  }
  return "error";
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

// A moment of the wall clock for fmt, whose std::tm has no parts of a second.
struct WallTime {
  explicit WallTime(std::int64_t wall_ns) {
    using std::chrono::floor;
    const auto time = floor<std::chrono::milliseconds>(
        std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::nanoseconds(wall_ns)));
    const auto whole = floor<std::chrono::seconds>(time);
    seconds = static_cast<std::time_t>(whole.time_since_epoch().count());
    milliseconds = static_cast<int>((time - whole).count());
  }
  std::time_t seconds;
  int milliseconds;
};

// A log text of a plugin or the host, in the parts that belay/log_fields.h puts together.
struct LogParts {
  explicit LogParts(std::string_view text) {
    if (const std::size_t at = text.find(detail::kLogFields); at != text.npos) {
      fields = nlohmann::ordered_json::parse(text.substr(at + 1), nullptr, false);
      if (fields.is_object()) text = text.substr(0, at);
    }
    const std::size_t first = std::min(text.find(detail::kLogRow), text.size());
    CodedMessage coded = take_code(text.substr(0, first));
    code = std::move(coded.code);
    message = std::move(coded.text);
    for (std::size_t at = first; at < text.size();) {
      const std::size_t end = std::min(text.find(detail::kLogRow, at + 1), text.size());
      rows.push_back(shown_code(text.substr(at + 1, end - at - 1)));
      at = end;
    }
  }
  std::string code, message;
  std::vector<std::string> rows;
  nlohmann::ordered_json fields;
};

class StreamLogger final : public Logger {
 public:
  StreamLogger(LogOutput output, LogFormat format, LogLevel level, Clock& clock)
      : output_(std::move(output)), format_(format), level_(level), clock_(clock) {}

  ~StreamLogger() override { status_line({}); }

  void log(LogLevel level, std::string_view source, std::string_view text) override {
    if (!enabled(level)) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    try {
      if (lost_ != 0 && write_lines(LogLevel::kWarning, {}, fmt::format("{} lines of the log were lost here", lost_)))
        lost_ = 0;
      if (!write_lines(level, source, text)) ++lost_;
    } catch (...) {
      ++lost_;  // out of memory: the program continues
    }
  }

  bool enabled(LogLevel level) const override { return level >= level_; }
  bool interactive() const override {
    return output_.terminal && format_ == LogFormat::kText && enabled(LogLevel::kInfo);
  }

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
      // It does no harm here either.
    }
  }

 private:
  // Call it and all below with the lock.
  bool write_lines(LogLevel level, std::string_view source, std::string_view text) {
    const LogParts parts(text);
    const std::string lines =
        format_ == LogFormat::kJson ? json_line(level, source, parts) : text_lines(level, source, parts);
    if (!drawn_ && status_.empty()) return output_.write(lines);
    return output_.write(kTakeAway + lines + shown_status());
  }

  void draw() {
    // If a terminal has become narrower, it has broken the drawn line into several.
    const bool resized = drawn_ && columns() != drawn_columns_;
    const std::string before = status_.empty() || resized ? kTakeAway : "\r";
    output_.write(before + shown_status());
  }

  // The cursor waits before the line, not after it. So it is still before the whole line if the terminal has broken
  // that into several. The end of a longer line is lost and not wrapped. The terminal may already be narrower than it
  // reports. The last column stays free, since some terminals then go to the next line.
  std::string shown_status() {
    drawn_ = !status_.empty();
    next_draw_ns_ = drawn_ ? clock_.monotonic_ns() + kRedrawNs : 0;
    if (!drawn_) return "";
    drawn_columns_ = columns();
    const std::string_view shown = cut_to_width(status_, static_cast<std::size_t>(drawn_columns_ - 1));
    return "\x1b[?7l" + std::string(shown) + "\x1b[K\x1b[?7h\r";
  }

  int columns() const {
    const int columns = output_.columns ? output_.columns() : 0;
    return columns > 0 ? columns : kDefaultColumns;
  }

  std::string text_lines(LogLevel level, std::string_view source, const LogParts& parts) const {
    const std::string head = head_of(level, "");
    const std::string first = parts.code.empty() ? head : head_of(level, "[" + parts.code + "]:");
    std::string lines = first + (source.empty() ? "" : escaped(source) + ": ") + escaped(parts.message) + "\n";
    for (const std::string& row : parts.rows) lines += head + "  " + escaped(row) + "\n";
    return lines;
  }

  // A person who watches knows the day.
  std::string head_of(LogLevel level, const std::string& code) const {
    const WallTime time(clock_.wall_ns());
    const std::tm local = fmt::localtime(time.seconds);
    const std::string date = output_.terminal ? "" : fmt::format("{:%F} ", local);
    const std::string name = name_of(level) + code;
    const std::string shown = output_.colour ? colour_of(level) + name + "\x1b[0m" : name;
    return fmt::format("{}{:%T}.{:03} {} ", date, local, time.milliseconds, shown);
  }

  std::string json_line(LogLevel level, std::string_view source, const LogParts& parts) const {
    const WallTime time(clock_.wall_ns());
    nlohmann::ordered_json line;
    line["time"] = fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(time.seconds), time.milliseconds);
    line["level"] = name_of(level);
    line["source"] = source;
    if (const std::int64_t step = step_.load(std::memory_order_relaxed); step >= 0) line["step"] = step;
    if (!parts.code.empty()) line["code"] = parts.code;
    line["message"] = parts.message;
    // A hook counts the current step, the log counts the finished steps.
    if (parts.fields.is_object())
      for (const auto& [key, value] : parts.fields.items())
        if (key == "step" || !line.contains(key)) line[key] = value;
    return line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
  }

  static constexpr const char* kTakeAway = "\r\x1b[J";  // the status line, on any number of lines

  const LogOutput output_;
  const LogFormat format_;
  const LogLevel level_;
  Clock& clock_;
  std::atomic<std::int64_t> step_{-1};
  std::mutex mutex_;
  std::string status_;             // escaped, whole
  bool drawn_ = false;             // true: a status line is on the terminal
  int drawn_columns_ = 0;          // the terminal's at that time
  std::int64_t next_draw_ns_ = 0;  // no redraw before
  std::uint64_t lost_ = 0;         // lines that the output did not take
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

void set_colour(LogOutput& output, Colour colour) {
  if (colour != Colour::kAuto) output.colour = colour == Colour::kAlways;
}

std::unique_ptr<Logger> make_logger(LogOutput output, LogFormat format, LogLevel level, Clock& clock) {
  return std::make_unique<StreamLogger>(std::move(output), format, level, clock);
}

std::unique_ptr<Logger> make_stderr_logger(LogFormat format, LogLevel level, Clock& clock) {
  return make_stderr_logger(format, level, Colour::kAuto, clock);
}

std::unique_ptr<Logger> make_stderr_logger(LogFormat format, LogLevel level, Colour colour, Clock& clock) {
  LogOutput output = fd_output(STDERR_FILENO);
  set_colour(output, colour);
  return make_logger(std::move(output), format, level, clock);
}

}  // namespace belay::runtime
