// SPDX-License-Identifier: Apache-2.0
// Checks that a module's tables keep the rules of abi.h and agree with its note. The module is a plugin's data. Every
// number is checked before the data that it counts is read.
#pragma once

#include <string>

#include "belay/abi.h"
#include "runtime/loader/library/library_mapping.h"
#include "runtime/loader/note/note.h"

namespace belay::runtime {

// LoadError(bad_module) names the field; also LoadError(stale). `path` is for messages. `library`: all pointers of the
// module must lead to its own data. Else the dynamic linker may have merged exported tables of two plugins. Null: the
// module is linked in.
void check_module(const belay_module& module, const ModuleInfo& note, const std::string& path,
                  const LibraryMapping* library = nullptr);

}  // namespace belay::runtime
