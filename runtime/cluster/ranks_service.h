// SPDX-License-Identifier: Apache-2.0
// The service "cluster", by which hooks and models call the ranks of the run (belay/cluster.h, Ranks).
//
// In a run of one process each call is one of a group of one. In a run of several, hooks and models have their place in
// it; calls of the other ranks are FAILED_PRECONDITION, since hooks run on rank 0 alone.
#pragma once

#include "belay/cluster.h"

namespace belay::runtime {

// For HostServices::add("cluster", ...); HostServices::set_place says which process this is. [any]
const belay_cluster_service* ranks_service() noexcept;

}  // namespace belay::runtime
