// SPDX-License-Identifier: Apache-2.0
// The effective manifest: what a run is made from, as TOML that reads back as the same Manifest (`belay show`, and
// manifest.toml in a run directory).
#pragma once

#include <string>

#include "runtime/manifest/manifest.h"

namespace belay::runtime {

// All sections with every default filled in; what is not set and has no value is told in a comment. Our own paths are
// absolute. Plugins' options are those of each PluginUse, as they are: a caller that knows the plugins' declarations
// puts their defaults and absolute paths there first.
std::string effective_manifest(const Manifest& manifest);

}  // namespace belay::runtime
