// SPDX-License-Identifier: Apache-2.0
// An error's meaning for the status that a run ends with. `belay` and programs go by this one table.
#pragma once

#include "belay/error.h"
#include "belay/runtime/run.h"
#include "runtime/estimator/run/run_part.h"

namespace belay::runtime {

// `part`: the work that the error ended.
RunStatus status_of(RunPart part, const Error& error);

}  // namespace belay::runtime
