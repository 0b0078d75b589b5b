// SPDX-License-Identifier: Apache-2.0
// GradientBuckets holds the buckets of a step of several processes. Its thread exchanges them with the other ranks
// while the backward pass still runs.
//
//   GradientBuckets buckets({{.elements = 4096, .gradients = true}, ...}, sum, interrupt);   // before the first step
//   float* to = buckets.memory(0);         // in each step: fill it,
//   buckets.begin(0);                      // and hand it over
//   ... bucket 1, 2 ...                    // all of them, in their order
//   buckets.wait();                        // after this they hold the sums
//
// All ranks begin and sum the buckets in the same order, so the calls of the cluster match. Their memory is made once.
// Handing one over is a store, and a wake-up if the thread sleeps.
//
// A bucket of rows has rows of a table with their ids, as many as each rank needs. It is gathered, not summed:
//
//   float* to = buckets.records(2, count, room);      // in each step: this rank's records (graph/step_ranks.h)
//   buckets.begin(2);
//   buckets.wait();
//   const RowsOfRanks all = buckets.rows(2);          // those of all ranks
//
// After the first error nothing more is summed, and each wait throws it, because the ranks are not together any more.
// After a step that ended between two of its buckets no further step can be made. One thread calls this object.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/cluster/row_bucket.h"
#include "runtime/graph/dense_tensor.h"
#include "runtime/platform/threads/clock.h"

namespace belay::runtime {

class NodeGraph;

class GradientBuckets {
 public:
  struct Size {
    std::int64_t elements = 0;  // of the bucket, or of each row
    bool gradients = false;     // it holds only gradients, so they may be rounded on the way
    bool rows = false;          // it is a bucket of rows
    friend bool operator==(const Size&, const Size&) = default;
  };
  // Sums the values over the ranks. The thread of this object calls it.
  using Sum = std::function<void(const TensorView& values, bool gradients)>;
  // Writes the values of each of `ranks` ranks to `all`, in the order of the ranks. The thread of this object calls it.
  struct Gather {
    int ranks = 1;
    std::function<void(const TensorView& mine, const TensorView& all)> call = {};
  };
  // Makes a running Sum or Gather return soon.
  using Interrupt = std::function<void()>;

  GradientBuckets(std::vector<Size> sizes, Sum sum, Interrupt interrupt, Gather gather);
  // Without buckets of rows.
  GradientBuckets(std::vector<Size> sizes, Sum sum, Interrupt interrupt)
      : GradientBuckets(std::move(sizes), std::move(sum), std::move(interrupt), Gather()) {}
  // Interrupts a running call.
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  const std::vector<Size>& sizes() const noexcept { return sizes_; }
  // The memory of the bucket's elements is aligned, and zero at first. The caller owns it until begin() and after
  // wait().
  float* memory(std::size_t bucket) const noexcept { return memory_[bucket].data<float>(); }
  // The same for a bucket of rows. The memory grows with `room` alone, so equal batches allocate nothing.
  float* records(std::size_t bucket, std::int64_t count, std::int64_t room) {
    return rows_[bucket].records(count, room);
  }
  RowsOfRanks rows(std::size_t bucket) const { return rows_[bucket].all(); }
  // FAILED_PRECONDITION if it is the turn of another bucket.
  void begin(std::size_t bucket);
  void wait();

  // From now on the clock times each bucket; null ends that. Call it between two steps.
  void time_by(const Clock* clock) noexcept { clock_ = clock; }
  // Returns when the bucket's sum began and ended, by that clock. Call it after wait().
  std::pair<std::int64_t, std::int64_t> times(std::size_t bucket) const noexcept { return times_[bucket]; }

 private:
  void work();
  void exchange(std::size_t bucket);

  const std::vector<Size> sizes_;
  const Sum sum_;
  const Interrupt interrupt_;
  const Gather gather_;
  std::vector<DenseTensor> memory_;
  std::vector<RowBucket> rows_;  // by bucket; those of sums have none
  std::vector<std::pair<std::int64_t, std::int64_t>> times_;
  const Clock* clock_ = nullptr;
  std::size_t next_ = 0;                 // the bucket that begin() expects
  std::atomic<std::uint32_t> begun_{0};  // counts buckets of all steps; it wraps round
  std::atomic<std::uint32_t> done_{0};
  std::atomic<bool> ends_{false};
  std::optional<Error> failure_;  // written before done_ counts the bucket
  std::thread thread_;
};

// In a step the ranks tell each other by these marks if their own loss is not finite. Each rank has an element after
// the values of the bucket with the loss. Before the sum a rank sets its own element to 1 for such a loss, and all
// others to 0.
struct LossMarks {
  std::size_t bucket = 0;
  std::int64_t loss = 0;   // the loss is this element of the bucket
  std::int64_t first = 0;  // the element of rank 0
};
// Makes room for `ranks` marks. Returns none if no bucket holds the graph's loss.
std::optional<LossMarks> add_loss_marks(const NodeGraph& graph, int ranks, std::vector<GradientBuckets::Size>& sizes);

// Returns the sizes that the graph's nodes BeginBucket and BeginRows give, by the number of the bucket. The list is
// empty for a training of one process.
std::vector<GradientBuckets::Size> buckets_of(const NodeGraph& graph);

}  // namespace belay::runtime
