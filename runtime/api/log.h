// SPDX-License-Identifier: Apache-2.0
// Makes the logger of LogOptions, and writes errors to it.
#pragma once

#include <memory>
#include <string_view>

#include "belay/runtime/log_options.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

std::unique_ptr<Logger> make_log(const LogOptions& options);

// Writes an error of several lines as that many lines of the log.
void log_error(Logger& log, std::string_view message);

}  // namespace belay::runtime
