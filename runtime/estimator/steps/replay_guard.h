// SPDX-License-Identifier: Apache-2.0
// Finds a hook of a replay that writes to a variable, though by its options it only watches. Two hooks around it
// compare how often the variables were written. [session]
#pragma once

#include <string>

#include "runtime/loader/instance/instance.h"

namespace belay::runtime {

// The hooks for the hook of that name: `before` is called before it in each phase, `behind` after it. INVALID_ARGUMENT,
// with the hook's name and the callback, if a variable was written in between.
struct ReplayGuard {
  PluginInstance::MakeHook before, behind;
};
ReplayGuard guard_around(const std::string& hook);

}  // namespace belay::runtime
