// SPDX-License-Identifier: Apache-2.0
// The insides of an OwnedCoordinator.
#pragma once

#include <memory>

#include "belay/runtime/session.h"
#include "runtime/platform/threads/coordinator.h"

namespace belay {

// Threads keep the coordinator. So a thread that outlives the grace period may still use it.
struct OwnedCoordinator::Insides {
  std::shared_ptr<runtime::Coordinator> coordinator;
};

}  // namespace belay
