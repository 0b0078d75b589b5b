// Whether a module's tables keep the rules of abi.h and say what its note says. The module is a plugin's own data:
// every number is checked before what it counts is touched.
#pragma once

#include <string>

#include "belay/abi.h"
#include "runtime/loader/note.h"

namespace belay::runtime {

// Throws LoadError(bad_module) naming the field, or LoadError(stale). `path` is for messages.
void check_module(const belay_module& module, const ModuleInfo& note, const std::string& path);

}  // namespace belay::runtime
