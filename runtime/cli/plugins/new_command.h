// SPDX-License-Identifier: Apache-2.0
// `belay new KIND NAME` makes a folder NAME with a complete plugin, its test, its build and a manifest that runs it.
#pragma once

#include <ostream>
#include <string>

#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

// Makes `directory`/NAME, whole or not at all, and prints the next steps on `out`. Throws UsageError if the kind is
// unknown, the name is invalid, or NAME exists already.
int new_command(const std::string& kind, const std::string& name, FileSystem& files, const std::string& directory,
                std::ostream& out);

}  // namespace belay::runtime
