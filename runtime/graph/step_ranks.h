// SPDX-License-Identifier: Apache-2.0
// The processes that make each step together, as operations see them: through the queue whose elements they take
// together. Implementation: runtime/cluster/step_of_ranks.h. [session]
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "belay/input.h"
#include "runtime/graph/queue.h"

namespace belay::runtime {

class StepRanks {
 public:
  virtual ~StepRanks() = default;
  // Which part of the rows of the step under way is this process's: the parts of all ranks add up to 1. 0: it has none,
  // and takes part with rows that count for nothing. Behind the dequeue of the step.
  virtual double share() const = 0;
  // What the ranks sum in a step is in buckets of float32, which the graph's nodes BeginBucket describe. Each step
  // fills them and begins them in their order, all of them, while it goes on; wait() returns when they hold the sums
  // over the ranks, and throws ABORTED with the rank that has failed. The same bits on all ranks, and again in the next
  // run. The memory of a bucket, aligned: the caller's until begin(), and from wait() on until the bucket is filled
  // again.
  virtual float* bucket(std::size_t number) = 0;
  virtual void begin(std::size_t number) = 0;  // does not wait
  virtual void wait() = 0;
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
