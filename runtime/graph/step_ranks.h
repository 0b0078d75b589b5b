// SPDX-License-Identifier: Apache-2.0
// The processes that make each step together, as operations see them: through the queue whose elements they take
// together. Implementation: runtime/cluster/run_ranks.h. [session]
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "belay/input.h"
#include "belay/tensor.h"
#include "runtime/graph/queue.h"

namespace belay::runtime {

class StepRanks {
 public:
  virtual ~StepRanks() = default;
  // Which part of the rows of the step under way is this process's: the parts of all ranks add up to 1. 0: it has none,
  // and takes part with rows that count for nothing. Behind the dequeue of the step.
  virtual double share() const = 0;
  // The sum over the ranks into each one's tensor, float32: the same bits on all of them, and again in the next run.
  // Gradients may be rounded on the way (cluster.wire). Each rank makes the same calls in each step. ABORTED, with the
  // rank that has failed.
  enum class Values { kGradients, kOthers };
  virtual void all_reduce(const TensorView& values, Values what) = 0;
  // Whether gradients are rounded, and so go by themselves.
  virtual bool rounds_gradients() const = 0;
  // The inputs of the other ranks that the last dequeue took from, where this one keeps their positions: names that
  // outlive the queue, and where each input is behind that.
  virtual const std::vector<std::pair<const std::string*, Position>>& others_took() const = 0;
};

// A queue whose elements they take together.
class QueueOfRanks : public Queue {
 public:
  virtual StepRanks& ranks() noexcept = 0;
};

}  // namespace belay::runtime
