// SPDX-License-Identifier: Apache-2.0
// A run of a manifest that may be one of several processes.
#pragma once

#include <optional>

#include "runtime/cluster/launcher.h"
#include "runtime/manifest/manifest.h"

namespace belay::runtime {

// Which one it is, if a training with [cluster] was started several times; a replay is alone. `given`: what a
// program says of it, instead of the launcher's variables. None also if those cannot be, which why_not_alone says.
std::optional<LaunchedPlace> rank_of(const Manifest& manifest, bool replay, const std::optional<LaunchedPlace>& given,
                                     const Environment& environment);
// The part of the manifest that it has. A worker's: model, optimizer and its input; of the hooks those that
// session.hooks_on_all_ranks lists; no directory, no evaluations and exports, and no initial values, which are the
// chief's.
Manifest manifest_of_rank(const Manifest& manifest, const std::optional<LaunchedPlace>& place);
Manifest manifest_of_worker(Manifest manifest);
// Whether its plugin meets without the run's directory (docs/plugins/cluster.md).
bool meets_elsewhere(const ClusterSection& cluster);
// Whether its session is made anew after a preemption: not if a lost rank ends the run.
bool recovers(const Manifest& manifest, const std::optional<LaunchedPlace>& place);

}  // namespace belay::runtime
