// SPDX-License-Identifier: Apache-2.0
// The exit statuses of the process. Scripts and schedulers rely on these numbers. belay/runtime/run.h explains them.
#pragma once

#include "belay/runtime/run.h"

namespace belay::runtime {

enum ExitStatus : int {
  kExitDone = static_cast<int>(RunStatus::kDone),
  kExitTrainingFailed = static_cast<int>(RunStatus::kTrainingFailed),
  kExitUsage = static_cast<int>(RunStatus::kUsage),
  kExitPlugin = static_cast<int>(RunStatus::kPlugin),
  kExitDiverged = static_cast<int>(RunStatus::kDiverged),
  kExitNoRestore = static_cast<int>(RunStatus::kNoRestore),
  kExitInUse = static_cast<int>(RunStatus::kInUse),
  kExitSaveFailed = static_cast<int>(RunStatus::kSaveFailed),
  kExitNoProgress = 124,  // the watchdog
};

}  // namespace belay::runtime
