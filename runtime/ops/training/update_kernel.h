// SPDX-License-Identifier: Apache-2.0
// The common part of updates of variables: their shape rule, and two kernels. One updates one or more variables in one
// pass. The other updates rows of one variable.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/graph/kernel.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/hot.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/kernels/row_prefetch.h"

namespace belay::runtime {

// `slots` are inputs with the variable's shape besides input 0. `scalars` are the others.
void infer_update(InferContext& c, const std::vector<std::size_t>& slots, const std::vector<std::size_t>& scalars);
// The same for a gradient of rows: input `grad` has a row for each index, and the last input has the indices.
void infer_sparse_update(InferContext& c, const std::vector<std::size_t>& slots,
                         const std::vector<std::size_t>& scalars, std::size_t grad);

inline constexpr std::int64_t kUpdateGrain = 1 << 14;  // elements worth a thread

// Returns input i of an update, from element `at` on.
template <class T>
T* slot(void* const* in, std::size_t i, std::int64_t at) {
  return static_cast<T*>(in[i]) + at;
}

// Calls f(0) ... f(n - 1), which do not depend on each other.
template <class F>
[[gnu::always_inline]] inline void update_elements(F f, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) f(i);
}

// Updates one or more variables in one pass; their inputs follow each other. Threads share the elements of all of them.
// An Update<T> is one kind: In names its inputs, and prepare() reads the shared inputs. update() changes a range of one
// variable's elements by as many elements of a gradient.
template <class T, class Update>
class UpdateKernel final : public Kernel {
 public:
  explicit UpdateKernel(const KernelSpec& spec) : update_(spec.attrs()), threads_(spec.threads) {
    for (std::size_t i = 0; i < spec.inputs.size(); i += In::kCount) {
      const Dims& var = spec.inputs[i + In::kVar].dims;
      const Dims& grad = spec.inputs[i + In::kGrad].dims;
      if (var != grad)
        fail(Code::kInvalidArgument, "the variable has shape " + dims_text(var) + ", its gradient " + dims_text(grad));
      ends_.push_back((ends_.empty() ? 0 : ends_.back()) + count_of(var));
    }
  }
  void run(void* const* in, void* const*, const KernelContext&) override {
    const typename Update::Step step = update_.prepare(in);
    parallel_for(ends_.back(), kUpdateGrain, threads_, [&](std::int64_t begin, std::int64_t end, int) {
      std::size_t i = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), begin) - ends_.begin());
      for (; begin < end; ++i) {
        const std::int64_t first = i == 0 ? 0 : ends_[i - 1], last = std::min(end, ends_[i]);
        if (begin < last) {
          void* const* const of_one = in + i * In::kCount;
          update_.update(step, of_one, begin - first, input<T>(of_one, In::kGrad) + (begin - first), last - begin);
        }
        begin = last;
      }
    });
  }

 private:
  using In = typename Update::In;
  Update update_;
  std::vector<std::int64_t> ends_;  // each variable's end in the row of all elements
  int threads_;
};

template <template <class> class Update>
std::unique_ptr<Kernel> make_update(const KernelSpec& spec) {
  return make_for(FloatTypes{}, spec.inputs[0].dtype,
                  [&]<class T>(std::type_identity<T>) { return std::make_unique<UpdateKernel<T, Update<T>>>(spec); });
}

// Updates the rows of a variable and its slots that the indices name. The bits are those of UpdateKernel for these
// rows. The indices are those of SumIndexedSlices: ascending, each once, then -1 for rows that are unused.
template <class T, class Update>
class SparseUpdateKernel final : public Kernel {
 public:
  explicit SparseUpdateKernel(const KernelSpec& spec)
      : update_(spec.attrs()),
        entries_(spec.inputs[In::kVar].dims[0]),
        written_(std::bit_width(spec.node.op->ref_inputs)),
        threads_(spec.threads) {
    const Dims &var = spec.inputs[In::kVar].dims, &grad = spec.inputs[In::kGrad].dims,
               &indices = spec.inputs[In::kCount].dims;
    Dims wanted = var;
    wanted[0] = indices[0];
    if (grad != wanted)
      fail(Code::kInvalidArgument, "the gradient's rows have shape " + dims_text(grad) + ", must be " +
                                       dims_text(wanted) + ": a row of the variable for each index");
    picks_ = indices[0];
    for (std::size_t i = 1; i < var.size(); ++i) width_ *= var[i];
  }
  void check(void* const* in, const KernelContext&) override {
    const auto* indices = input<std::int64_t>(in, In::kCount);
    rows_ = 0;
    while (rows_ < picks_ && indices[rows_] != kNoRow) ++rows_;
    for (std::int64_t i = 0; i < picks_; ++i)
      if (i >= rows_ ? indices[i] != kNoRow
                     : indices[i] < 0 || indices[i] >= entries_ || (i > 0 && indices[i] <= indices[i - 1]))
        fail(Code::kInvalidArgument, "index " + std::to_string(indices[i]) + " at position " + std::to_string(i) +
                                         " is wrong: indices are in [0, " + std::to_string(entries_) +
                                         "), ascending, each once, and followed by -1 alone, as SumIndexedSlices "
                                         "makes them");
  }
  void run(void* const* in, void* const*, const KernelContext&) override {
    const typename Update::Step step = update_.prepare(in);
    const auto* indices = input<std::int64_t>(in, In::kCount);
    const T* grad = input<T>(in, In::kGrad);
    parallel_for(rows_, kUpdateGrain / std::max<std::int64_t>(1, width_) + 1, threads_,
                 [&](std::int64_t begin, std::int64_t end, int) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     if (i + kRowsAhead < end) prefetch(in, indices[i + kRowsAhead] * width_);
                     update_.update(step, in, indices[i] * width_, grad + i * width_, width_);
                   }
                 });
  }

 private:
  using In = typename Update::In;
  static constexpr std::int64_t kNoRow = -1;
  // The variable and its slots are the first inputs.
  void prefetch(void* const* in, std::int64_t at) const {
    for (int i = 0; i < written_; ++i)
      prefetch_row(slot<T>(in, static_cast<std::size_t>(i), at), width_ * static_cast<std::int64_t>(sizeof(T)));
  }
  Update update_;
  const std::int64_t entries_;
  const int written_;  // number of the variable and its slots
  std::int64_t picks_ = 0, width_ = 1;
  std::int64_t rows_ = 0;  // of this run
  const int threads_;
};

template <template <class> class Update>
std::unique_ptr<Kernel> make_sparse_update(const KernelSpec& spec) {
  return make_for(FloatTypes{}, spec.inputs[0].dtype, [&]<class T>(std::type_identity<T>) {
    return std::make_unique<SparseUpdateKernel<T, Update<T>>>(spec);
  });
}

// Defines one update.
OpDef update(const char* name, const char* doc, const char* inputs, int n_inputs, std::uint32_t ref_inputs,
             void (*infer)(InferContext&), std::unique_ptr<Kernel> (*kernel)(const KernelSpec&),
             std::vector<AttrDef> attrs = {});

// Adagrad, RMSProp and FTRL of training_adaptive.cc.
void add_adaptive_training_ops(OpRegistry& registry);
std::span<const std::size_t> shared_adaptive_update_inputs(std::string_view op);

}  // namespace belay::runtime
