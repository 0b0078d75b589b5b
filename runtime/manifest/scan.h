// SPDX-License-Identifier: Apache-2.0
// The check before the TOML parser, which overflows the stack on keys of tens of thousands of parts.
#pragma once

#include "runtime/manifest/diagnostics.h"
#include "runtime/manifest/parse.h"

namespace belay::runtime {

inline constexpr int kMaxKeyParts = 64;
inline constexpr int kMaxLevels = 64;

// Whether the parser may see `source`. If not, the first problem is in `problems`: the file's size, bytes that are no
// UTF-8, a NUL, a key with too many parts, or a value below too many tables and lists. Knows strings and comments, no
// more of TOML than it needs; what is no TOML passes.
bool within_limits(const ManifestSource& source, Diagnostics& problems);

}  // namespace belay::runtime
