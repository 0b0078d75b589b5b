// SPDX-License-Identifier: Apache-2.0
// A folder that the exporter `belay` wrote, as the argument of `belay predict`.
#pragma once

#include <string>
#include <vector>

#include "runtime/loader/library/registry.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

// Returns its manifest; empty: `path` is no such folder.
std::string manifest_of_exported(const std::string& path);
// Returns the settings that differ from the manifest there: the weights are the folder's.
std::vector<std::string> sets_of_exported(const std::string& path);
// Logs a line for each plugin that differs from the folder's. An unreadable list is a warning,
// too.
void warn_of_other_plugins(const std::string& path, const Registry& plugins, Logger& log);

}  // namespace belay::runtime
