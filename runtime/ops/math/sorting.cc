// SPDX-License-Identifier: Apache-2.0
// Finds the largest elements of rows, and sums along an axis.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "belay/ops/sorting.h"

#include <fmt/core.h>
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kGrain = 1 << 12;

// ---- top k

void infer_top_k(InferContext& c) {
  c.need_number(0);
  const std::int64_t k = c.attrs().integer("k");
  Shape shape = c.shape(0);
  if (shape.has_rank()) {
    if (shape.rank() < 1) c.fail(c.input_text(0) + " must have at least one dimension");
    const auto last = static_cast<std::size_t>(shape.rank() - 1);
    if (shape.dim(last) >= 0 && shape.dim(last) < k)
      c.fail(fmt::format("{} has fewer than {} elements in its last dimension", c.input_text(0), k));
    shape.set_dim(last, k);
  }
  c.output(c.dtype(0), shape);
  c.output(DType::kInt32, shape);
}

// NaN comes before all, then the larger one, then the first one.
template <class T>
bool comes_before(const T* x, std::int32_t a, std::int32_t b) {
  const T u = x[a], v = x[b];
  const bool u_nan = u != u, v_nan = v != v;
  if (u_nan != v_nan) return u_nan;
  return u > v || (!(v > u) && a < b);
}

template <class T>
class TopKKernel final : public Kernel {
 public:
  explicit TopKKernel(const KernelSpec& spec)
      : k_(spec.outputs[0].dims.back()), n_(spec.inputs[0].dims.back()), threads_(spec.threads) {
    rows_ = n_ == 0 ? 0 : spec.inputs[0].elements() / n_;
    order_.resize(static_cast<std::size_t>(n_ * threads_));
  }
  void run(void* const* in, void* const* out, const KernelContext&) override {
    parallel_for(rows_, kGrain / (n_ + 1) + 1, threads_, [&](std::int64_t begin, std::int64_t end, int part) {
      std::int32_t* order = order_.data() + part * n_;
      for (std::int64_t r = begin; r < end; ++r) {
        const T* x = input<T>(in, 0) + r * n_;
        std::iota(order, order + n_, 0);
        std::partial_sort(order, order + k_, order + n_,
                          [x](std::int32_t a, std::int32_t b) { return comes_before(x, a, b); });
        for (std::int64_t i = 0; i < k_; ++i) {
          output<T>(out, 0)[r * k_ + i] = x[order[i]];
          output<std::int32_t>(out, 1)[r * k_ + i] = order[i];
        }
      }
    });
  }

 private:
  std::int64_t k_, n_, rows_;
  int threads_;
  std::vector<std::int32_t> order_;  // of one row, for each thread
};

void grad_top_k(GradContext& c) {
  if (c.grad()) c.set(0, c.graph().node("TopKGrad").in(c.grad()).in(c.output(1)).in(c.input(0)).output());
}

void infer_top_k_grad(InferContext& c) {
  c.need_float(0);
  c.need_dtype(1, DType::kInt32);
  c.need_same_dtype(0, 2);
  Shape top = c.shape(2);
  if (top.has_rank()) {
    if (top.rank() < 1) c.fail(c.input_text(2) + " must have at least one dimension");
    top.set_dim(static_cast<std::size_t>(top.rank() - 1), -1);
  }
  if (!Shape::compatible(c.shape(0), c.shape(1)))
    c.fail(c.input_text(0) + " and " + c.input_text(1) + " must have the same shape");
  for (const std::size_t i : {0, 1})
    if (!Shape::compatible(top, c.shape(i)))
      c.fail(c.input_text(i) + " must have the dimensions of " + c.input_text(2) + " before the last");
  c.output(c.dtype(2), c.shape(2));
}
template <class T>
class TopKGradKernel final : public Kernel {
 public:
  explicit TopKGradKernel(const KernelSpec& spec)
      : k_(spec.inputs[0].dims.back()), n_(spec.outputs[0].dims.back()), elements_(spec.outputs[0].elements()) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    const std::int32_t* indices = input<std::int32_t>(in, 1);
    T* dx = output<T>(out, 0);
    std::fill_n(dx, elements_, T(0));
    for (std::int64_t r = 0; r * n_ < elements_; ++r)
      for (std::int64_t i = r * k_; i < (r + 1) * k_; ++i) {
        if (indices[i] < 0 || indices[i] >= n_)
          fail(Code::kInvalidArgument, fmt::format("index {} at position {} is not in [0, {})", indices[i], i, n_));
        dx[r * n_ + indices[i]] = input<T>(in, 0)[i];
      }
  }

 private:
  std::int64_t k_, n_, elements_;
};

// ---- in top k

void infer_in_top_k(InferContext& c) {
  c.need_float(0);
  c.need_rank(0, 2);
  c.need_rank(1, 1);
  if (c.dtype(1) != DType::kInt32 && c.dtype(1) != DType::kInt64) c.fail(c.input_text(1) + " must be int32 or int64");
  const std::int64_t rows = c.shape(0).has_rank() ? c.shape(0).dim(0) : -1;
  const std::int64_t targets = c.shape(1).has_rank() ? c.shape(1).dim(0) : -1;
  if (rows >= 0 && targets >= 0 && rows != targets)
    c.fail(c.input_text(1) + " must have one target for each row of " + c.input_text(0));
  c.output(DType::kBool, Shape{std::max(rows, targets)});
}

template <class T, class Index>
class InTopKKernel final : public Kernel {
 public:
  explicit InTopKKernel(const KernelSpec& spec)
      : k_(spec.attrs().integer("k")), rows_(spec.inputs[0].dims[0]), classes_(spec.inputs[0].dims[1]) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    for (std::int64_t r = 0; r < rows_; ++r)
      output<bool>(out, 0)[r] = is_in(input<T>(in, 0) + r * classes_, input<Index>(in, 1)[r]);
  }

 private:
  bool is_in(const T* row, std::int64_t target) const {
    if (target < 0 || target >= classes_ || !std::isfinite(row[target])) return false;
    std::int64_t before = 0;
    for (std::int64_t i = 0; i < classes_; ++i) {
      if (!std::isfinite(row[i])) return false;
      before += row[i] > row[target] ? 1 : 0;
    }
    return before < k_;
  }

  std::int64_t k_, rows_, classes_;
};
std::unique_ptr<Kernel> make_in_top_k(const KernelSpec& spec) {
  return make_for(FloatTypes{}, spec.inputs[0].dtype, [&]<class T>(std::type_identity<T>) {
    return make_for(IndexTypes{}, spec.inputs[1].dtype, [&]<class Index>(std::type_identity<Index>) {
      return std::make_unique<InTopKKernel<T, Index>>(spec);
    });
  });
}

// ---- cumulative sum

void infer_cumsum(InferContext& c) {
  c.need_number(0);
  if (c.shape(0).has_rank()) c.axis(c.attrs().integer("axis"), c.shape(0).rank());
  c.output(c.dtype(0), c.shape(0));
}

// Sums of float32 are kept in float64.
template <class T>
class CumsumKernel final : public Kernel {
 public:
  explicit CumsumKernel(const KernelSpec& spec)
      : exclusive_(spec.attrs().flag("exclusive")), reverse_(spec.attrs().flag("reverse")), threads_(spec.threads) {
    const Dims& dims = spec.inputs[0].dims;
    const std::int64_t axis = spec.attrs().integer("axis");
    const auto at = static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(dims.size()) : axis);
    for (std::size_t i = 0; i < dims.size(); ++i) (i < at ? outer_ : (i == at ? terms_ : inner_)) *= dims[i];
  }
  void run(void* const* in, void* const* out, const KernelContext&) override {
    using Sum = std::conditional_t<std::is_floating_point_v<T>, double, WrappingOf<T>>;
    parallel_for(outer_ * inner_, kGrain / (terms_ + 1) + 1, threads_, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t first = i / inner_ * inner_ * terms_ + i % inner_;
        Sum sum = 0;
        for (std::int64_t t = 0; t < terms_; ++t) {
          const std::int64_t at = first + (reverse_ ? terms_ - 1 - t : t) * inner_;
          const auto term = static_cast<Sum>(input<T>(in, 0)[at]);
          output<T>(out, 0)[at] = static_cast<T>(exclusive_ ? sum : sum + term);
          sum += term;
        }
      }
    });
  }

 private:
  bool exclusive_, reverse_;
  std::int64_t outer_ = 1, terms_ = 1, inner_ = 1;
  int threads_;
};
void grad_cumsum(GradContext& c) {
  c.set(0, ops::cumsum(c.grad(), c.attrs().integer("axis"), c.attrs().flag("exclusive"), !c.attrs().flag("reverse")));
}

}  // namespace

void add_sorting_ops(OpRegistry& r) {
  r.add({.name = "TopK",
         .doc = "The `k` largest elements along the last dimension, in falling order, NaN first; output 1 has "
                "their indices (int32), of equal ones the first one first.",
         .inputs = "x",
         .dtypes = "numbers",
         .n_inputs = 1,
         .attrs = {int_attr("k", "how many").at_least(0)},
         .infer = infer_top_k,
         .gradient = grad_top_k,
         .kernel = make_typed<TopKKernel, NumberTypes>});
  r.add({.name = "TopKGrad",
         .doc = "Zeros in the shape of x, and the incoming gradient where TopK took elements from.",
         .inputs = "dy, indices, x",
         .dtypes = "floats; indices int32",
         .n_inputs = 3,
         .shape_inputs = 4,
         .infer = infer_top_k_grad,
         .kernel = make_typed<TopKGradKernel>});
  r.add({.name = "InTopK",
         .doc =
             "Whether fewer than `k` predictions of a row are larger than that of its target. False where a prediction "
             "is not finite or the target is no class.",
         .inputs = "predictions, targets",
         .dtypes = "predictions floats; targets int32, int64",
         .n_inputs = 2,
         .attrs = {int_attr("k", "among how many the target must be").at_least(0)},
         .infer = infer_in_top_k,
         .stops_gradient = true,
         .kernel = make_in_top_k});
  r.add({.name = "Cumsum",
         .doc = "The sums of the elements up to each one along `axis`.",
         .inputs = "x",
         .dtypes = "numbers",
         .n_inputs = 1,
         .attrs = {int_attr("axis", "the dimension along which is summed").defaults_to(0),
                   bool_attr("exclusive", "without the element itself"), bool_attr("reverse", "from the end")},
         .infer = infer_cumsum,
         .gradient = grad_cumsum,
         .kernel = make_typed<CumsumKernel, NumberTypes>});
}

}  // namespace belay::runtime
