// SPDX-License-Identifier: Apache-2.0
// One manifest over another: `belay run base.toml experiment.toml`.
#pragma once

#include "runtime/manifest/toml_tree.h"

namespace belay::runtime {

// A table of `over` adds its keys to the one of that name in `base` and overrides those that both have; any other value
// takes the place of the one before, and so does a table that names another plugin, whose keys the earlier ones are
// not. Each value keeps the place where it is written.
void lay_over(TomlNode& base, TomlNode over);

}  // namespace belay::runtime
