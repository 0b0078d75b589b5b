// SPDX-License-Identifier: Apache-2.0
// The mean of values over the processes of a step, weighted by the rows that each has. All values of a step are in one
// node, and so in one call of the cluster: two nodes might run in another order on another rank. It waits for the other
// ranks, so it lives between the stages of a plan, as what waits for a queue does.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/graph/host_kernel.h"
#include "runtime/graph/kernel.h"
#include "runtime/graph/step_ranks.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/training/rank_ops.h"
#include "runtime/platform/floating_point.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kRankGrain = 1 << 14;  // elements that are worth a thread

void infer_mean_over_ranks(InferContext& c) {
  if (c.n_inputs() < 2) c.fail("expected a queue and at least one value");
  for (std::size_t i = 1; i < c.n_inputs(); ++i) {
    c.need_dtype(i, DType::kFloat32);
    c.output(DType::kFloat32, c.shape(i));
  }
}

class MeanOverRanksKernel final : public HostKernel {
 public:
  explicit MeanOverRanksKernel(const KernelSpec& spec) : outputs_(spec.node.outputs.size()), threads_(spec.threads) {}

  void run(HostContext& context) override {
    if (ranks_ == nullptr) find_ranks(context);
    const KernelMode mode;
    fill_bucket(context, static_cast<float>(ranks_->share()));
    ranks_->all_reduce(TensorView(bucket_.view()));
    take_bucket(context);
  }

 private:
  void find_ranks(HostContext& context) {
    auto* queue = dynamic_cast<QueueOfRanks*>(&context.queue(0));
    if (queue == nullptr) fail(Code::kFailedPrecondition, "the queue is one of a single process");
    ranks_ = &queue->ranks();
  }
  // A rank without rows adds nothing, whatever its values are: NaN times 0 would be NaN.
  void fill_bucket(HostContext& context, float share) {
    std::int64_t elements = 0;
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      elements += static_cast<std::int64_t>(context.input(i + 1).size());
    if (!bucket_ || bucket_.elements() != elements) bucket_ = DenseTensor(DType::kFloat32, {elements});
    float* to = bucket_.data<float>();
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const TensorView x = context.input(i + 1);
      const auto n = static_cast<std::int64_t>(x.size());
      const float* const from = x.data<const float>();
      parallel_for(n, kRankGrain, threads_, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t k = begin; k < end; ++k) to[k] = share == 0 ? 0 : from[k] * share;
      });
      to += n;
    }
  }
  void take_bucket(HostContext& context) {
    const float* from = bucket_.data<float>();
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const TensorView x = context.input(i + 1);
      DenseTensor& out = outputs_[i];
      // The memory of the step before, unless somebody still reads that.
      if (!out || out.shared() ||
          !std::equal(out.dims().begin(), out.dims().end(), x.raw().dims, x.raw().dims + x.rank()))
        out = DenseTensor(DType::kFloat32, x.dims());
      if (out.bytes() != 0) std::memcpy(out.data(), from, out.bytes());
      from += out.elements();
      context.output(i, out);
    }
  }

  std::vector<DenseTensor> outputs_;
  const int threads_;
  StepRanks* ranks_ = nullptr;
  DenseTensor bucket_;
};

std::unique_ptr<HostKernel> make_mean_over_ranks(const KernelSpec& spec) {
  return std::make_unique<MeanOverRanksKernel>(spec);
}

}  // namespace

void add_rank_ops(OpRegistry& r) {
  r.add({.name = "MeanOverRanks",
         .doc =
             "The means of values over the processes that take the elements of the queue together, weighted by their "
             "rows. Each of them has the same bits afterwards.",
         .inputs = "queue, xs...",
         .dtypes = "float32",
         .n_inputs = -1,
         .effect = Effect::kBlocking,
         .ref_inputs = 1,
         .infer = infer_mean_over_ranks,
         .stops_gradient = true,
         .host_kernel = make_mean_over_ranks});
}

}  // namespace belay::runtime
