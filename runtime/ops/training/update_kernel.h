// SPDX-License-Identifier: Apache-2.0
// The common part of updates of variables: their shape rule, and a kernel that updates one or more variables in one
// pass.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/graph/kernel.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/hot.h"
#include "runtime/ops/kernels/parallel.h"

namespace belay::runtime {

// `slots` are inputs with the variable's shape besides input 0. `scalars` are the others.
void infer_update(InferContext& c, const std::vector<std::size_t>& slots, const std::vector<std::size_t>& scalars);

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
// An Update<T> is one kind: In names its inputs, prepare() reads the shared inputs, and update() changes a range of one
// variable's elements.
template <class Update>
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
        if (begin < last) update_.update(step, in + i * In::kCount, begin - first, last - begin);
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
                  [&]<class T>(std::type_identity<T>) { return std::make_unique<UpdateKernel<Update<T>>>(spec); });
}

// Defines one update.
OpDef update(const char* name, const char* doc, const char* inputs, int n_inputs, std::uint32_t ref_inputs,
             void (*infer)(InferContext&), std::unique_ptr<Kernel> (*kernel)(const KernelSpec&),
             std::vector<AttrDef> attrs = {});

// Adagrad, RMSProp and FTRL of training_adaptive.cc.
void add_adaptive_training_ops(OpRegistry& registry);
std::span<const std::size_t> shared_adaptive_update_inputs(std::string_view op);

}  // namespace belay::runtime
