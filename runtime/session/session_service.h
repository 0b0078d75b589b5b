// SPDX-License-Identifier: Apache-2.0
// The services "session" and "coordinator": the SDK's Session and Coordinator over the engine's.
#pragma once

#include "belay/host.h"
#include "runtime/platform/threads/coordinator.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {

const belay_session_api* session_service() noexcept;
const belay_coordinator_api* coordinator_service() noexcept;

// Returns the services that need no plugin instance: graph, session, coordinator. They are for programs that use the
// SDK's handles themselves. The others are stubs.
const detail::Services& services_without_host() noexcept;

// INVALID_ARGUMENT: the new value of the global step is negative. Checkpoints are named by it, and steps count from 0.
void refuse_negative_step(const std::string& global_step, const TensorView& value);

inline belay_session* to_handle(DirectSession* session) noexcept { return reinterpret_cast<belay_session*>(session); }
inline DirectSession& from_handle(belay_session* session) noexcept {
  return *reinterpret_cast<DirectSession*>(session);
}
inline belay_coordinator* to_handle(Coordinator* coordinator) noexcept {
  return reinterpret_cast<belay_coordinator*>(coordinator);
}
inline Coordinator& from_handle(belay_coordinator* coordinator) noexcept {
  return *reinterpret_cast<Coordinator*>(coordinator);
}

}  // namespace belay::runtime
