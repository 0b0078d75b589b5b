// SPDX-License-Identifier: Apache-2.0
// Opens an input of a run, with what is known of the training's columns and classes.
#pragma once

#include "runtime/estimator/model_graph.h"
#include "runtime/manifest/diagnostics.h"

namespace belay::runtime {

struct PreparedRun;

// False, with a problem, if it does not fit what the manifest names. Throws what is no mistake of the manifest. [main]
bool open_input(PreparedRun& run, RunInput& input, Diagnostics& problems);

}  // namespace belay::runtime
