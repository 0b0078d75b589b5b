// SPDX-License-Identifier: Apache-2.0
// The program's one log, on stderr: text for people, or one JSON object per line. [any thread]
//
// Text: "2024-01-01 12:34:56.789 warning nan_tensor: loss is not finite", on a terminal without the date. Control
// characters of a message are escaped, so that a message stays on its line. The time is local. JSON is pure ASCII:
// {"time": ISO 8601 in UTC with milliseconds, "level", "source", "step" (once known), "code", "message"} and the fields
// after the text (belay/log_fields.h). A message may have a code (platform/text/coded_message.h). Text shows it
// after the level: "error[B4021]: loss is not finite". On a terminal one status line may be below the log. It is
// removed before a line is printed, and drawn again after it.
//
// Nothing here throws, and a closed or full output never stops the program. Lines that it does not take are counted.
// The count is logged when it takes lines again.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "belay/host.h"
#include "runtime/platform/threads/clock.h"

namespace belay::runtime {

enum class LogFormat { kText, kJson };
enum class Colour { kAuto, kAlways, kNever };

class Logger {
 public:
  virtual ~Logger() = default;
  // `source` is the instance or part that logs; it may be empty.
  virtual void log(LogLevel level, std::string_view source, std::string_view text) = 0;
  virtual bool enabled(LogLevel level) const = 0;
  // True if a person watches: stderr is a terminal, the format is text, and level kInfo is shown.
  virtual bool interactive() const = 0;
  // Shows `text` in place, cut to the terminal's width; an empty text removes it. Ignored unless interactive(). It is
  // redrawn at most ten times a second. A later text waits for the next call, log line or flush.
  virtual void status_line(std::string_view text) = 0;
  // Sets the step for JSON lines; -1: none yet.
  virtual void set_step(std::int64_t step) = 0;
  virtual void flush() = 0;

  void info(std::string_view source, std::string_view text) { log(LogLevel::kInfo, source, text); }
  void warning(std::string_view source, std::string_view text) { log(LogLevel::kWarning, source, text); }
  void error(std::string_view source, std::string_view text) { log(LogLevel::kError, source, text); }
};

// The output of a logger.
struct LogOutput {
  // Takes whole lines, or the characters that draw the status line; false: it did not take them. Called under the
  // logger's lock.
  std::function<bool(std::string_view)> write;
  bool terminal = false;         // a person watches, and the terminal understands \r and escapes
  bool colour = false;           // levels in colour
  std::function<int()> columns;  // returns the terminal's width at each redraw; empty or not positive: 80
};

// Writes to a copy of `fd`, so that a later file cannot get its number. It waits once for a slow reader, and then drops
// lines until that has caught up. SIGPIPE does not get out. terminal and colour come from isatty, TERM and NO_COLOR.
LogOutput fd_output(int fd, std::chrono::milliseconds patience = std::chrono::seconds(1));
// Sets whether it writes in colour, for any environment.
void set_colour(LogOutput& output, Colour colour);

std::unique_ptr<Logger> make_logger(LogOutput output, LogFormat format, LogLevel level, Clock& clock);

// Writes to stderr.
std::unique_ptr<Logger> make_stderr_logger(LogFormat format, LogLevel level, Clock& clock);
std::unique_ptr<Logger> make_stderr_logger(LogFormat format, LogLevel level, Colour colour, Clock& clock);

}  // namespace belay::runtime
