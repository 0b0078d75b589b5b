// SPDX-License-Identifier: Apache-2.0
// A table of values as a TOML document that reads back as the same table, for manifests that a program writes.
#pragma once

#include <string>

#include "runtime/manifest/toml_tree.h"

namespace belay::runtime {

// Tables are sections, lists of tables are sections in [[ ]], what is deeper inside a list is in one line.
std::string toml_document(const TomlTable& table);

}  // namespace belay::runtime
