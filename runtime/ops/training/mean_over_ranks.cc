// SPDX-License-Identifier: Apache-2.0
// The mean of values over the processes of a step, weighted by the rows that each has. All values of a step are in one
// node, and so in one call of the cluster: two nodes might run in another order on another rank. It waits for the other
// ranks, so it lives between the stages of a plan, as what waits for a queue does. In a step of several batches each
// batch has its own weights, so they are applied where the batches are added up.
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

StepRanks& ranks_of(HostContext& context) {
  auto* queue = dynamic_cast<QueueOfRanks*>(&context.queue(0));
  if (queue == nullptr) fail(Code::kFailedPrecondition, "the queue is one of a single process");
  return queue->ranks();
}

void infer_part_of_step(InferContext& c) {
  c.need_dtype(1, DType::kFloat32);
  c.output(DType::kFloat32, c.shape(1));
}

class MeanOverRanksKernel final : public HostKernel {
 public:
  explicit MeanOverRanksKernel(const KernelSpec& spec)
      : outputs_(spec.node.outputs.size()),
        summed_(static_cast<std::size_t>(spec.attrs().integer("summed"))),
        gradients_(static_cast<std::size_t>(spec.attrs().integer("gradients"))),
        threads_(spec.threads) {}

  void run(HostContext& context) override {
    if (ranks_ == nullptr) ranks_ = &ranks_of(context);
    const KernelMode mode;
    fill_bucket(context, static_cast<float>(ranks_->share()));
    exchange();
    take_bucket(context);
  }

 private:
  // A rank without rows adds nothing, whatever its values are: NaN times 0 would be NaN.
  void fill_bucket(HostContext& context, float share) {
    std::int64_t elements = 0;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      elements += static_cast<std::int64_t>(context.input(i + 1).size());
      if (i < gradients_) gradient_elements_ = elements;
    }
    if (!bucket_ || bucket_.elements() != elements) bucket_ = DenseTensor(DType::kFloat32, {elements});
    float* to = bucket_.data<float>();
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const TensorView x = context.input(i + 1);
      const auto n = static_cast<std::int64_t>(x.size());
      fill(x.data<const float>(), i < summed_ ? 1 : share, to, n, threads_);
      to += n;
    }
  }
  // In one call, unless gradients are rounded on the way: the loss is not.
  void exchange() {
    using Values = StepRanks::Values;
    if (!ranks_->rounds_gradients()) return ranks_->all_reduce(TensorView(bucket_.view()), Values::kOthers);
    float* const all = bucket_.data<float>();
    const std::int64_t others = bucket_.elements() - gradient_elements_;
    exchange_part(all, gradient_elements_, Values::kGradients);
    exchange_part(all + gradient_elements_, others, Values::kOthers);
  }
  void exchange_part(float* values, std::int64_t n, StepRanks::Values what) {
    if (n == 0) return;
    const belay_tensor part =
        detail::raw_tensor(DType::kFloat32, 1, &n, values, static_cast<std::size_t>(n) * sizeof(float));
    ranks_->all_reduce(TensorView(part), what);
  }
  static void fill(const float* from, float share, float* to, std::int64_t n, int threads) {
    parallel_for(n, kRankGrain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t k = begin; k < end; ++k) to[k] = share == 0 ? 0 : from[k] * share;
    });
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
  const std::size_t summed_, gradients_;
  std::int64_t gradient_elements_ = 0;
  const int threads_;
  StepRanks* ranks_ = nullptr;
  DenseTensor bucket_;
};

// Sums in the batches' order. A batch of which this process has no row adds nothing, whatever its values are.
class PartOfStepKernel final : public HostKernel {
 public:
  explicit PartOfStepKernel(const KernelSpec& spec)
      : batches_(spec.attrs().integer("batches")), threads_(spec.threads) {}

  void run(HostContext& context) override {
    const TensorView x = context.input(1);
    const auto share = static_cast<float>(ranks_of(context).share() / static_cast<double>(batches_));
    const bool first = context.pass() == 0;
    if (first && (!sum_ || !fits(x) || sum_.shared())) sum_ = DenseTensor(DType::kFloat32, x.dims());
    if (!fits(x))
      fail(Code::kInvalidArgument, "the value of one batch of the step is of shape " + dims_text(sum_.dims()) +
                                       ", that of a later one of " + dims_text(x.dims()) + "; a mean needs the same");
    const KernelMode mode;
    add(x.data<const float>(), share, first, sum_.data<float>(), sum_.elements(), threads_);
    context.output(0, sum_);
  }

 private:
  bool fits(const TensorView& x) const noexcept {
    const Dims& dims = sum_.dims();
    return std::equal(dims.begin(), dims.end(), x.raw().dims, x.raw().dims + x.rank());
  }
  static void add(const float* x, float share, bool first, float* sum, std::int64_t n, int threads) {
    parallel_for(n, kRankGrain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t k = begin; k < end; ++k) {
        const float part = share == 0 ? 0 : x[k] * share;
        sum[k] = first ? part : sum[k] + part;
      }
    });
  }

  const std::int64_t batches_;
  const int threads_;
  DenseTensor sum_;
};

std::unique_ptr<HostKernel> make_part_of_step(const KernelSpec& spec) {
  return std::make_unique<PartOfStepKernel>(spec);
}

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
         .attrs = {int_attr("summed", "the first so many values are summed as they are: they have their weights")
                       .at_least(0)
                       .defaults_to(0),
                   int_attr("gradients", "the first so many values are gradients, which may be rounded on the way")
                       .at_least(0)
                       .defaults_to(0),
                   int_attr("batches", "of each process in a step: for who asks how large a step is")
                       .at_least(1)
                       .defaults_to(1),
                   int_attr("ranks", "the processes: for who asks how large a step is").at_least(1).defaults_to(1)},
         .effect = Effect::kBlocking,
         .ref_inputs = 1,
         .infer = infer_mean_over_ranks,
         .stops_gradient = true,
         .host_kernel = make_mean_over_ranks});
  r.add({.name = "PartOfStep",
         .doc =
             "This process's part of a mean over all rows of a step of several batches, which the sum over the "
             "processes makes whole: what x depends on runs `batches` times in a run, each time with the next batch of "
             "the queue, and counts by the part of the batch's rows that are this process's.",
         .inputs = "queue, x",
         .dtypes = "float32",
         .n_inputs = 2,
         .attrs = {int_attr("batches", "how many make a step").at_least(2)},
         .role = Role::kStepMean,
         .effect = Effect::kState,
         .ref_inputs = 1,
         .infer = infer_part_of_step,
         .stops_gradient = true,
         .host_kernel = make_part_of_step});
}

}  // namespace belay::runtime
