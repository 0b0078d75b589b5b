// SPDX-License-Identifier: Apache-2.0
// Checks one value of a manifest against its option.
#pragma once

#include <optional>
#include <string>

#include "runtime/loader/note/note.h"
#include "runtime/manifest/diagnostics.h"
#include "runtime/manifest/manifest.h"
#include "runtime/manifest/paths.h"

namespace belay::runtime {

// The base of relative paths in a manifest.
struct PathContext {
  ManifestDirectories directories;
  Environment environment;
};

// Returns "a list of integers".
const char* words(const OptionInfo& option);

// Returns the value in the option's type: an integer becomes a number if that is wanted, and a path becomes absolute.
// None, and a problem: its type, range or choices do not fit the option, or a path cannot be expanded.
std::optional<OptionValue> check_value(const OptionInfo& option, const PluginOption& given, const PathContext& paths,
                                       Diagnostics& problems);

}  // namespace belay::runtime
