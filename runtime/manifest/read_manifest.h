// SPDX-License-Identifier: Apache-2.0
// From the document's tree, with the --sets in it, to the Manifest.
#pragma once

#include "runtime/manifest/manifest.h"
#include "runtime/manifest/read_fields.h"

namespace belay::runtime {

// `file` and `directory` are left to the caller.
Manifest read_manifest_tree(const TomlNode& root, const std::string& file, const ReadContext& context);

}  // namespace belay::runtime
