// SPDX-License-Identifier: Apache-2.0
// Writes a table of values as a TOML document that reads back as the same table. It is for manifests from a program.
#pragma once

#include <string>

#include "runtime/manifest/toml_tree.h"

namespace belay::runtime {

// Tables become sections, and lists of tables sections in [[ ]]. Deeper parts of a list are on one line.
std::string toml_document(const TomlTable& table);

}  // namespace belay::runtime
