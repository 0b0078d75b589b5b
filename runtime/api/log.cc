// SPDX-License-Identifier: Apache-2.0
#include "runtime/api/log.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "runtime/platform/threads/clock.h"

namespace belay::runtime {

std::unique_ptr<Logger> make_log(const LogOptions& options) {
  const LogFormat format = options.json ? LogFormat::kJson : LogFormat::kText;
  if (!options.write) return make_stderr_logger(format, options.level, system_clock());
  LogOutput output;
  output.write = [write = options.write](std::string_view lines) {
    for (std::size_t at = 0; at < lines.size();) {
      const std::size_t end = std::min(lines.find('\n', at), lines.size() - 1) + 1;
      write(lines.substr(at, end - at));
      at = end;
    }
    return true;
  };
  return make_logger(std::move(output), format, options.level, system_clock());
}

void log_error(Logger& log, std::string_view message) {
  for (std::size_t at = 0; at <= message.size();) {
    const std::size_t end = std::min(message.find('\n', at), message.size());
    log.error("", message.substr(at, end - at));
    at = end + 1;
  }
}

}  // namespace belay::runtime
