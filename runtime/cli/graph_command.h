// SPDX-License-Identifier: Apache-2.0
// `belay graph MANIFEST.toml`: the graph that a manifest describes, and how a training step would run it.
#pragma once

#include "runtime/cli/command_line.h"

namespace belay::runtime {

// Returns the exit status; problems are reported as `belay run` reports them. With arguments.plan some training steps
// are run from freshly initialized variables; no run directory is made, and nothing is kept.
int graph_command(const GraphArguments& arguments);

}  // namespace belay::runtime
