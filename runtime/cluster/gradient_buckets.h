// SPDX-License-Identifier: Apache-2.0
// The buckets of a step of several processes, and the thread that sums them over the ranks while the backward pass goes
// on.
//
//   GradientBuckets buckets({{.elements = 4096, .gradients = true}, ...}, sum, interrupt);   // before the first step
//   float* to = buckets.memory(0);         // of each step: fill it,
//   buckets.begin(0);                      // and hand it over
//   ... bucket 1, 2 ...                    // in their order, all of them
//   buckets.wait();                        // they hold the sums
//
// Buckets are begun and summed in one order, which is the same on all ranks, so calls of the cluster match. Their
// memory is made once; handing one over is a store and, where the thread sleeps, a wake-up.
//
// After the first error nothing more is summed, and each wait throws it: the ranks are not together any more. Where a
// step ends between two of its buckets no other one can be made either. One thread, besides the one that sums.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/graph/dense_tensor.h"
#include "runtime/platform/threads/clock.h"

namespace belay::runtime {

class NodeGraph;

class GradientBuckets {
 public:
  struct Size {
    std::int64_t elements = 0;
    bool gradients = false;  // and nothing else, so they may be rounded on the way
    friend bool operator==(const Size&, const Size&) = default;
  };
  // Sums the values over the ranks. Called on the thread of this object.
  using Sum = std::function<void(const TensorView& values, bool gradients)>;
  // Makes a Sum that is under way return soon.
  using Interrupt = std::function<void()>;

  GradientBuckets(std::vector<Size> sizes, Sum sum, Interrupt interrupt);
  // Interrupts what is under way.
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  const std::vector<Size>& sizes() const noexcept { return sizes_; }
  // Of the bucket's elements, aligned; zeros at first. The caller's until begin, and from wait on.
  float* memory(std::size_t bucket) const noexcept { return memory_[bucket].data<float>(); }
  // FAILED_PRECONDITION where it is not this one's turn.
  void begin(std::size_t bucket);
  void wait();

  // From here on the times of each bucket are taken; null: no longer. Between two steps.
  void time_by(const Clock* clock) noexcept { clock_ = clock; }
  // Behind wait: when the bucket's sum began and ended, by that clock.
  std::pair<std::int64_t, std::int64_t> times(std::size_t bucket) const noexcept { return times_[bucket]; }

 private:
  void work();
  void sum_next(std::size_t bucket);

  const std::vector<Size> sizes_;
  const Sum sum_;
  const Interrupt interrupt_;
  std::vector<DenseTensor> memory_;
  std::vector<std::pair<std::int64_t, std::int64_t>> times_;
  const Clock* clock_ = nullptr;
  std::size_t next_ = 0;                 // of begin
  std::atomic<std::uint32_t> begun_{0};  // buckets of all steps; they wrap round
  std::atomic<std::uint32_t> done_{0};
  std::atomic<bool> ends_{false};
  std::optional<Error> failure_;  // written before done_ says so
  std::thread thread_;
};

// Where the ranks tell each other in a step whose own loss is not finite: each has an element after the values of the
// bucket that holds the loss, which is 1 on that rank and 0 on the others before the sum.
struct LossMarks {
  std::size_t bucket = 0;
  std::int64_t loss = 0;   // where it begins in the bucket
  std::int64_t first = 0;  // the element of rank 0
};
// Makes room for `ranks` of them; none: no bucket holds the graph's loss.
std::optional<LossMarks> add_loss_marks(const NodeGraph& graph, int ranks, std::vector<GradientBuckets::Size>& sizes);

// Those of the graph's nodes BeginBucket, by their numbers; none: it is no training of several processes.
std::vector<GradientBuckets::Size> buckets_of(const NodeGraph& graph);

}  // namespace belay::runtime
