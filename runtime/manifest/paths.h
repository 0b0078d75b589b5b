// SPDX-License-Identifier: Apache-2.0
// Paths in a manifest: relative ones are relative to the manifest's directory, ${NAME} is an environment variable. No
// shell, no ~, and what a variable holds is not expanded again. There is no way to write a literal "${".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "belay/runtime/environment.h"
#include "runtime/manifest/diagnostics.h"
#include "runtime/manifest/manifest.h"

namespace belay::runtime {

// The absolute directory, without symbolic links, of a manifest that was named so on the command line.
std::string directory_of(const std::string& manifest_file);

// The absolute path that `text`, written at `at`, means. Nothing if there is none: a variable that is not set, an empty
// string, a leading "~/"; the problem is then in `problems`, at `at`.
std::optional<std::string> expand_path(std::string_view text, const ManifestDirectories& directories,
                                       const Environment& env, const Location& at, Diagnostics& problems);

}  // namespace belay::runtime
