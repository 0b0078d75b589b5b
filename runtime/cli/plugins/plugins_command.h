// SPDX-License-Identifier: Apache-2.0
// `belay plugins [--json]` prints every plugin of the search path, by kind. It also prints the files that cannot be
// used, with the reason. It reads notes alone; no plugin code runs.
#pragma once

#include <ostream>

#include "runtime/loader/file/search.h"

namespace belay::runtime {

// Prints text for people, or one JSON object: {"plugins": [{"kind", "name", "version", "file", "doc", "shadowed_by",
// "conflicts_with"}], "rejected": [{"path", "kind", "reason", "help"}], "directories": [{"path", "source"}],
// "warnings": [...]}. Empty keys of a plugin are left out. Bytes of file names that are no UTF-8 become U+FFFD there.
// Returns the exit status: 0, also if files were rejected. `columns`: the width of the terminal `out`, 0 if it is none.
// Lines of plugins are not wider, and lack their files.
int plugins_command(const PluginSearch& search, bool json, std::ostream& out, int columns = 0);

}  // namespace belay::runtime
