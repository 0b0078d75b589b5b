// SPDX-License-Identifier: Apache-2.0
// Lays one manifest over another: `belay run base.toml experiment.toml`.
#pragma once

#include "runtime/manifest/toml_tree.h"

namespace belay::runtime {

// A table of `over` adds its keys to the table of the same name in `base`, and overrides the common keys. Any other
// value replaces the earlier one. A table with another plugin does, too, since the earlier keys are not for that
// plugin. Each value keeps its place.
void lay_over(TomlNode& base, TomlNode over);

}  // namespace belay::runtime
