// SPDX-License-Identifier: Apache-2.0
// The queue of this rank's shard of the training's input begins a step in its dequeue: for all ranks, or for none.
//
// In the dequeue each rank sends the others its state (rank_agreement.h). That is a batch with its epoch and its
// rows, the end of the input, or the end of the run. Until the input has ended on all ranks, a rank without rows takes
// part with those of an earlier batch, and they count for nothing. So does a rank whose next batch is of a later epoch
// than another's. [session thread]
#pragma once

#include <string>

#include "runtime/cluster/rank_agreement.h"
#include "runtime/cluster/rank_inputs.h"
#include "runtime/cluster/step_of_ranks.h"

namespace belay::runtime {

// The queue works on these. All are borrowed.
struct SharedQueueParts {
  const RankMeeting& meeting;
  RankAgreement& agreement;
  RankInputs& inputs;
  StepOfRanks& step;
  const RankControl& control;
};

// Makes queues as `make` does. The queue of the node `name` is shared. FAILED_PRECONDITION if a plugin dequeues from
// it, or a thread that did not make the session.
QueueFactory share_queue(QueueFactory make, const std::string& name, const SharedQueueParts& parts);

}  // namespace belay::runtime
