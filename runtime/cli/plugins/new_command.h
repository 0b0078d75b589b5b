// SPDX-License-Identifier: Apache-2.0
// `belay new KIND NAME`: a folder NAME with a plugin that works, its test, its build and a manifest that runs it.
#pragma once

#include <ostream>
#include <string>

#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

// Makes `directory`/NAME, whole or not at all, and says on `out` what to do next. Throws UsageError if the kind or
// the name is none, and if NAME is there already.
int new_command(const std::string& kind, const std::string& name, FileSystem& files, const std::string& directory,
                std::ostream& out);

}  // namespace belay::runtime
