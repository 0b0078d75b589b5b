// SPDX-License-Identifier: Apache-2.0
// The object that belay_run points to: one hooked run, for its hooks.
#pragma once

#include <string>

#include "belay/detail/sized.h"

namespace belay::runtime {

class DirectSession;
struct RunMetadata;

struct RunContextState {
  DirectSession* session = nullptr;
  belay_run_args original = detail::sized<belay_run_args>();  // the caller's fetches, feeds and options
  std::int64_t number = 0;                                    // number among the session's hooked runs, from 1
  bool stop_requested = false;
  std::string stop_reason;                // the first reason
  const RunMetadata* metadata = nullptr;  // of the run, in after_run; null: not traced
};

inline belay_run* to_handle(RunContextState* run) noexcept { return reinterpret_cast<belay_run*>(run); }
inline RunContextState& from_handle(belay_run* run) noexcept { return *reinterpret_cast<RunContextState*>(run); }

}  // namespace belay::runtime
