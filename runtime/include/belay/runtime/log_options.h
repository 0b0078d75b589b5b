// SPDX-License-Identifier: Apache-2.0
// The destination and form of a session's log.
//
//   options.log.write = [&](std::string_view line) { lines.emplace_back(line); };
#pragma once

#include <functional>
#include <string_view>

#include "belay/host.h"

namespace belay {

struct LogOptions {
  // Gets each line with its newline. Control characters are escaped, so one call is one line. The thread that logs
  // calls it, one call at a time. It must not throw or log. Empty: stderr. The log waits for stderr at most a second
  // and never stops the program.
  std::function<void(std::string_view line)> write = {};
  // If true, each line is a JSON object (time, level, source, step, message) instead of "12:34:56.789 warning
  // nan_tensor: ...".
  bool json = false;
  // Lines below this level are left out. Info is the progress of a session; warnings are for the attention of a user.
  LogLevel level = LogLevel::kInfo;
};

}  // namespace belay
