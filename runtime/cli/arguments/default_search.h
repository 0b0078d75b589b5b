// SPDX-License-Identifier: Apache-2.0
// The plugins that a command finds without a run.
#pragma once

#include <string>
#include <vector>

#include "runtime/loader/file/search.h"

namespace belay::runtime {

// Searches a manifest's path, BELAY_PLUGIN_PATH, ~/.local/lib/belay and the installed directory.
PluginSearch search_behind(const std::vector<std::string>& manifest_path);
// Searches without a manifest.
PluginSearch default_search();

}  // namespace belay::runtime
