// SPDX-License-Identifier: Apache-2.0
// The processes that make each step together, for operations. They get it through the queue whose elements the
// processes take together. Implementation: runtime/cluster/step_of_ranks.h. [session]
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "belay/input.h"
#include "runtime/graph/queue.h"

namespace belay::runtime {

// The rows of one table that all ranks have for a step, in the order of the ranks. A record is an id, with the bits of
// an int64, and after it the float32 elements of the row. An id of -1 is no row.
struct RowsOfRanks {
  const float* records = nullptr;
  std::int64_t count = 0;  // of the records
  std::int64_t room = 0;   // for records: it depends only on the shapes of the ranks' batches
};

class StepRanks {
 public:
  virtual ~StepRanks() = default;
  // Returns this process's part of the rows of the current step. The parts of all ranks add up to 1. 0: it has none,
  // and takes part with rows that count for nothing. Call it after the dequeue of the step.
  virtual double share() const = 0;
  // Buckets of float32 hold the values that the ranks sum in a step. The graph's nodes BeginBucket describe them. Each
  // step fills and begins all of them in their order, while it continues. wait() returns when they have the sums over
  // the ranks. ABORTED names the rank that has failed. The bits are the same on all ranks and in the next run. The
  // memory of a bucket is aligned. The caller owns it until begin(), and again from wait() until the bucket is filled.
  virtual float* bucket(std::size_t number) = 0;
  virtual void begin(std::size_t number) = 0;  // does not wait
  virtual void wait() = 0;
  // The graph's nodes BeginRows describe buckets of rows, which the ranks gather. Such a bucket has no bucket(number).
  // records() returns memory for this rank's records of the step, until begin(). `room` is the most that a batch of
  // this shape has. rows() has those of all ranks, from wait() until the bucket is filled.
  virtual float* records(std::size_t number, std::int64_t count, std::int64_t room) = 0;
  virtual RowsOfRanks rows(std::size_t number) = 0;
  // Returns the inputs of other ranks that the last dequeue took from, if this rank keeps their positions. Names
  // outlive the queue. The position is that after the dequeue.
  virtual const std::vector<std::pair<const std::string*, Position>>& others_took() const = 0;
};

inline constexpr std::int64_t kFloatsOfId = 2;  // that a record begins with

// A queue whose elements the processes take together.
class QueueOfRanks : public Queue {
 public:
  virtual StepRanks& ranks() noexcept = 0;
};

}  // namespace belay::runtime
