// SPDX-License-Identifier: Apache-2.0
// A folder that the exporter `belay` wrote, as the argument of `belay predict`.
#pragma once

#include <string>
#include <vector>

#include "runtime/loader/library/registry.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

// Its manifest; empty: `path` is no such folder.
std::string manifest_of_exported(const std::string& path);
// The manifest's settings that differ there: the weights are the folder's.
std::vector<std::string> sets_of_exported(const std::string& path);
// A line for each plugin that was another one when the folder was written. What cannot be read is a warning, too.
void warn_of_other_plugins(const std::string& path, const Registry& plugins, Logger& log);

}  // namespace belay::runtime
