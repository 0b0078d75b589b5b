// SPDX-License-Identifier: Apache-2.0
// The service "cluster", by which hooks and models call the ranks of the run (belay/cluster.h, Ranks).
//
// In a run of one process each call is one of a group of one. In a run of several each instance has its place in it,
// and hooks that all processes have call the others (hook_ranks.h, the service's context). A call of any other instance
// is FAILED_PRECONDITION.
#pragma once

#include "belay/cluster.h"

namespace belay::runtime {

// For HostServices::add("cluster", ...); HostServices::set_place says which process this is. [any]
const belay_cluster_service* ranks_service() noexcept;

}  // namespace belay::runtime
