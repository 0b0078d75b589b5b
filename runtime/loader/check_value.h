// SPDX-License-Identifier: Apache-2.0
// One value of a manifest against the option that it is meant for.
#pragma once

#include <optional>
#include <string>

#include "runtime/loader/note.h"
#include "runtime/manifest/diagnostics.h"
#include "runtime/manifest/manifest.h"
#include "runtime/manifest/paths.h"

namespace belay::runtime {

// What paths in a manifest are relative to.
struct PathContext {
  ManifestDirectories directories;
  Environment environment;
};

// "a list of integers"
const char* words(const OptionInfo& option);

// The value in the option's own type: an integer where a number is wanted is converted, a path made absolute. Nothing,
// and a problem, where its type, range or choices are not the option's, or a path cannot be expanded.
std::optional<OptionValue> check_value(const OptionInfo& option, const PluginOption& given, const PathContext& paths,
                                       Diagnostics& problems);

}  // namespace belay::runtime
