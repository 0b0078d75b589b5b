// SPDX-License-Identifier: Apache-2.0
// Operations that return the same elements with another shape: aliases, which run nothing. Also tensors that are made
// from shapes.
#include "belay/ops/shape.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/ops/kernels/copy.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/half.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

// ---- aliases

void infer_reshape(InferContext& c) {
  Dims dims = c.attrs().integers("shape");
  std::int64_t known = 1;
  std::size_t open = dims.size();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == -1 && open != dims.size()) c.fail("attribute 'shape' has more than one -1: " + dims_text(dims));
    if (dims[i] == -1) {
      open = i;
    } else if (__builtin_mul_overflow(known, dims[i], &known)) {
      c.fail("attribute 'shape' has too many elements: " + dims_text(dims));
    }
  }
  const std::int64_t elements = c.shape(0).elements();
  if (elements >= 0) {
    const bool fits = open == dims.size() ? elements == known : known != 0 && elements % known == 0;
    if (!fits)
      c.fail(fmt::format("{} with {} elements cannot be reshaped to {}", c.input_text(0), elements, dims_text(dims)));
    if (open != dims.size()) dims[open] = elements / known;
  }
  c.output(c.dtype(0), Shape(std::move(dims)));
}

void infer_reshape_like(InferContext& c) {
  const std::int64_t from = c.shape(0).elements(), to = c.shape(1).elements();
  if (from >= 0 && to >= 0 && from != to)
    c.fail(c.input_text(0) + " cannot be reshaped to the shape of " + c.input_text(1));
  c.output(c.dtype(0), c.shape(1));
}

void infer_expand_dims(InferContext& c) {
  if (!c.shape(0).has_rank()) return c.output(c.dtype(0), Shape::unknown());
  Dims dims = c.shape(0).dims();
  const std::size_t axis = c.axis(c.attrs().integer("axis"), c.shape(0).rank() + 1);
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  c.output(c.dtype(0), Shape(std::move(dims)));
}

void infer_squeeze(InferContext& c) {
  const std::vector<std::int64_t> axes = c.attrs().integers("axes");
  const Shape& x = c.shape(0);
  // Without axes, the dimensions of 1 are known only if all dimensions are.
  if (!x.has_rank() || (axes.empty() && !x.fully_known())) return c.output(c.dtype(0), Shape::unknown());
  std::vector<bool> removed(x.dims().size(), false);
  for (std::size_t i = 0; axes.empty() && i < removed.size(); ++i) removed[i] = x.dim(i) == 1;
  for (const std::int64_t axis : axes) {
    const std::size_t i = c.axis(axis, x.rank());
    if (x.dim(i) > 1 || x.dim(i) == 0) c.fail(fmt::format("dimension {} of {} is not 1", i, c.input_text(0)));
    removed[i] = true;
  }
  Dims dims;
  for (std::size_t i = 0; i < removed.size(); ++i)
    if (!removed[i]) dims.push_back(x.dim(i));
  c.output(c.dtype(0), Shape(std::move(dims)));
}

void grad_reshape(GradContext& c) { c.set(0, ops::reshape_like(c.grad(), c.input(0))); }

// ---- made from shapes

void infer_shape(InferContext& c) { c.output(DType::kInt64, Shape{c.shape(0).rank()}); }
class DimsKernel final : public Kernel {
 public:
  explicit DimsKernel(Dims values) : values_(std::move(values)) {}
  void run(void* const*, void* const* out, const KernelContext&) override {
    std::copy(values_.begin(), values_.end(), output<std::int64_t>(out, 0));
  }

 private:
  Dims values_;
};
std::unique_ptr<Kernel> make_shape(const KernelSpec& spec) { return std::make_unique<DimsKernel>(spec.inputs[0].dims); }
std::unique_ptr<Kernel> make_size(const KernelSpec& spec) {
  return std::make_unique<DimsKernel>(Dims{spec.inputs[0].elements()});
}

void infer_like(InferContext& c) {
  if (c.dtype(0) == DType::kString) c.fail(c.input_text(0) + " must be a number or bool");
  c.output(c.dtype(0), c.shape(0));
}

void infer_fill(InferContext& c) {
  Shape shape(c.attrs().integers("shape"));
  const DType dtype = c.attrs().dtype("dtype");
  if (!shape.fully_known()) c.fail("attribute 'shape' must be known, got " + shape.text());
  if (dtype == DType::kString) c.fail("attribute 'dtype' must be a number or bool");
  c.output(dtype, std::move(shape));
}

template <class T>
class FillKernel final : public Kernel {
 public:
  FillKernel(const KernelSpec& spec, T value) : n_(spec.outputs[0].elements()), value_(value), threads_(spec.threads) {}
  void run(void* const*, void* const* out, const KernelContext&) override {
    T* y = output<T>(out, 0);
    parallel_for(n_, 1 << 16, threads_,
                 [&](std::int64_t begin, std::int64_t end, int) { std::fill(y + begin, y + end, value_); });
  }

 private:
  std::int64_t n_;
  T value_;
  int threads_;
};
std::unique_ptr<Kernel> make_filled(const KernelSpec& spec, double value) {
  const DType dtype = spec.outputs[0].dtype;
  const auto number = static_cast<float>(value);
  if (dtype == DType::kBFloat16) return std::make_unique<FillKernel<std::uint16_t>>(spec, bfloat16_bits(number));
  if (dtype == DType::kFloat16) return std::make_unique<FillKernel<std::uint16_t>>(spec, float16_bits(number));
  return make_for(PlainTypes{}, dtype, [&]<class T>(std::type_identity<T>) {
    return std::make_unique<FillKernel<T>>(spec, static_cast<T>(value));
  });
}
std::unique_ptr<Kernel> make_fill(const KernelSpec& spec) { return make_filled(spec, spec.attrs().number("value")); }
std::unique_ptr<Kernel> make_ones(const KernelSpec& spec) { return make_filled(spec, 1); }
std::unique_ptr<Kernel> make_zeros(const KernelSpec& spec) { return make_filled(spec, 0); }

// ---- one hot

void infer_one_hot(InferContext& c) {
  if (c.dtype(0) != DType::kInt32 && c.dtype(0) != DType::kInt64) c.fail(c.input_text(0) + " must be int32 or int64");
  const std::int64_t depth = c.attrs().integer("depth");
  const DType dtype = c.attrs().dtype("dtype");
  if (dtype == DType::kString) c.fail("attribute 'dtype' must be a number or bool");
  if (dtype == DType::kBFloat16 || dtype == DType::kFloat16)
    c.fail("attribute 'dtype' is " + std::string(dtype_name(dtype)) + ", a dtype for storage; use float32 and cast it");
  if (!c.shape(0).has_rank()) return c.output(dtype, Shape::unknown());
  Dims dims = c.shape(0).dims();
  dims.push_back(depth);
  c.output(dtype, Shape(std::move(dims)));
}

template <class Index, class T>
class OneHotKernel final : public Kernel {
 public:
  explicit OneHotKernel(const KernelSpec& spec)
      : n_(spec.inputs[0].elements()),
        depth_(spec.attrs().integer("depth")),
        on_(static_cast<T>(spec.attrs().number("on"))),
        off_(static_cast<T>(spec.attrs().number("off"))) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    const Index* x = input<Index>(in, 0);
    T* y = output<T>(out, 0);
    std::fill_n(y, n_ * depth_, off_);
    for (std::int64_t i = 0; i < n_; ++i)
      if (x[i] >= 0 && x[i] < depth_) y[i * depth_ + x[i]] = on_;
  }

 private:
  std::int64_t n_;
  std::int64_t depth_;
  T on_, off_;
};
std::unique_ptr<Kernel> make_one_hot(const KernelSpec& spec) {
  return make_for(IndexTypes{}, spec.inputs[0].dtype, [&]<class Index>(std::type_identity<Index>) {
    return make_for(PlainTypes{}, spec.outputs[0].dtype,
                    [&]<class T>(std::type_identity<T>) { return std::make_unique<OneHotKernel<Index, T>>(spec); });
  });
}

OpDef alias(const char* name, const char* doc, int n_inputs, void (*infer)(InferContext&),
            std::vector<AttrDef> attrs = {}) {
  return {.name = name,
          .doc = doc,
          .inputs = n_inputs == 1 ? "x" : "x, like",
          .dtypes = "any",
          .n_inputs = n_inputs,
          .attrs = std::move(attrs),
          .shape_inputs = n_inputs == 2 ? 2u : 0u,
          .alias = true,
          .infer = infer,
          .gradient = grad_reshape,
          .kernel = make_copy};
}
OpDef from_shape(const char* name, const char* doc, void (*infer)(InferContext&),
                 std::unique_ptr<Kernel> (*kernel)(const KernelSpec&)) {
  return {.name = name,
          .doc = doc,
          .inputs = "x",
          .dtypes = infer == infer_like ? "any but string" : "any",
          .n_inputs = 1,
          .shape_inputs = 1,
          .infer = infer,
          .stops_gradient = true,
          .kernel = kernel};
}

}  // namespace

void add_shape_ops(OpRegistry& r) {
  r.add(alias("Reshape", "The same elements with the dimensions `shape`, of which one may be -1.", 1, infer_reshape,
              {shape_attr("shape", "the new dimensions; -1: what is left")}));
  r.add(alias("ReshapeLike", "The elements of input 0 with the dimensions of input 1.", 2, infer_reshape_like));
  r.add(alias("ExpandDims", "x with a new dimension of 1 at `axis`.", 1, infer_expand_dims,
              {int_attr("axis", "the place of the new dimension, from -rank - 1 to rank").defaults_to(0)}));
  r.add(alias("Squeeze", "x without its dimensions `axes`, which are 1.", 1, infer_squeeze,
              {ints_attr("axes", "the dimensions; none: all that are 1").defaults_to(std::vector<std::int64_t>{})}));
  r.add(from_shape("Shape", "The dimensions, int64.", infer_shape, make_shape));
  r.add(from_shape("Size", "The number of elements, int64.", infer_count, make_size));
  r.add(from_shape("OnesLike", "Ones in the shape and dtype of x.", infer_like, make_ones));
  r.add(from_shape("ZerosLike", "Zeros in the shape and dtype of x.", infer_like, make_zeros));
  r.add({.name = "Fill",
         .doc = "One value everywhere.",
         .dtypes = "any but string",
         .attrs = {shape_attr("shape", "of the result").defaults_to(Dims{}), dtype_attr("dtype", "of the result"),
                   float_attr("value", "of every element").defaults_to(0)},
         .infer = infer_fill,
         .stops_gradient = true,
         .kernel = make_fill});
  r.add({.name = "OneHot",
         .doc = "A new last dimension `depth`: `on` at the index, `off` elsewhere.",
         .inputs = "indices",
         .dtypes = "indices int32, int64; result numbers, bool",
         .n_inputs = 1,
         .attrs = {int_attr("depth", "the size of the new dimension").at_least(0),
                   float_attr("on", "at the index").defaults_to(1), float_attr("off", "elsewhere").defaults_to(0),
                   dtype_attr("dtype", "of the result").defaults_to(DType::kFloat32)},
         .infer = infer_one_hot,
         .stops_gradient = true,
         .kernel = make_one_hot});
}

}  // namespace belay::runtime
