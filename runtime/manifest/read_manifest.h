// SPDX-License-Identifier: Apache-2.0
// Turns the document's tree, with the --sets in it, into the Manifest.
#pragma once

#include "runtime/manifest/manifest.h"
#include "runtime/manifest/read_fields.h"

namespace belay::runtime {

// The caller sets `file` and `directory`.
Manifest read_manifest_tree(const TomlNode& root, const std::string& file, const ReadContext& context);

}  // namespace belay::runtime
