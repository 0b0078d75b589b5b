// SPDX-License-Identifier: Apache-2.0
// Takes every n-th element of a part of a tensor, forwards or backwards. Also padding and repetition.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "belay/ops/shape.h"
#include "runtime/ops/kernels/copy.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/reduce.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

// ---- strided slice

// The elements that are taken of a dimension: `count` of them from `first` on, `stride` apart.
struct Part {
  std::int64_t first = 0;
  std::int64_t stride = 1;
  std::int64_t count = 0;
  bool shrinks = false;  // one element, and no dimension in the result
};

bool has_bit(const Attrs& attrs, const char* mask, std::size_t i) {
  return i < 64 && ((attrs.integer(mask) >> i) & 1) != 0;
}

// By numpy's rule, negative places count from the end, and places outside are cut.
Part part_of_dimension(const Attrs& attrs, std::size_t i, std::int64_t n) {
  const std::vector<std::int64_t>&begin = attrs.integers("begin"), &end = attrs.integers("end"),
        &strides = attrs.integers("strides");
  if (i >= begin.size()) return {0, 1, n, false};
  const auto place = [&](std::int64_t at) { return at < 0 ? at + n : at; };
  Part part;
  part.shrinks = has_bit(attrs, "shrink_axis_mask", i);
  if (part.shrinks) return {place(begin[i]), 1, 1, true};
  part.stride = strides.empty() ? 1 : std::clamp(strides[i], -n - 1, n + 1);  // larger ones also give one element
  const bool forwards = part.stride > 0;
  const std::int64_t low = forwards ? 0 : -1, high = forwards ? n : n - 1;
  part.first = has_bit(attrs, "begin_mask", i) ? (forwards ? low : high) : std::clamp(place(begin[i]), low, high);
  const std::int64_t stop =
      has_bit(attrs, "end_mask", i) ? (forwards ? high : low) : std::clamp(place(end[i]), low, high);
  const std::int64_t span = forwards ? stop - part.first : part.first - stop,
                     step = forwards ? part.stride : -part.stride;
  part.count = span <= 0 ? 0 : (span + step - 1) / step;
  return part;
}

// Fails unless the incoming gradient (input 0) has the shape of the operation's output.
void need_shape(const InferContext& c, const Shape& shape) {
  if (!Shape::compatible(shape, c.shape(0)))
    c.fail(c.input_text(0) + " must have the shape " + shape.text() + ", by the attributes and " + c.input_text(1));
}

// Returns the shape of a strided slice of this input.
Shape strided_shape(const InferContext& c, std::size_t input) {
  const std::vector<std::int64_t> begin = c.attrs().integers("begin"), end = c.attrs().integers("end"),
                                  strides = c.attrs().integers("strides");
  const Shape& x = c.shape(input);
  if (begin.size() != end.size() || (!strides.empty() && strides.size() != begin.size()))
    c.fail(fmt::format("attributes 'begin', 'end' and 'strides' must be as long as each other, got {}, {} and {}",
                       begin.size(), end.size(), strides.size()));
  if (std::find(strides.begin(), strides.end(), 0) != strides.end()) c.fail("a stride is 0");
  if (!x.has_rank()) return Shape::unknown();
  if (begin.size() > x.dims().size())
    c.fail(fmt::format("attribute 'begin' has {} values, {} has {} dimensions", begin.size(), c.input_text(input),
                       x.rank()));
  Dims dims;
  for (std::size_t i = 0; i < x.dims().size(); ++i) {
    const bool shrinks = i < begin.size() && has_bit(c.attrs(), "shrink_axis_mask", i);
    const Part part = part_of_dimension(c.attrs(), i, std::max<std::int64_t>(x.dim(i), 0));
    if (shrinks && x.dim(i) >= 0 && (part.first < 0 || part.first >= x.dim(i)))
      c.fail(fmt::format("place {} does not lie within dimension {} of {}", begin[i], i, c.input_text(input)));
    if (!shrinks) dims.push_back(x.dim(i) < 0 ? -1 : part.count);
  }
  return Shape(std::move(dims));
}
void infer_strided_slice(InferContext& c) { c.output(c.dtype(0), strided_shape(c, 0)); }

// Copies between the chosen elements of the whole tensor and a dense tensor of them.
class PartsCopy {
 public:
  PartsCopy(const Attrs& attrs, const TensorSpec& whole, bool from_whole) {
    const std::vector<std::int64_t> strides = dense_strides(whole.dims);
    Dims dims;
    std::vector<std::int64_t> apart;
    for (std::size_t i = 0; i < whole.dims.size(); ++i) {
      const Part part = part_of_dimension(attrs, i, whole.dims[i]);
      dims.push_back(part.count);
      apart.push_back(part.stride * strides[i]);
      offset_ += part.first * strides[i] * static_cast<std::int64_t>(dtype_size(whole.dtype));
    }
    const std::vector<std::int64_t> dense = dense_strides(dims);
    if (count_of(dims) == 0) offset_ = 0;
    copy_ = StridedCopy(dtype_size(whole.dtype), dims, from_whole ? apart : dense, from_whole ? dense : apart);
  }
  void take(const void* whole, void* part, int threads) const {
    copy_.run(static_cast<const std::byte*>(whole) + offset_, part, threads);
  }
  void put(const void* part, void* whole, int threads) const {
    copy_.run(part, static_cast<std::byte*>(whole) + offset_, threads);
  }

 private:
  std::int64_t offset_ = 0;  // bytes
  StridedCopy copy_;
};

class StridedSliceKernel final : public Kernel {
 public:
  explicit StridedSliceKernel(const KernelSpec& spec)
      : copy_(spec.attrs(), spec.inputs[0], true), threads_(spec.threads) {}
  void run(void* const* in, void* const* out, const KernelContext&) override { copy_.take(in[0], out[0], threads_); }

 private:
  PartsCopy copy_;
  int threads_;
};

// Fills the output with zeros and puts dy at its places.
class StridedSliceGradKernel final : public Kernel {
 public:
  explicit StridedSliceGradKernel(const KernelSpec& spec)
      : copy_(spec.attrs(), spec.outputs[0], false), bytes_(spec.outputs[0].bytes()), threads_(spec.threads) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    if (bytes_ != 0) std::memset(out[0], 0, bytes_);
    copy_.put(in[0], out[0], threads_);
  }

 private:
  PartsCopy copy_;
  std::size_t bytes_;
  int threads_;
};

template <class K>
std::unique_ptr<Kernel> make(const KernelSpec& spec) {
  return std::make_unique<K>(spec);
}

NodeBuilder same_slice(const GradContext& c, const char* op) {
  NodeBuilder node = c.graph().node(op);
  for (const char* list : {"begin", "end", "strides"}) node.attr(list, c.attrs().integers(list));
  for (const char* mask : {"begin_mask", "end_mask", "shrink_axis_mask"}) node.attr(mask, c.attrs().integer(mask));
  return node;
}
void grad_strided_slice(GradContext& c) {
  c.set(0, same_slice(c, "StridedSliceGrad").in(c.grad()).in(c.input(0)).output());
}
void grad_strided_slice_grad(GradContext& c) {
  if (c.wanted(0)) c.set(0, same_slice(c, "StridedSlice").in(c.grad()).output());
}
void infer_strided_slice_grad(InferContext& c) {
  c.need_same_dtype(0, 1);
  if (c.dtype(0) == DType::kString) c.fail(c.input_text(0) + " must be a number or bool");
  need_shape(c, strided_shape(c, 1));
  c.output(c.dtype(1), c.shape(1));
}

// ---- pad

// Returns the shape of this input after padding.
Shape padded_shape(const InferContext& c, std::size_t input) {
  const std::vector<std::int64_t> before = c.attrs().integers("before"), after = c.attrs().integers("after");
  const Shape& x = c.shape(input);
  if (before.size() != after.size() || (x.has_rank() && before.size() != x.dims().size()))
    c.fail(fmt::format("attributes 'before' and 'after' must have one value for each dimension of {}, got {} and {}",
                       c.input_text(input), before.size(), after.size()));
  Dims dims;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] < 0 || after[i] < 0)
      c.fail(fmt::format("dimension {} is padded by {} and {} elements; use at least 0", i, before[i], after[i]));
    std::int64_t n = x.has_rank() ? x.dim(i) : -1;
    if (n >= 0 && (__builtin_add_overflow(n, before[i], &n) || __builtin_add_overflow(n, after[i], &n)))
      c.fail(fmt::format("dimension {} of {} cannot be padded by {} and {} elements", i, c.input_text(input), before[i],
                         after[i]));
    dims.push_back(n);
  }
  return Shape(std::move(dims));
}
void infer_pad(InferContext& c) {
  c.need_number(0);
  c.output(c.dtype(0), padded_shape(c, 0));
}
void infer_pad_grad(InferContext& c) {
  c.need_same_dtype(0, 1);
  c.need_number(0);
  need_shape(c, padded_shape(c, 1));
  c.output(c.dtype(1), c.shape(1));
}

std::int64_t offset_of(const Dims& begin, const Dims& whole) {
  const std::vector<std::int64_t> strides = dense_strides(whole);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < begin.size(); ++i) offset += begin[i] * strides[i];
  return offset;
}

template <class T>
class PadKernel final : public Kernel {
 public:
  explicit PadKernel(const KernelSpec& spec)
      : value_(static_cast<T>(spec.attrs().number("value"))),
        n_(spec.outputs[0].elements()),
        offset_(spec.inputs[0].elements() == 0 ? 0 : offset_of(spec.attrs().integers("before"), spec.outputs[0].dims)),
        copy_(sizeof(T), spec.inputs[0].dims, dense_strides(spec.inputs[0].dims), dense_strides(spec.outputs[0].dims)),
        threads_(spec.threads) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    T* y = output<T>(out, 0);
    std::fill_n(y, n_, value_);
    copy_.run(in[0], y + offset_, threads_);
  }

 private:
  T value_;
  std::int64_t n_, offset_;
  StridedCopy copy_;
  int threads_;
};

class PadGradKernel final : public Kernel {
 public:
  explicit PadGradKernel(const KernelSpec& spec)
      : offset_(spec.outputs[0].elements() == 0 ? 0
                                                : offset_of(spec.attrs().integers("before"), spec.inputs[0].dims) *
                                                      static_cast<std::int64_t>(dtype_size(spec.inputs[0].dtype))),
        copy_(dtype_size(spec.inputs[0].dtype), spec.outputs[0].dims, dense_strides(spec.inputs[0].dims),
              dense_strides(spec.outputs[0].dims)),
        threads_(spec.threads) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    copy_.run(static_cast<const std::byte*>(in[0]) + offset_, out[0], threads_);
  }

 private:
  std::int64_t offset_;  // bytes
  StridedCopy copy_;
  int threads_;
};

void grad_pad(GradContext& c) {
  c.set(0, c.graph()
               .node("PadGrad")
               .in(c.grad())
               .in(c.input(0))
               .attr("before", c.attrs().integers("before"))
               .attr("after", c.attrs().integers("after"))
               .output());
}
void grad_pad_grad(GradContext& c) {
  if (c.wanted(0)) c.set(0, ops::pad(c.grad(), c.attrs().integers("before"), c.attrs().integers("after")));
}

// ---- tile

// Returns the shape of this input after repetition.
Shape tiled_shape(const InferContext& c, std::size_t input) {
  const std::vector<std::int64_t> multiples = c.attrs().integers("multiples");
  const Shape& x = c.shape(input);
  if (x.has_rank() && multiples.size() != x.dims().size())
    c.fail(fmt::format("attribute 'multiples' must have one value for each dimension of {}, got {}",
                       c.input_text(input), multiples.size()));
  Dims dims;
  for (std::size_t i = 0; i < multiples.size(); ++i) {
    std::int64_t n = x.has_rank() ? x.dim(i) : -1;
    if (multiples[i] < 0 || (n >= 0 && __builtin_mul_overflow(n, multiples[i], &n)))
      c.fail(fmt::format("dimension {} cannot be repeated {} times", i, multiples[i]));
    dims.push_back(n);
  }
  return Shape(std::move(dims));
}
void infer_tile(InferContext& c) { c.output(c.dtype(0), tiled_shape(c, 0)); }

// Returns the result's dimensions, with each repetition as a separate dimension before the repeated one.
Dims with_repetitions(const std::vector<std::int64_t>& multiples, const Dims& x) {
  Dims dims;
  for (std::size_t i = 0; i < x.size(); ++i) {
    dims.push_back(multiples[i]);
    dims.push_back(x[i]);
  }
  return dims;
}

class TileKernel final : public Kernel {
 public:
  explicit TileKernel(const KernelSpec& spec) : threads_(spec.threads) {
    const Dims dims = with_repetitions(spec.attrs().integers("multiples"), spec.inputs[0].dims);
    std::vector<std::int64_t> from;
    for (const std::int64_t stride : dense_strides(spec.inputs[0].dims)) {
      from.push_back(0);
      from.push_back(stride);
    }
    copy_ = StridedCopy(dtype_size(spec.inputs[0].dtype), dims, from, dense_strides(dims));
  }
  void run(void* const* in, void* const* out, const KernelContext&) override { copy_.run(in[0], out[0], threads_); }

 private:
  StridedCopy copy_;
  int threads_;
};

void grad_tile(GradContext& c) {
  c.set(0, c.graph()
               .node("TileGrad")
               .in(c.grad())
               .in(c.input(0))
               .attr("multiples", c.attrs().integers("multiples"))
               .output());
}
// Sums over the repetitions.
std::unique_ptr<Kernel> make_tile_grad(const KernelSpec& spec) {
  KernelSpec sum = spec;
  sum.inputs[0].dims = with_repetitions(spec.attrs().integers("multiples"), spec.inputs[1].dims);
  std::vector<bool> reduced;
  for (std::size_t i = 0; i < sum.inputs[0].dims.size(); ++i) reduced.push_back(i % 2 == 0);
  return make_for(FloatTypes{}, spec.inputs[0].dtype, [&]<class T>(std::type_identity<T>) {
    return std::make_unique<ReduceKernel<SumOf<T>>>(sum, reduced);
  });
}
void grad_tile_grad(GradContext& c) {
  if (c.wanted(0)) c.set(0, ops::tile(c.grad(), c.attrs().integers("multiples")));
}
void infer_tile_grad(InferContext& c) {
  c.need_float(0);
  c.need_same_dtype(0, 1);
  need_shape(c, tiled_shape(c, 1));
  c.output(c.dtype(1), c.shape(1));
}

// ---- attributes

std::vector<AttrDef> strided_slice_attrs() {
  return {ints_attr("begin", "the first element of each dimension; negative: from the end"),
          ints_attr("end", "the one after the last"),
          ints_attr("strides", "every how many-th; none: every one").defaults_to(std::vector<std::int64_t>{}),
          int_attr("begin_mask", "bit i: dimension i from its start").defaults_to(0),
          int_attr("end_mask", "bit i: dimension i to its end").defaults_to(0),
          int_attr("shrink_axis_mask", "bit i: only the element begin[i], without dimension i").defaults_to(0)};
}
AttrDef before_attr() { return ints_attr("before", "new elements in front of each dimension"); }
AttrDef after_attr() { return ints_attr("after", "new elements after each dimension"); }
AttrDef multiples_attr() { return ints_attr("multiples", "how many times each dimension is there"); }

}  // namespace

void add_strided_slice_ops(OpRegistry& r) {
  r.add({.name = "StridedSlice",
         .doc =
             "In each dimension i the elements from `begin`[i] to before `end`[i], every `strides`[i]-th, by numpy's "
             "rule.",
         .inputs = "x",
         .dtypes = "any",
         .n_inputs = 1,
         .attrs = strided_slice_attrs(),
         .infer = infer_strided_slice,
         .gradient = grad_strided_slice,
         .kernel = make<StridedSliceKernel>});
  r.add({.name = "StridedSliceGrad",
         .doc = "Zeros in the shape of x, and the incoming gradient where StridedSlice took elements from.",
         .inputs = "dy, x",
         .dtypes = "any but string",
         .n_inputs = 2,
         .attrs = strided_slice_attrs(),
         .shape_inputs = 2,
         .infer = infer_strided_slice_grad,
         .gradient = grad_strided_slice_grad,
         .kernel = make<StridedSliceGradKernel>});
  r.add({.name = "Pad",
         .doc = "x with `before`[i] and `after`[i] more elements in each dimension i, which are `value`.",
         .inputs = "x",
         .dtypes = "numbers",
         .n_inputs = 1,
         .attrs = {before_attr(), after_attr(), float_attr("value", "of the new elements").defaults_to(0)},
         .infer = infer_pad,
         .gradient = grad_pad,
         .kernel = make_typed<PadKernel, NumberTypes>});
  r.add({.name = "PadGrad",
         .doc = "The incoming gradient without the padding that Pad added.",
         .inputs = "dy, x",
         .dtypes = "numbers",
         .n_inputs = 2,
         .attrs = {before_attr(), after_attr()},
         .shape_inputs = 2,
         .infer = infer_pad_grad,
         .gradient = grad_pad_grad,
         .kernel = make<PadGradKernel>});
  r.add({.name = "Tile",
         .doc = "x `multiples`[i] times one after the other along each dimension i.",
         .inputs = "x",
         .dtypes = "any",
         .n_inputs = 1,
         .attrs = {multiples_attr()},
         .infer = infer_tile,
         .gradient = grad_tile,
         .kernel = make<TileKernel>});
  r.add({.name = "TileGrad",
         .doc = "The incoming gradient, summed over the repetitions of Tile.",
         .inputs = "dy, x",
         .dtypes = "floats",
         .n_inputs = 2,
         .attrs = {multiples_attr()},
         .shape_inputs = 2,
         .infer = infer_tile_grad,
         .gradient = grad_tile_grad,
         .kernel = make_tile_grad});
}

}  // namespace belay::runtime
