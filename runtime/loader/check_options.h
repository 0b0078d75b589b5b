// SPDX-License-Identifier: Apache-2.0
// A plugin's options in a manifest against what its note declares. Runs no plugin code.
#pragma once

#include <string>

#include "runtime/loader/note.h"
#include "runtime/loader/option_values.h"
#include "runtime/manifest/diagnostics.h"
#include "runtime/manifest/manifest.h"
#include "runtime/manifest/paths.h"

namespace belay::runtime {

// What paths in a manifest are relative to.
struct PathContext {
  std::string base_directory;
  Environment environment;
};

// The options given, checked and ready to cross: an integer where a number is wanted is converted, a path made
// absolute. Adds to `problems`: unknown options, wrong types, values out of range or not among the choices, paths that
// cannot be expanded, missing ones. What is returned is for use only if nothing was added.
OptionValues check_options(const PluginInfo& plugin, const PluginUse& use, const PathContext& paths,
                           Diagnostics& problems);

}  // namespace belay::runtime
