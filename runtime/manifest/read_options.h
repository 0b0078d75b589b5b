// SPDX-License-Identifier: Apache-2.0
// Reads a plugin's options from a table.
#pragma once

#include <string>
#include <vector>

#include "belay/runtime/plugin_use.h"
#include "runtime/manifest/diagnostics.h"
#include "runtime/manifest/toml_tree.h"

namespace belay::runtime {

// Nested tables and tables in lists become dotted keys. `table` is its path for messages ("hooks.0").
void read_options(const std::vector<const TomlEntry*>& entries, const std::string& table,
                  std::vector<PluginOption>& options, Diagnostics& problems);

}  // namespace belay::runtime
