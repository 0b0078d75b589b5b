// SPDX-License-Identifier: Apache-2.0
// The mean of a value over the batches of one step. The nodes that it depends on run once for each batch, in one run
// (runtime/session/plan.h). So it lives between the stages of a plan, like operations that wait for a queue.
#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/graph/host_kernel.h"
#include "runtime/graph/kernel.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/registry.h"
#include "runtime/platform/threads/floating_point.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kGrain = 1 << 14;  // number of elements that are worth a thread

void infer_mean_over_batches(InferContext& c) {
  c.need_float(0);
  c.output(c.dtype(0), c.shape(0));
}

void mean_over_batches_gradient(GradContext& c) { c.set(0, c.grad()); }

// Adds in the batches' order, each element alone, so the split among threads changes no bit.
template <class T>
void add_batch(const T* x, T* sum, std::int64_t n, int threads) {
  parallel_for(n, kGrain, threads, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) sum[i] += x[i];
  });
}
template <class T>
void divide_by(T batches, T* sum, std::int64_t n, int threads) {
  parallel_for(n, kGrain, threads, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) sum[i] /= batches;
  });
}

class MeanOverBatchesKernel final : public HostKernel {
 public:
  explicit MeanOverBatchesKernel(const KernelSpec& spec)
      : batches_(spec.attrs().integer("batches")), threads_(spec.threads) {}

  void run(HostContext& context) override {
    const TensorView x = context.input(0);
    if (context.pass() == 0) {
      begin(x);
    } else {
      add(x);
    }
    context.output(0, sum_);
  }

 private:
  bool fits(const TensorView& x) const noexcept {
    const Dims& dims = sum_.dims();
    return std::equal(dims.begin(), dims.end(), x.raw().dims, x.raw().dims + x.rank());
  }
  void begin(const TensorView& x) {
    // It reuses the memory of the previous step, unless that still has a reader.
    if (!sum_ || !fits(x) || sum_.shared()) sum_ = DenseTensor(x.dtype(), x.dims());
    if (sum_.bytes() != 0) std::memcpy(sum_.data(), x.data(), sum_.bytes());
    count_ = 1;
  }
  void add(const TensorView& x) {
    if (!fits(x))
      fail(Code::kInvalidArgument, "the value of one batch of the step is of shape " + dims_text(sum_.dims()) +
                                       ", that of a later one of " + dims_text(x.dims()) + "; a mean needs the same");
    ++count_;
    const KernelMode mode;
    if (x.dtype() == DType::kFloat32) {
      add_typed<float>(x);
    } else {
      add_typed<double>(x);
    }
  }
  template <class T>
  void add_typed(const TensorView& x) {
    T* const sum = sum_.data<T>();
    add_batch(x.data<const T>(), sum, sum_.elements(), threads_);
    if (count_ == batches_) divide_by(static_cast<T>(batches_), sum, sum_.elements(), threads_);
  }

  const std::int64_t batches_;
  const int threads_;
  std::int64_t count_ = 0;  // number of batches in sum_
  DenseTensor sum_;
};

std::unique_ptr<HostKernel> make_mean_over_batches(const KernelSpec& spec) {
  return std::make_unique<MeanOverBatchesKernel>(spec);
}

}  // namespace

void add_step_mean_ops(OpRegistry& r) {
  r.add({.name = "MeanOverBatches",
         .doc =
             "The mean of x over the batches of one step: what x depends on runs `batches` times in a run, each time "
             "with the next batch of the queues.",
         .inputs = "x",
         .dtypes = "floats",
         .n_inputs = 1,
         .attrs = {int_attr("batches", "how many make a step").at_least(2)},
         .role = Role::kStepMean,
         .effect = Effect::kState,
         .infer = infer_mean_over_batches,
         .gradient = mean_over_batches_gradient,
         .host_kernel = make_mean_over_batches});
  add_slices_of_step_op(r);
}

}  // namespace belay::runtime
