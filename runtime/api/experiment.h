// SPDX-License-Identifier: Apache-2.0
// A task of an Experiment waits this long before it trains.
#pragma once

#include <cstdint>

namespace belay {

struct WorkerDelay {
  double seconds = 0;
  std::int64_t steps = 0;  // it waits for this global step; 0: for none
};
// Returns the delay: 5 s for each earlier task, at most 60 s; or 8000 * ln(task_index + 1) steps.
WorkerDelay worker_delay(std::int64_t task_index, bool by_global_step);

}  // namespace belay
