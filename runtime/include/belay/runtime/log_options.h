// SPDX-License-Identifier: Apache-2.0
// Where the log of a session goes, and how it looks.
//
//   options.log.write = [&](std::string_view line) { lines.emplace_back(line); };
#pragma once

#include <functional>
#include <string_view>

#include "belay/host.h"

namespace belay {

struct LogOptions {
  // Gets each line with its newline, control characters escaped, so that a line is a line. Called by whichever thread
  // logs, one call at a time; it throws nothing and must not log. Empty: stderr, which is waited for at most a second
  // and never stops the program.
  std::function<void(std::string_view line)> write = {};
  // A JSON object in a line (time, level, source, step, message) instead of "12:34:56.789 warning nan_tensor: ...".
  bool json = false;
  // Lines below it are left out. Info is how far a session is; warnings are what a user should look at.
  LogLevel level = LogLevel::kInfo;
};

}  // namespace belay
