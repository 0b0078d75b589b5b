// SPDX-License-Identifier: Apache-2.0
// Sums, means, extremes and products over axes, and the operations of their gradients.
#include "belay/ops/reductions.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "belay/ops/math.h"
#include "belay/ops/shape.h"
#include "runtime/ops/kernels/copy.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/reduce.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

// ---- shape rules

// Returns the dimensions that the attribute `axes` names; all if it is empty.
std::vector<bool> reduced_axes(const Attrs& attrs, std::size_t rank) {
  const std::vector<std::int64_t>& axes = attrs.integers("axes");
  std::vector<bool> reduced(rank, axes.empty());
  for (const std::int64_t axis : axes)
    reduced[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis)] = true;
  return reduced;
}

void check_axes(InferContext& c, std::int32_t rank) {
  std::vector<bool> seen(static_cast<std::size_t>(rank), false);
  for (const std::int64_t axis : c.attrs().integers("axes")) {
    const std::size_t i = c.axis(axis, rank);
    if (seen[i]) c.fail(fmt::format("axis {} is given twice", axis));
    seen[i] = true;
  }
}

// Returns the shape of a reduction of this input.
Shape reduced_shape(InferContext& c, std::size_t input = 0) {
  const Shape& x = c.shape(input);
  const bool keep = c.attrs().flag("keep_dims");
  if (!x.has_rank()) return c.attrs().integers("axes").empty() && !keep ? Shape{} : Shape::unknown();
  check_axes(c, x.rank());
  const std::vector<bool> reduced = reduced_axes(c.attrs(), x.dims().size());
  Dims dims;
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    if (!reduced[i]) {
      dims.push_back(x.dim(i));
    } else if (keep) {
      dims.push_back(1);
    }
  }
  return Shape(std::move(dims));
}

void infer_reduced(InferContext& c) {
  c.need_number(0);
  c.output(c.dtype(0), reduced_shape(c));
}
void infer_mean(InferContext& c) {
  c.need_float(0);
  c.output(c.dtype(0), reduced_shape(c));
}
void infer_boolean(InferContext& c) {
  c.need_dtype(0, DType::kBool);
  c.output(DType::kBool, reduced_shape(c));
}

template <template <class> class R, class List = NumberTypes>
std::unique_ptr<Kernel> make_reduction(const KernelSpec& spec) {
  return make_for(List{}, spec.inputs[0].dtype, [&]<class T>(std::type_identity<T>) {
    return std::make_unique<ReduceKernel<R<T>>>(spec, reduced_axes(spec.attrs(), spec.inputs[0].dims.size()));
  });
}
template <class R>
std::unique_ptr<Kernel> make_boolean(const KernelSpec& spec) {
  return std::make_unique<ReduceKernel<R>>(spec, reduced_axes(spec.attrs(), spec.inputs[0].dims.size()));
}

// ---- gradients

// Repeats y, which has the shape of this reduction's result, to the shape of x. `average` divides by the number of
// repetitions.
Output spread(GradContext& c, const Output& y, bool average = false) {
  return c.graph()
      .node("BroadcastLike")
      .in(y)
      .in(c.input(0))
      .attr("axes", c.attrs().integers("axes"))
      .attr("keep_dims", c.attrs().flag("keep_dims"))
      .attr("average", average)
      .output();
}
void grad_sum(GradContext& c) { c.set(0, spread(c, c.grad())); }
void grad_mean(GradContext& c) { c.set(0, spread(c, c.grad(), true)); }
void grad_extreme(GradContext& c) {
  const Output chosen = ops::cast(ops::equal(c.input(0), spread(c, c.output(0))), c.grad().dtype());
  const Output count = ops::reduce_sum(chosen, c.attrs().integers("axes"), c.attrs().flag("keep_dims"));
  c.set(0, spread(c, c.grad() / count) * chosen);
}
void grad_prod(GradContext& c) {
  c.set(0, c.graph()
               .node("ProdGrad")
               .in(c.grad())
               .in(c.input(0))
               .attr("axes", c.attrs().integers("axes"))
               .attr("keep_dims", c.attrs().flag("keep_dims"))
               .output());
}

// ---- the gradient of Prod: the incoming gradient times the product of the other terms

void infer_prod_grad(InferContext& c) {
  c.need_same_dtype(0, 1);
  c.need_float(0);
  const Shape product = reduced_shape(c, 1);
  if (!Shape::compatible(product, c.shape(0)))
    c.fail(c.input_text(0) + " must have the shape " + product.text() + " of the product of " + c.input_text(1));
  c.output(c.dtype(1), c.shape(1));
}

template <class T>
class ProdGradKernel final : public Kernel {
 public:
  explicit ProdGradKernel(const KernelSpec& spec)
      : plan_(spec.inputs[1].dims, reduced_axes(spec.attrs(), spec.inputs[1].dims.size())),
        results_(spec.inputs[0].elements()),
        terms_(plan_.terms() * (plan_.inner_reduced() ? plan_.inner() : 1)) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    const T *dy = input<T>(in, 0), *x = input<T>(in, 1);
    T* dx = output<T>(out, 0);
    for (std::int64_t r = 0; r < results_; ++r) {
      double product = 1;
      for (std::int64_t t = 0; t < terms_; ++t) {
        dx[at(r, t)] = static_cast<T>(product);  // the product of the earlier terms
        product *= x[at(r, t)];
      }
      product = dy[r];
      for (std::int64_t t = terms_; t-- > 0;) {
        dx[at(r, t)] = static_cast<T>(dx[at(r, t)] * product);
        product *= x[at(r, t)];
      }
    }
  }

 private:
  std::int64_t at(std::int64_t result, std::int64_t term) const {
    const std::int64_t column = plan_.inner_reduced() ? term % plan_.inner() : result % plan_.inner();
    if (plan_.inner_reduced()) {
      term /= plan_.inner();
    } else {
      result /= plan_.inner();
    }
    return plan_.result_offset(result) + plan_.block_offset(term / plan_.term_rows()) +
           term % plan_.term_rows() * plan_.term_stride() + column;
  }

  ReductionPlan plan_;
  std::int64_t results_;
  std::int64_t terms_;
};

// ---- broadcasting to a shape, and summing to one

void infer_broadcast_like(InferContext& c) {
  const Shape &x = c.shape(0), &like = c.shape(1);
  if (c.attrs().has("axes")) {
    if (like.has_rank()) check_axes(c, like.rank());
  } else {
    bool ok = true;
    const Shape both = broadcast(x, like, ok);
    if (!ok || !Shape::compatible(both, like))
      c.fail(c.input_text(0) + " does not broadcast to the shape of " + c.input_text(1));
  }
  if (c.attrs().flag("average")) c.need_float(0);
  c.need_number(0);
  c.output(c.dtype(0), like);
}

template <class T>
class BroadcastKernel final : public Kernel {
 public:
  // `dims` are the input's, with a dimension of 1 for each reduced one.
  BroadcastKernel(const KernelSpec& spec, const Dims& dims)
      : plan_({&dims}, spec.outputs[0].dims), threads_(spec.threads) {
    if (spec.attrs().flag("average"))
      scale_ = static_cast<T>(static_cast<double>(count_of(dims)) / static_cast<double>(spec.outputs[0].elements()));
  }
  void run(void* const* in, void* const* out, const KernelContext&) override {
    const T* x = input<T>(in, 0);
    T* y = output<T>(out, 0);
    const std::int64_t inner = plan_.inner();
    if (plan_.rows() == 1) {
      parallel_for(inner, kCheapGrain, threads_, [&](std::int64_t begin, std::int64_t end, int) {
        spread(x + (plan_.contiguous(0) ? begin : 0), end - begin, y + begin);
      });
      return;
    }
    parallel_for(plan_.rows(), kCheapGrain / (inner + 1) + 1, threads_, [&](std::int64_t begin, std::int64_t end, int) {
      plan_.for_each_run(begin, end, [&](const auto& at, std::int64_t first, std::int64_t rows) {
        for (std::int64_t r = 0; r < rows; ++r)
          spread(x + at[0] + r * plan_.row_stride(0), inner, y + (first + r) * inner);
      });
    });
  }

 private:
  void spread(const T* x, std::int64_t n, T* y) const {
    if (!plan_.contiguous(0)) {
      std::fill_n(y, n, static_cast<T>(*x * scale_));
    } else {
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(x[i] * scale_);
    }
  }

  BroadcastPlan plan_;
  int threads_;
  T scale_ = 1;
};

std::unique_ptr<Kernel> make_broadcast_like(const KernelSpec& spec) {
  Dims dims = spec.inputs[0].dims;
  if (spec.attrs().has("axes")) {
    dims = spec.inputs[1].dims;
    const std::vector<bool> reduced = reduced_axes(spec.attrs(), dims.size());
    for (std::size_t i = 0; i < dims.size(); ++i)
      if (reduced[i]) dims[i] = 1;
    if (count_of(dims) != spec.inputs[0].elements())
      fail(Code::kInvalidArgument, "shape " + dims_text(spec.inputs[0].dims) + " is no reduction of shape " +
                                       dims_text(spec.inputs[1].dims) + " over its axes");
  }
  return make_for(NumberTypes{}, spec.inputs[0].dtype,
                  [&]<class T>(std::type_identity<T>) { return std::make_unique<BroadcastKernel<T>>(spec, dims); });
}

void grad_broadcast_like(GradContext& c) {
  if (!c.attrs().has("axes")) return c.set(0, ops::sum_like(c.grad(), c.input(0)));
  const ops::Axes axes = c.attrs().integers("axes");
  const bool keep = c.attrs().flag("keep_dims");
  c.set(0, c.attrs().flag("average") ? ops::reduce_mean(c.grad(), axes, keep) : ops::reduce_sum(c.grad(), axes, keep));
}

void infer_sum_like(InferContext& c) {
  c.need_number(0);
  bool ok = true;
  const Shape both = broadcast(c.shape(1), c.shape(0), ok);
  if (!ok || !Shape::compatible(both, c.shape(0)))
    c.fail("the shape of " + c.input_text(1) + " does not broadcast to " + c.input_text(0));
  c.output(c.dtype(0), c.shape(1));
}
std::unique_ptr<Kernel> make_sum_like(const KernelSpec& spec) {
  const Dims &x = spec.inputs[0].dims, &like = spec.inputs[1].dims;
  if (count_of(x) == count_of(like)) return make_copy(spec);
  std::vector<bool> reduced(x.size(), true);
  const std::size_t missing = x.size() - like.size();
  for (std::size_t i = missing; i < x.size(); ++i) reduced[i] = like[i - missing] != x[i];
  return make_for(NumberTypes{}, spec.inputs[0].dtype, [&]<class T>(std::type_identity<T>) {
    return std::make_unique<ReduceKernel<SumOf<T>>>(spec, reduced);
  });
}
void grad_sum_like(GradContext& c) { c.set(0, ops::broadcast_like(c.grad(), c.input(0))); }

// ---- the gradient of a bias: the sum over all dimensions but the last

void infer_bias_add_grad(InferContext& c) {
  c.need_number(0);
  const Shape& dy = c.shape(0);
  if (!dy.has_rank()) return c.output(c.dtype(0), Shape{-1});
  if (dy.rank() < 1) c.fail(c.input_text(0) + " must have at least one dimension");
  c.output(c.dtype(0), Shape{dy.dim(static_cast<std::size_t>(dy.rank() - 1))});
}
std::unique_ptr<Kernel> make_bias_add_grad(const KernelSpec& spec) {
  std::vector<bool> reduced(spec.inputs[0].dims.size(), true);
  reduced.back() = false;
  return make_for(NumberTypes{}, spec.inputs[0].dtype, [&]<class T>(std::type_identity<T>) {
    return std::make_unique<ReduceKernel<SumOf<T>>>(spec, reduced);
  });
}

// ---- norms

void infer_l2_loss(InferContext& c) {
  c.need_float(0);
  c.output(c.dtype(0), Shape{});
}
void grad_l2_loss(GradContext& c) { c.set(0, c.input(0) * c.grad()); }

void infer_global_norm(InferContext& c) {
  if (c.n_inputs() == 0) c.fail("there is nothing to take the norm of");
  c.need_float(0);
  for (std::size_t i = 1; i < c.n_inputs(); ++i) c.need_same_dtype(0, i);
  c.output(c.dtype(0), Shape{});
}
// At 0 all directions are alike, and the gradient is 0.
void grad_global_norm(GradContext& c) {
  const Output norm = c.output(0), zero = ops::zeros_like(norm);
  const Output scale = ops::select(ops::equal(norm, zero), zero, c.grad() / norm);
  for (std::size_t i = 0; i < c.n_inputs(); ++i)
    if (c.wanted(i)) c.set(i, c.input(i) * scale);
}

// ---- the place of the largest

void infer_arg_max(InferContext& c) {
  c.need_number(0);
  const Shape& x = c.shape(0);
  if (!x.has_rank()) return c.output(DType::kInt64, Shape::unknown());
  const std::size_t axis = c.axis(c.attrs().integer("axis"), x.rank());
  if (x.dim(axis) == 0) c.fail(fmt::format("{} has no elements along axis {}", c.input_text(0), axis));
  Dims dims = x.dims();
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  c.output(DType::kInt64, Shape(std::move(dims)));
}

// Compare returns true if a value replaces the best one so far.
struct Larger {
  template <class T>
  bool operator()(T value, T best) const {
    return value > best;
  }
};
struct Smaller {
  template <class T>
  bool operator()(T value, T best) const {
    return value < best;
  }
};
template <class T, class Compare>
class ArgKernel final : public Kernel {
 public:
  explicit ArgKernel(const KernelSpec& spec) : threads_(spec.threads) {
    const Dims& dims = spec.inputs[0].dims;
    const std::int64_t axis = spec.attrs().integer("axis");
    const std::size_t at = static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(dims.size()) : axis);
    for (std::size_t i = 0; i < dims.size(); ++i) (i < at ? outer_ : (i == at ? terms_ : inner_)) *= dims[i];
  }
  void run(void* const* in, void* const* out, const KernelContext&) override {
    const T* x = input<T>(in, 0);
    std::int64_t* y = output<std::int64_t>(out, 0);
    parallel_for(outer_ * inner_, kCheapGrain / (terms_ + 1) + 1, threads_,
                 [&](std::int64_t begin, std::int64_t end, int) {
                   for (std::int64_t r = begin; r < end; ++r)
                     y[r] = best(x + r / inner_ * inner_ * terms_ + r % inner_);
                 });
  }

 private:
  std::int64_t best(const T* x) const {
    std::int64_t at = 0;
    for (std::int64_t t = 1; t < terms_; ++t) {
      const T value = x[t * inner_], most = x[at * inner_];
      if (Compare()(value, most) || (value != value && most == most)) at = t;
    }
    return at;
  }

  std::int64_t outer_ = 1, terms_ = 1, inner_ = 1;
  int threads_;
};

template <class T>
using ArgMaxKernel = ArgKernel<T, Larger>;
template <class T>
using ArgMinKernel = ArgKernel<T, Smaller>;

AttrDef axes_attr() { return ints_attr("axes", "the dimensions that are reduced; none: all"); }
AttrDef keep_dims_attr() { return bool_attr("keep_dims", "reduced dimensions become 1 instead of going"); }
AttrDef arg_axis_attr() { return int_attr("axis", "the dimension along which is looked").defaults_to(-1); }

OpDef reduction(const char* name, const char* doc, void (*infer)(InferContext&), void (*gradient)(GradContext&),
                std::unique_ptr<Kernel> (*kernel)(const KernelSpec&)) {
  return {.name = name,
          .doc = doc,
          .inputs = "x",
          .dtypes = infer == infer_boolean ? "bool"
                    : infer == infer_mean  ? "floats"
                                           : "numbers",
          .n_inputs = 1,
          .attrs = {axes_attr().defaults_to(std::vector<std::int64_t>{}), keep_dims_attr()},
          .infer = infer,
          .gradient = gradient,
          .stops_gradient = gradient == nullptr,
          .kernel = kernel};
}

void add_axis_reductions(OpRegistry& r) {
  r.add(reduction("Sum", "The sum over axes.", infer_reduced, grad_sum, make_reduction<SumOf>));
  r.add(reduction("Mean", "The mean over axes.", infer_mean, grad_mean, make_reduction<MeanOf, FloatTypes>));
  r.add(
      reduction("Max", "The largest over axes; NaN where any is.", infer_reduced, grad_extreme, make_reduction<MaxOf>));
  r.add(reduction("Min", "The smallest over axes; NaN where any is.", infer_reduced, grad_extreme,
                  make_reduction<MinOf>));
  r.add(reduction("Prod", "The product over axes.", infer_reduced, grad_prod, make_reduction<ProdOf>));
  r.add(reduction("All", "Whether all are true.", infer_boolean, nullptr, make_boolean<AllOf>));
  r.add(reduction("Any", "Whether one is true.", infer_boolean, nullptr, make_boolean<AnyOf>));
  r.add({.name = "ProdGrad",
         .doc = "The gradient of Prod, by the incoming gradient (input 0) and x (input 1).",
         .inputs = "dy, x",
         .dtypes = "floats",
         .n_inputs = 2,
         .attrs = {axes_attr().defaults_to(std::vector<std::int64_t>{}), keep_dims_attr()},
         .infer = infer_prod_grad,
         .kernel = make_typed<ProdGradKernel>});
}

}  // namespace

void add_reduction_ops(OpRegistry& r) {
  add_axis_reductions(r);
  r.add({.name = "BroadcastLike",
         .doc = "x repeated to the shape of input 1: by numpy's rule, or back over the `axes` of a reduction, if "
                "there are any.",
         .inputs = "x, like",
         .dtypes = "numbers",
         .n_inputs = 2,
         .attrs = {axes_attr().optional(), keep_dims_attr(), bool_attr("average", "divide by how often")},
         .shape_inputs = 2,
         .in_place = 1,
         .infer = infer_broadcast_like,
         .gradient = grad_broadcast_like,
         .kernel = make_broadcast_like});
  r.add({.name = "SumLike",
         .doc = "x summed over what the shape of input 1 would be repeated along.",
         .inputs = "x, like",
         .dtypes = "numbers",
         .n_inputs = 2,
         .shape_inputs = 2,
         .in_place = 1,
         .infer = infer_sum_like,
         .gradient = grad_sum_like,
         .kernel = make_sum_like});
  r.add({.name = "BiasAddGrad",
         .doc = "The sum over all dimensions but the last.",
         .inputs = "dy",
         .dtypes = "numbers",
         .n_inputs = 1,
         .infer = infer_bias_add_grad,
         .gradient = grad_sum_like,
         .kernel = make_bias_add_grad});
  r.add({.name = "L2Loss",
         .doc = "sum(x^2) / 2.",
         .inputs = "x",
         .dtypes = "floats",
         .n_inputs = 1,
         .infer = infer_l2_loss,
         .gradient = grad_l2_loss,
         .kernel = make_typed<L2LossKernel>});
  r.add({.name = "GlobalNorm",
         .doc = "The square root of the sum of all squares of all its tensors.",
         .inputs = "xs...",
         .dtypes = "floats",
         .n_inputs = -1,
         .infer = infer_global_norm,
         .gradient = grad_global_norm,
         .kernel = make_typed<GlobalNormKernel>});
  r.add({.name = "ArgMax",
         .doc = "int64: the index of the largest along `axis`, the first of equal ones.",
         .inputs = "x",
         .dtypes = "numbers",
         .n_inputs = 1,
         .attrs = {arg_axis_attr()},
         .infer = infer_arg_max,
         .stops_gradient = true,
         .kernel = make_typed<ArgMaxKernel, NumberTypes>});
  r.add({.name = "ArgMin",
         .doc = "int64: the index of the smallest along `axis`, the first of equal ones.",
         .inputs = "x",
         .dtypes = "numbers",
         .n_inputs = 1,
         .attrs = {arg_axis_attr()},
         .infer = infer_arg_max,
         .stops_gradient = true,
         .kernel = make_typed<ArgMinKernel, NumberTypes>});
}

}  // namespace belay::runtime
