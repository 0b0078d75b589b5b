// SPDX-License-Identifier: Apache-2.0
// The meaning of an error for the status at the end of a run. `belay` and programs use this one table.
#pragma once

#include "belay/error.h"
#include "belay/runtime/run.h"
#include "runtime/estimator/run/run_part.h"

namespace belay::runtime {

// `part`: the work that the error ended.
RunStatus status_of(RunPart part, const Error& error);

}  // namespace belay::runtime
