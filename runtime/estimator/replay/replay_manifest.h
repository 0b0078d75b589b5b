// SPDX-License-Identifier: Apache-2.0
// The manifest of a replay: that of the run's attempt, with a directory of its own, nothing that is saved, and of the
// hooks those that can change a number, then the new ones.
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
  std::size_t kept_hooks = 0;           // of the run's hooks, which come first
  std::set<std::string> left_out = {};  // instance names that the others have, or had
};

// Nothing, with problems, where the attempt's manifest or the new hooks cannot be read. INVALID_ARGUMENT for a --hook
// that is no NAME{OPTIONS}. Reads plugins' notes, and loads none.
std::optional<ReplayManifest> replay_manifest(const ReplayRequest& request, const ReplayPlan& plan,
                                              const std::string& directory, const Environment& environment,
                                              Diagnostics& problems);

// Whether a hook of a manifest watches and changes no number, as its plugin's note says; one that is not found may
// change some.
bool is_watching(const PluginUse& hook, const PluginSearch& search);

}  // namespace belay::runtime
