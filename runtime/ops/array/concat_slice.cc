// SPDX-License-Identifier: Apache-2.0
// Reorders elements, takes parts of tensors, and joins tensors.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "belay/ops/shape.h"
#include "runtime/graph/kernel.h"
#include "runtime/ops/kernels/copy.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

// ---- transpose

std::vector<std::int64_t> permutation(const Attrs& attrs, std::size_t rank) {
  std::vector<std::int64_t> perm = attrs.integers("perm");
  if (!perm.empty()) return perm;
  perm.resize(rank);
  std::iota(perm.rbegin(), perm.rend(), 0);
  return perm;
}

void infer_transpose(InferContext& c) {
  const std::vector<std::int64_t> given = c.attrs().integers("perm");
  if (!c.shape(0).has_rank() && given.empty()) return c.output(c.dtype(0), Shape::unknown());
  const Shape x = c.shape(0).has_rank() ? c.shape(0) : Shape::unknown_of_rank(given.size());
  const std::vector<std::int64_t> perm = permutation(c.attrs(), x.dims().size());
  std::vector<bool> seen(x.dims().size(), false);
  bool ok = perm.size() == seen.size();
  Dims dims;
  for (std::size_t i = 0; ok && i < perm.size(); ++i) {
    ok = perm[i] >= 0 && perm[i] < x.rank() && !seen[static_cast<std::size_t>(perm[i])];
    if (!ok) break;
    seen[static_cast<std::size_t>(perm[i])] = true;
    dims.push_back(x.dim(static_cast<std::size_t>(perm[i])));
  }
  if (!ok)
    c.fail(fmt::format("attribute 'perm' {} is no order of the {} dimensions of {}", dims_text(given), x.rank(),
                       c.input_text(0)));
  c.output(c.dtype(0), Shape(std::move(dims)));
}

class TransposeKernel final : public Kernel {
 public:
  explicit TransposeKernel(const KernelSpec& spec) : copy_(plan(spec)), threads_(spec.threads) {}
  void run(void* const* in, void* const* out, const KernelContext&) override { copy_.run(in[0], out[0], threads_); }

 private:
  static StridedCopy plan(const KernelSpec& spec) {
    const std::vector<std::int64_t> strides = dense_strides(spec.inputs[0].dims);
    std::vector<std::int64_t> from;
    for (const std::int64_t axis : permutation(spec.attrs(), strides.size()))
      from.push_back(strides[static_cast<std::size_t>(axis)]);
    return {dtype_size(spec.inputs[0].dtype), spec.outputs[0].dims, from, dense_strides(spec.outputs[0].dims)};
  }

  StridedCopy copy_;
  int threads_;
};
std::unique_ptr<Kernel> make_transpose(const KernelSpec& spec) { return std::make_unique<TransposeKernel>(spec); }

void grad_transpose(GradContext& c) {
  const std::vector<std::int64_t> perm = c.attrs().integers("perm");
  std::vector<std::int64_t> back(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) back[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  c.set(0, ops::transpose(c.grad(), back));
}

// ---- slice

// Returns the shape of a slice of this input.
Shape slice_shape(const InferContext& c, std::size_t input) {
  const std::vector<std::int64_t> begin = c.attrs().integers("begin"), size = c.attrs().integers("size");
  const Shape& x = c.shape(input);
  if (begin.size() != size.size() || (x.has_rank() && begin.size() != x.dims().size()))
    c.fail(fmt::format("attributes 'begin' and 'size' must have one value for each dimension of {}, got {} and {}",
                       c.input_text(input), begin.size(), size.size()));
  Dims dims;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    const std::int64_t whole = x.has_rank() ? x.dim(i) : -1;
    if (begin[i] < 0 || size[i] < -1 || (whole >= 0 && std::max<std::int64_t>(size[i], 0) > whole - begin[i]))
      c.fail(fmt::format("begin {} and size {} do not lie within dimension {} of {}", begin[i], size[i], i,
                         c.input_text(input)));
    dims.push_back(size[i] >= 0 ? size[i] : (whole >= 0 ? whole - begin[i] : -1));
  }
  return Shape(std::move(dims));
}
void infer_slice(InferContext& c) { c.output(c.dtype(0), slice_shape(c, 0)); }

// Copies between a dense tensor and the part of a larger one that begins at `begin`.
class PartCopy {
 public:
  PartCopy(const TensorSpec& whole, const Dims& begin, const Dims& part, bool from_part) {
    const std::vector<std::int64_t> strides = dense_strides(whole.dims), dense = dense_strides(part);
    for (std::size_t i = 0; i < begin.size(); ++i)
      offset_ += static_cast<std::size_t>(begin[i] * strides[i]) * dtype_size(whole.dtype);
    copy_ = StridedCopy(dtype_size(whole.dtype), part, from_part ? strides : dense, from_part ? dense : strides);
  }
  void take(const void* whole, void* part, int threads) const {
    copy_.run(static_cast<const std::byte*>(whole) + offset_, part, threads);
  }
  void put(const void* part, void* whole, int threads) const {
    copy_.run(part, static_cast<std::byte*>(whole) + offset_, threads);
  }

 private:
  std::size_t offset_ = 0;  // bytes
  StridedCopy copy_;
};

class TakeKernel final : public Kernel {
 public:
  TakeKernel(const KernelSpec& spec, const Dims& begin)
      : copy_(spec.inputs[0], begin, spec.outputs[0].dims, true), threads_(spec.threads) {}
  void run(void* const* in, void* const* out, const KernelContext&) override { copy_.take(in[0], out[0], threads_); }

 private:
  PartCopy copy_;
  int threads_;
};
std::unique_ptr<Kernel> make_slice(const KernelSpec& spec) {
  return std::make_unique<TakeKernel>(spec, spec.attrs().integers("begin"));
}

void grad_slice(GradContext& c) {
  c.set(0, c.graph()
               .node("SliceGrad")
               .in(c.grad())
               .in(c.input(0))
               .attr("begin", c.attrs().integers("begin"))
               .attr("size", c.attrs().integers("size"))
               .output());
}

void infer_slice_grad(InferContext& c) {
  c.need_same_dtype(0, 1);
  if (c.dtype(0) == DType::kString) c.fail(c.input_text(0) + " must be a number or bool");
  const Shape part = slice_shape(c, 1);
  if (!Shape::compatible(part, c.shape(0)))
    c.fail(c.input_text(0) + " must have the shape " + part.text() + " of the slice of " + c.input_text(1));
  c.output(c.dtype(1), c.shape(1));
}

// Fills the output with zeros and puts dy at its place.
class SliceGradKernel final : public Kernel {
 public:
  explicit SliceGradKernel(const KernelSpec& spec)
      : copy_(spec.outputs[0], spec.attrs().integers("begin"), spec.inputs[0].dims, false),
        bytes_(spec.outputs[0].bytes()),
        threads_(spec.threads) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    if (bytes_ != 0) std::memset(out[0], 0, bytes_);
    copy_.put(in[0], out[0], threads_);
  }

 private:
  PartCopy copy_;
  std::size_t bytes_;
  int threads_;
};
std::unique_ptr<Kernel> make_slice_grad(const KernelSpec& spec) { return std::make_unique<SliceGradKernel>(spec); }

void grad_slice_grad(GradContext& c) {
  if (c.wanted(0)) c.set(0, ops::slice(c.grad(), c.attrs().integers("begin"), c.attrs().integers("size")));
}

// ---- concat

std::size_t axis_of(const Attrs& attrs, std::size_t rank) {
  const std::int64_t axis = attrs.integer("axis");
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

// Returns the shape of the inputs from `first` on, joined.
Shape concat_shape(const InferContext& c, std::size_t first) {
  if (c.n_inputs() <= first) c.fail("there is nothing to put together");
  Shape shape = c.shape(first);
  for (std::size_t i = first + 1; i < c.n_inputs(); ++i) {
    c.need_same_dtype(first, i);
    if (!shape.has_rank()) shape = c.shape(i);
  }
  if (!shape.has_rank()) return shape;
  const std::size_t axis = c.axis(c.attrs().integer("axis"), shape.rank());
  shape.set_dim(axis, -1);
  std::int64_t along = 0;
  for (std::size_t i = first; i < c.n_inputs(); ++i) {
    Shape part = c.shape(i).has_rank() ? c.shape(i) : Shape::unknown_of_rank(shape.dims().size());
    bool ok = part.rank() == shape.rank();
    if (ok) {
      along = along < 0 || part.dim(axis) < 0 ? -1 : along + part.dim(axis);
      part.set_dim(axis, -1);
      shape = Shape::merged(shape, part, ok);
    }
    if (!ok)
      c.fail(fmt::format("{} and {} must have the same dimensions except along axis {}", c.input_text(first),
                         c.input_text(i), axis));
  }
  shape.set_dim(axis, along);
  return shape;
}
void infer_concat(InferContext& c) {
  Shape shape = concat_shape(c, 0);
  c.output(c.dtype(0), std::move(shape));
}

class ConcatKernel final : public Kernel {
 public:
  explicit ConcatKernel(const KernelSpec& spec) : threads_(spec.threads) {
    const std::size_t axis = axis_of(spec.attrs(), spec.outputs[0].dims.size());
    Dims begin(spec.outputs[0].dims.size(), 0);
    for (const TensorSpec& part : spec.inputs) {
      parts_.emplace_back(spec.outputs[0], begin, part.dims, false);
      begin[axis] += part.dims[axis];
    }
  }
  void run(void* const* in, void* const* out, const KernelContext&) override {
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].put(in[i], out[0], threads_);
  }

 private:
  std::vector<PartCopy> parts_;
  int threads_;
};
std::unique_ptr<Kernel> make_concat(const KernelSpec& spec) { return std::make_unique<ConcatKernel>(spec); }

void grad_concat(GradContext& c) {
  std::vector<Output> parts;
  for (std::size_t i = 0; i < c.n_inputs(); ++i) parts.push_back(c.input(i));
  for (std::size_t i = 0; i < c.n_inputs(); ++i)
    if (c.wanted(i))
      c.set(i, c.graph()
                   .node("ConcatGrad")
                   .in(c.grad())
                   .in(parts)
                   .attr("axis", c.attrs().integer("axis"))
                   .attr("index", static_cast<std::int64_t>(i))
                   .output());
}

void infer_concat_grad(InferContext& c) {
  const Shape whole = concat_shape(c, 1);
  c.need_same_dtype(0, 1);
  if (!Shape::compatible(whole, c.shape(0)))
    c.fail(c.input_text(0) + " must have the shape " + whole.text() + " of the parts put together");
  const std::int64_t index = c.attrs().integer("index");
  if (index < 0 || index >= static_cast<std::int64_t>(c.n_inputs()) - 1)
    c.fail(fmt::format("attribute 'index' must name one of the {} parts, got {}", c.n_inputs() - 1, index));
  c.output(c.dtype(0), c.shape(static_cast<std::size_t>(index) + 1));
}
std::unique_ptr<Kernel> make_concat_grad(const KernelSpec& spec) {
  const std::size_t axis = axis_of(spec.attrs(), spec.inputs[0].dims.size());
  Dims begin(spec.inputs[0].dims.size(), 0);
  for (std::int64_t i = 0; i < spec.attrs().integer("index"); ++i)
    begin[axis] += spec.inputs[static_cast<std::size_t>(i) + 1].dims[axis];
  return std::make_unique<TakeKernel>(spec, begin);
}

std::vector<AttrDef> slice_attrs() {
  return {ints_attr("begin", "the first element of each dimension"),
          ints_attr("size", "how many elements of each dimension; -1: all up to its end")};
}
AttrDef concat_axis_attr() { return int_attr("axis", "the dimension that grows").defaults_to(0); }

}  // namespace

void add_part_ops(OpRegistry& r) {
  r.add({.name = "Transpose",
         .doc = "Dimension i of the result is dimension `perm`[i] of x.",
         .inputs = "x",
         .dtypes = "any",
         .n_inputs = 1,
         .attrs = {ints_attr("perm", "which dimension of x each one of the result is; none: reversed")
                       .defaults_to(std::vector<std::int64_t>{})},
         .infer = infer_transpose,
         .gradient = grad_transpose,
         .kernel = make_transpose});
  r.add({.name = "Slice",
         .doc = "`size`[i] elements from `begin`[i] on in each dimension i.",
         .inputs = "x",
         .dtypes = "any",
         .n_inputs = 1,
         .attrs = slice_attrs(),
         .infer = infer_slice,
         .gradient = grad_slice,
         .kernel = make_slice});
  r.add({.name = "SliceGrad",
         .doc = "Zeros in the shape of input 1, with input 0 from `begin` on.",
         .inputs = "dy, x",
         .dtypes = "any but string",
         .n_inputs = 2,
         .attrs = slice_attrs(),
         .shape_inputs = 2,
         .infer = infer_slice_grad,
         .gradient = grad_slice_grad,
         .kernel = make_slice_grad});
  r.add({.name = "Concat",
         .doc = "Its inputs one after the other along `axis`.",
         .inputs = "xs...",
         .dtypes = "any",
         .n_inputs = -1,
         .attrs = {concat_axis_attr()},
         .infer = infer_concat,
         .gradient = grad_concat,
         .kernel = make_concat});
  r.add({.name = "ConcatGrad",
         .doc = "The part of input 0 where Concat put its input `index`; the other inputs are those of Concat.",
         .inputs = "dy, xs...",
         .dtypes = "any",
         .n_inputs = -1,
         .attrs = {concat_axis_attr(), int_attr("index", "which input of Concat the result is the part of")},
         .shape_inputs = 0xfffffffe,
         .infer = infer_concat_grad,
         .kernel = make_concat_grad});
}

}  // namespace belay::runtime
