// SPDX-License-Identifier: Apache-2.0
// The check before the TOML parser, which overflows the stack on keys of tens of thousands of parts.
#pragma once

#include "runtime/manifest/diagnostics.h"
#include "runtime/manifest/parse.h"

namespace belay::runtime {

inline constexpr int kMaxKeyParts = 64;
inline constexpr int kMaxLevels = 64;

// True if the parser may see `source`. Otherwise `problems` gets the first problem: the file's size, bytes that are no
// UTF-8, a NUL, a key with too many parts, or too many levels of tables and lists. It knows strings and comments, and
// only as much TOML as it needs. It ignores other faults.
bool within_limits(const ManifestSource& source, Diagnostics& problems);

}  // namespace belay::runtime
