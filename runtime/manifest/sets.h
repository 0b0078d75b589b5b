// SPDX-License-Identifier: Apache-2.0
// Applies --set key.path=value: changes to a document's tree before it is read.
#pragma once

#include <string>
#include <vector>

#include "runtime/manifest/toml_tree.h"

namespace belay::runtime {

// Applies them in order; `root` is a table. `problems` gets faults of the arguments themselves. Reading the tree later
// finds unknown keys.
void apply_sets(TomlNode& root, const std::vector<std::string>& sets, Diagnostics& problems);

}  // namespace belay::runtime
