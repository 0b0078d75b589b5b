// SPDX-License-Identifier: Apache-2.0
// `belay reduce`: from a run that ended with an error to the smallest manifest and data that end so, as a folder to
// send to somebody else. The run's directory is only read.
#pragma once

#include "runtime/cli/command_line.h"

namespace belay::runtime {

// An exit status: kExitTrainingFailed where the run does not fail again.
int reduce_command(const ReduceArguments& arguments);

}  // namespace belay::runtime
