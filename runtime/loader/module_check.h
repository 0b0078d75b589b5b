// SPDX-License-Identifier: Apache-2.0
// Whether a module's tables keep the rules of abi.h and say what its note says. The module is a plugin's own data:
// every number is checked before what it counts is touched.
#pragma once

#include <string>

#include "belay/abi.h"
#include "runtime/loader/library_mapping.h"
#include "runtime/loader/note.h"

namespace belay::runtime {

// Throws LoadError(bad_module) naming the field, or LoadError(stale). `path` is for messages. `library`: all that the
// module points to must be its own data; the dynamic linker may have merged exported tables with those of another
// plugin. Null for a module that is linked in.
void check_module(const belay_module& module, const ModuleInfo& note, const std::string& path,
                  const LibraryMapping* library = nullptr);

}  // namespace belay::runtime
