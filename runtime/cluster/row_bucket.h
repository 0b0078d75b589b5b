// SPDX-License-Identifier: Apache-2.0
// RowBucket gathers rows of one table with their ids from all ranks, for a step. Each rank has another number of rows.
//
//   float* to = bucket.records(count, room);    // the session thread fills the records of its rank
//   bucket.gather(call);                        // the thread of the buckets
//   const RowsOfRanks all = bucket.all();       // the session thread, later
//
// Two calls of the cluster pass the counts and then the records. Ranks with fewer rows than others send the rest of
// their records without a row.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "belay/tensor.h"
#include "runtime/graph/step_ranks.h"

namespace belay::runtime {

class RowBucket {
 public:
  using Gather = std::function<void(const TensorView& mine, const TensorView& all)>;

  // A row has `width` elements.
  RowBucket(std::int64_t width, int ranks) : record_(kFloatsOfId + width), ranks_(ranks) {}

  // Returns memory for this rank's records of a step, at most `room` of them.
  float* records(std::int64_t count, std::int64_t room);
  // DATA_LOSS if a count of another rank cannot be.
  void gather(const Gather& call);
  // The records of the ranks are one after the other. It is valid after gather(), until records().
  RowsOfRanks all() const noexcept { return {all_.data(), most_ * ranks_, room_ * ranks_}; }

 private:
  struct Header {
    std::int64_t count = 0, room = 0;
  };
  void gather_headers(const Gather& call);

  const std::int64_t record_;  // floats of a record
  const int ranks_;
  Header mine_of_step_;
  std::vector<Header> headers_;       // by rank
  std::int64_t most_ = 0, room_ = 0;  // of one rank, in this step
  std::vector<float> mine_, all_;
};

}  // namespace belay::runtime
