// SPDX-License-Identifier: Apache-2.0
// How the process ends. Scripts and schedulers rely on these numbers.
#pragma once

namespace belay::runtime {

enum ExitStatus : int {
  kExitDone = 0,            // a stop condition was reached, and the last checkpoint is durable
  kExitTrainingFailed = 1,  // model, input or hook error, recoveries used up
  kExitUsage = 2,           // command line, manifest or an input that is not there: nothing was created
  kExitPlugin = 3,          // a plugin was refused or failed to load
  kExitDiverged = 4,        // NaN, infinity or a limit
  kExitNoRestore = 5,       // checkpoints exist, none can be restored: refuses to start over
  kExitInUse = 6,           // another run holds the directory
  kExitSaveFailed = 7,      // trained to the end, but the last checkpoint was not written
  kExitNoProgress = 124,    // the watchdog
};

}  // namespace belay::runtime
