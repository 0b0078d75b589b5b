// SPDX-License-Identifier: Apache-2.0
// The manifest of a replay is that of the run's attempt, with another directory and without saves. It has the hooks
// that can change a number, and then the new ones.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "belay/runtime/environment.h"
#include "runtime/estimator/replay/replay_plan.h"
#include "runtime/estimator/replay/replay_request.h"
#include "runtime/loader/file/search.h"
#include "runtime/manifest/diagnostics.h"
#include "runtime/manifest/manifest.h"

namespace belay::runtime {

struct ReplayManifest {
  Manifest manifest;
  std::size_t kept_hooks = 0;           // the number of the run's hooks, which come first
  std::set<std::string> left_out = {};  // instance names that the left-out hooks have, or had
};

// Returns nothing, with problems, if the attempt's manifest or the new hooks cannot be read. INVALID_ARGUMENT for a
// --hook that is no NAME{OPTIONS}. It reads plugins' notes, and loads no plugin.
std::optional<ReplayManifest> replay_manifest(const ReplayRequest& request, const ReplayPlan& plan,
                                              const std::string& directory, const Environment& environment,
                                              Diagnostics& problems);

// Whether a hook of a manifest only watches and changes no number, by its plugin's note. A hook that is not found may
// change some.
bool is_watching(const PluginUse& hook, const PluginSearch& search);

}  // namespace belay::runtime
