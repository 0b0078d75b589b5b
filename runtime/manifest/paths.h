// SPDX-License-Identifier: Apache-2.0
// Paths in a manifest. Relative ones are relative to the manifest's directory, and ${NAME} is an environment variable.
// There is no shell and no ~, and a variable's value is not expanded again. A literal "${" cannot be written.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "belay/runtime/environment.h"
#include "runtime/manifest/diagnostics.h"
#include "runtime/manifest/manifest.h"

namespace belay::runtime {

// Returns the absolute directory, without symbolic links, of a manifest with this name on the command line.
std::string directory_of(const std::string& manifest_file);

// Returns the absolute path that `text` at `at` means. None: a variable is not set, the string is empty, or it begins
// with "~/". `problems` gets the problem at `at`.
std::optional<std::string> expand_path(std::string_view text, const ManifestDirectories& directories,
                                       const Environment& env, const Location& at, Diagnostics& problems);

}  // namespace belay::runtime
