// SPDX-License-Identifier: Apache-2.0
// `belay plugins [--json]`: every plugin of the search path, by kind, and what could not be used and why. Reads notes
// alone; no plugin code runs.
#pragma once

#include <ostream>

#include "runtime/loader/file/search.h"

namespace belay::runtime {

// Text for people, or one JSON object: {"plugins": [{"kind", "name", "version", "file", "doc", "shadowed_by",
// "conflicts_with"}], "rejected": [{"path", "kind", "reason", "help"}], "directories": [{"path", "source"}],
// "warnings": [...]}; keys of a plugin that are empty are left out. Bytes of file names that are no UTF-8 become U+FFFD
// there. Returns the exit status: 0, also if files were rejected. `columns`: of the terminal that `out` is; the
// lines of plugins are no longer, and lack their files; 0: it is none.
int plugins_command(const PluginSearch& search, bool json, std::ostream& out, int columns = 0);

}  // namespace belay::runtime
