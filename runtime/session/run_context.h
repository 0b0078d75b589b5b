// One hooked run, as its hooks see it through belay_run.
#pragma once

#include <string>
#include <vector>

#include "belay/abi.h"

namespace belay::runtime {

class DirectSession;

struct RunContextState {
  DirectSession* session = nullptr;
  belay_run_args original = {};  // the caller's fetches and feeds
  bool stop_requested = false;
  std::string stop_reason;  // the first one
};

inline belay_run* to_handle(RunContextState* run) noexcept { return reinterpret_cast<belay_run*>(run); }
inline RunContextState& from_handle(belay_run* run) noexcept { return *reinterpret_cast<RunContextState*>(run); }

}  // namespace belay::runtime
