// The program's one log, on stderr: text for people or one JSON object per line. [any thread]
//
// Text: "12:34:56.789 warning nan_tensor: loss is not finite". Control characters of a message are escaped, so that a line
// is a line. On a terminal one status line may stand below the log; it is taken away before a line is printed and drawn
// again after it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "belay/host.h"
#include "runtime/platform/clock.h"

namespace belay::runtime {

enum class LogFormat { kText, kJson };

class Logger {
 public:
  virtual ~Logger() = default;
  // `source`: the instance or part that speaks; may be empty.
  virtual void log(LogLevel level, std::string_view source, std::string_view text) = 0;
  virtual bool enabled(LogLevel level) const = 0;
  // Whether a person watches: stderr is a terminal and the format is text.
  virtual bool interactive() const = 0;
  // Shows `text` in place; empty takes it away. Ignored where nobody watches; redrawn at most ten times a second.
  virtual void status_line(std::string_view text) = 0;
  // The step that JSON lines carry; -1: none yet.
  virtual void set_step(std::int64_t step) = 0;
  virtual void flush() = 0;

  void info(std::string_view source, std::string_view text) { log(LogLevel::kInfo, source, text); }
  void warning(std::string_view source, std::string_view text) { log(LogLevel::kWarning, source, text); }
  void error(std::string_view source, std::string_view text) { log(LogLevel::kError, source, text); }
};

// Writes to stderr through spdlog.
std::unique_ptr<Logger> make_stderr_logger(LogFormat format, LogLevel level, Clock& clock);

}  // namespace belay::runtime
