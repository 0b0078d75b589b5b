// SPDX-License-Identifier: Apache-2.0
// Hooks and models call the ranks of the run by the service "cluster" (belay/cluster.h, Ranks).
//
// In a run of one process each call is one of a group of one. In a run of several processes each instance knows its
// place. Hooks that all processes have can call the others (hook_ranks.h, the service's context). A call of any other
// instance is FAILED_PRECONDITION.
#pragma once

#include "belay/cluster.h"

namespace belay::runtime {

// Give it to HostServices::add("cluster", ...). HostServices::set_place sets the place of this process. [any]
const belay_cluster_service* ranks_service() noexcept;

}  // namespace belay::runtime
