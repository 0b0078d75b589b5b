// SPDX-License-Identifier: Apache-2.0
// How long a task of an Experiment waits before it trains.
#pragma once

#include <cstdint>

namespace belay {

struct WorkerDelay {
  double seconds = 0;
  std::int64_t steps = 0;  // of the global step; 0: it does not wait for one
};
// 5 s for each task before it, at most 60; or 8000 * ln(task_index + 1) steps.
WorkerDelay worker_delay(std::int64_t task_index, bool by_global_step);

}  // namespace belay
