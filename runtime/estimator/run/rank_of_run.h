// SPDX-License-Identifier: Apache-2.0
// A run of a manifest that may be one of several processes.
#pragma once

#include <optional>

#include "runtime/cluster/launcher.h"
#include "runtime/manifest/manifest.h"

namespace belay::runtime {

// Returns the process's rank, if a training with [cluster] was started several times; a replay is alone. `given`: the
// place that a program sets, instead of the launcher's variables. It is also none if the place is invalid;
// why_not_alone has the reason.
std::optional<LaunchedPlace> rank_of(const Manifest& manifest, bool replay, const std::optional<LaunchedPlace>& given,
                                     const Environment& environment);
// Returns the rank's part of the manifest. A worker's part has model, optimizer, training input and the hooks of
// session.hooks_on_all_ranks. It has no directory, evaluations and exports. It has no initial values, since they are
// the chief's.
Manifest manifest_of_rank(const Manifest& manifest, const std::optional<LaunchedPlace>& place);
Manifest manifest_of_worker(Manifest manifest);
// Whether its plugin meets without the run's directory (docs/plugins/cluster.md).
bool meets_elsewhere(const ClusterSection& cluster);
// Whether its session is made again after a preemption: not if a lost rank ends the run.
bool recovers(const Manifest& manifest, const std::optional<LaunchedPlace>& place);

}  // namespace belay::runtime
