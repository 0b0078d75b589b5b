// SPDX-License-Identifier: Apache-2.0
// --set key.path=value: changes to a document's tree before it is read.
#pragma once

#include <string>
#include <vector>

#include "runtime/manifest/toml_tree.h"

namespace belay::runtime {

// In the order given; `root` is a table. What is wrong with the argument itself is in `problems`; keys that no section
// has are found later, when the tree is read.
void apply_sets(TomlNode& root, const std::vector<std::string>& sets, Diagnostics& problems);

}  // namespace belay::runtime
