// SPDX-License-Identifier: Apache-2.0
// Operations of several processes that train together.
#pragma once

#include "runtime/graph/op_def.h"
#include "runtime/graph/step_ranks.h"

namespace belay::runtime {

void add_rank_ops(OpRegistry& registry);             // mean_over_ranks.cc
void add_rows_over_ranks_ops(OpRegistry& registry);  // rows_of_step.cc; add_rank_ops calls it

// Returns the processes that take the queue's elements together. FAILED_PRECONDITION: it is one of a single process.
StepRanks& ranks_behind(Queue& queue);

}  // namespace belay::runtime
