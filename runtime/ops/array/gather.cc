// SPDX-License-Identifier: Apache-2.0
// Picks slices by indices; the gradient puts them back.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "belay/ops/embedding.h"
#include "runtime/graph/kernel.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/hot.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/kernels/row_prefetch.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kCopyGrain = 1 << 14;  // elements

void need_indices(const InferContext& c, std::size_t i) {
  if (c.dtype(i) != DType::kInt32 && c.dtype(i) != DType::kInt64) c.fail(c.input_text(i) + " must be int32 or int64");
}

// Returns the shape of a gather from `params`: the dimensions of the indices replace dimension `axis`.
Shape gathered_shape(const Shape& params, const Shape& indices, std::size_t axis) {
  if (!params.has_rank() || !indices.has_rank()) return Shape::unknown();
  Dims dims(params.dims().begin(), params.dims().begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(dims.end(), indices.dims().begin(), indices.dims().end());
  dims.insert(dims.end(), params.dims().begin() + static_cast<std::ptrdiff_t>(axis) + 1, params.dims().end());
  return Shape(std::move(dims));
}

// Picking `picks` indices turns [outer, entries, inner] into [outer, picks, inner].
struct Slices {
  std::int64_t outer = 1;
  std::int64_t entries = 0;
  std::int64_t inner = 1;
  std::int64_t picks = 0;
  Slices(const Dims& params, const Dims& indices, std::int64_t axis) : picks(count_of(indices)) {
    const auto rank = static_cast<std::int64_t>(params.size());
    if (axis < 0) axis += rank;
    for (std::int64_t i = 0; i < axis; ++i) outer *= params[static_cast<std::size_t>(i)];
    entries = params[static_cast<std::size_t>(axis)];
    for (std::int64_t i = axis + 1; i < rank; ++i) inner *= params[static_cast<std::size_t>(i)];
  }
  template <class Index>
  void check(const Index* indices) const {
    for (std::int64_t i = 0; i < picks; ++i)
      if (indices[i] < 0 || indices[i] >= entries)
        fail(Code::kInvalidArgument, fmt::format("index {} at position {} is not in [0, {})", indices[i], i, entries));
  }
};

// Makes K<Index> for the dtype of input i.
template <template <class> class K>
std::unique_ptr<Kernel> make_by_index(const KernelSpec& spec, std::size_t i) {
  return make_for(IndexTypes{}, spec.inputs[i].dtype,
                  [&]<class Index>(std::type_identity<Index>) { return std::make_unique<K<Index>>(spec); });
}

// ---- gather

void infer_gather(InferContext& c) {
  need_indices(c, 1);
  if (c.dtype(0) == DType::kString) c.fail(c.input_text(0) + " must be numbers or booleans");
  std::size_t axis = 0;
  if (c.shape(0).has_rank()) {
    if (c.shape(0).rank() == 0) c.fail(c.input_text(0) + " must have at least one dimension");
    axis = c.axis(c.attrs().integer("axis"), c.shape(0).rank());
  }
  c.output(c.dtype(0), gathered_shape(c.shape(0), c.shape(1), axis));
}

template <class Index>
class GatherKernel final : public Kernel {
 public:
  explicit GatherKernel(const KernelSpec& spec)
      : size_(spec.inputs[0].dims, spec.inputs[1].dims, spec.attrs().integer("axis")),
        bytes_(size_.inner * static_cast<std::int64_t>(dtype_size(spec.inputs[0].dtype))),
        threads_(spec.threads) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    const std::byte* params = input<std::byte>(in, 0);
    const Index* indices = input<Index>(in, 1);
    std::byte* y = output<std::byte>(out, 0);
    size_.check(indices);
    if (bytes_ == 0) return;
    const std::int64_t rows = size_.outer * size_.picks;
    parallel_for(rows, kCopyGrain / size_.inner + 1, threads_, [&](std::int64_t begin, std::int64_t end, int) {
      const auto from = [&](std::int64_t row) {
        return params + (row / size_.picks * size_.entries + indices[row % size_.picks]) * bytes_;
      };
      for (std::int64_t row = begin; row < end; ++row) {
        if (row + kRowsAhead < end) prefetch_row(from(row + kRowsAhead), bytes_);
        std::memcpy(y + row * bytes_, from(row), static_cast<std::size_t>(bytes_));
      }
    });
  }

 private:
  Slices size_;
  std::int64_t bytes_;  // of one slice
  int threads_;
};
std::unique_ptr<Kernel> make_gather(const KernelSpec& spec) { return make_by_index<GatherKernel>(spec, 1); }

void grad_gather(GradContext& c) {
  if (!c.wanted(0)) return;
  c.set(0, c.graph()
               .node("GatherGrad")
               .in(c.grad())
               .in(c.input(1))
               .in(c.input(0))
               .attr("axis", c.attrs().integer("axis"))
               .output());
}

// ---- its gradient, and the same addition into a variable

template <class T>
[[gnu::always_inline]] inline void add_slices_body(T* to, const T* from, const std::int64_t* at, std::int64_t picks,
                                                   std::int64_t inner, std::int64_t n) {
  for (std::int64_t i = 0; i < picks; ++i) {
    T* y = to + at[i] * inner;
    const T* x = from + i * inner;
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) y[j] = static_cast<T>(y[j] + x[j]);
  }
}
template <class T>
BELAY_HOT void add_slices(T* to, const T* from, const std::int64_t* at, std::int64_t picks, std::int64_t inner,
                          std::int64_t n) {
  add_slices_body(to, from, at, picks, inner, n);
}

// Adds slices at the places of the indices. Threads share the columns of the slices. So a repeated index is added in
// its order at any number of threads.
template <class T, class Index>
class SliceAdder {
 public:
  SliceAdder(const Slices& size, int threads)
      : size_(size), at_(static_cast<std::size_t>(size.picks)), threads_(threads) {}
  void check(const Index* indices) const { size_.check(indices); }
  void add(T* to, const T* from, const Index* indices) {
    std::copy_n(indices, size_.picks, at_.begin());
    const std::int64_t grain = kCopyGrain / std::max<std::int64_t>(1, size_.picks) + 1;
    parallel_for(size_.inner, grain, threads_, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t o = 0; o < size_.outer; ++o)
        add_slices(to + o * size_.entries * size_.inner + begin, from + o * size_.picks * size_.inner + begin,
                   at_.data(), size_.picks, size_.inner, end - begin);
    });
  }

 private:
  Slices size_;
  std::vector<std::int64_t> at_;
  int threads_;
};

void infer_gather_grad(InferContext& c) {
  need_indices(c, 1);
  c.need_same_dtype(0, 2);
  c.need_float(0);
  if (c.shape(2).has_rank()) {
    if (c.shape(2).rank() == 0) c.fail(c.input_text(2) + " must have at least one dimension");
    bool ok = true;
    Shape::merged(gathered_shape(c.shape(2), c.shape(1), c.axis(c.attrs().integer("axis"), c.shape(2).rank())),
                  c.shape(0), ok);
    if (!ok) c.fail(c.input_text(0) + " is not what " + c.input_text(1) + " picks from " + c.input_text(2));
  }
  c.output(c.dtype(2), c.shape(2));
}

template <class T, class Index>
class GatherGradKernel final : public Kernel {
 public:
  explicit GatherGradKernel(const KernelSpec& spec)
      : adder_(Slices(spec.outputs[0].dims, spec.inputs[1].dims, spec.attrs().integer("axis")), spec.threads),
        n_(spec.outputs[0].elements()) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    adder_.check(input<Index>(in, 1));
    std::fill_n(output<T>(out, 0), n_, T(0));
    adder_.add(output<T>(out, 0), input<T>(in, 0), input<Index>(in, 1));
  }

 private:
  SliceAdder<T, Index> adder_;
  std::int64_t n_;
};
std::unique_ptr<Kernel> make_gather_grad(const KernelSpec& spec) {
  return make_for(FloatTypes{}, spec.inputs[0].dtype, [&]<class T>(std::type_identity<T>) {
    return make_for(IndexTypes{}, spec.inputs[1].dtype, [&]<class Index>(std::type_identity<Index>) {
      return std::make_unique<GatherGradKernel<T, Index>>(spec);
    });
  });
}

void grad_gather_grad(GradContext& c) {
  if (c.wanted(0)) c.set(0, ops::gather(c.grad(), c.input(1), c.attrs().integer("axis")));
}

void infer_scatter_add(InferContext& c) {
  need_indices(c, 1);
  c.need_same_dtype(0, 2);
  c.need_number(0);
  if (c.shape(0).has_rank() && c.shape(0).rank() == 0) c.fail(c.input_text(0) + " must have at least one dimension");
  bool ok = true;
  const Shape wanted = gathered_shape(c.shape(0), c.shape(1), 0);
  Shape::merged(wanted, c.shape(2), ok);
  if (!ok) c.fail(c.input_text(2) + " must have the shape " + wanted.text() + ": a slice for each index");
  c.output(c.dtype(0), c.shape(0));
}

template <class T, class Index>
class ScatterAddKernel final : public Kernel {
 public:
  explicit ScatterAddKernel(const KernelSpec& spec)
      : adder_(Slices(spec.inputs[0].dims, spec.inputs[1].dims, 0), spec.threads) {}
  void check(void* const* in, const KernelContext&) override { adder_.check(input<Index>(in, 1)); }
  void run(void* const* in, void* const*, const KernelContext&) override {
    adder_.add(static_cast<T*>(in[0]), input<T>(in, 2), input<Index>(in, 1));
  }

 private:
  SliceAdder<T, Index> adder_;
};
std::unique_ptr<Kernel> make_scatter_add(const KernelSpec& spec) {
  return make_for(NumberTypes{}, spec.inputs[0].dtype, [&]<class T>(std::type_identity<T>) {
    return make_for(IndexTypes{}, spec.inputs[1].dtype, [&]<class Index>(std::type_identity<Index>) {
      return std::make_unique<ScatterAddKernel<T, Index>>(spec);
    });
  });
}

AttrDef axis_attr() { return int_attr("axis", "the dimension of params that the indices choose from").defaults_to(0); }

}  // namespace

void add_gather_ops(OpRegistry& r) {
  r.add({.name = "Gather",
         .doc = "The slices of params along `axis` that the indices (int32 or int64) name.",
         .inputs = "params, indices",
         .dtypes = "params any but string; indices int32, int64",
         .n_inputs = 2,
         .attrs = {axis_attr()},
         .infer = infer_gather,
         .gradient = grad_gather,
         .kernel = make_gather});
  r.add(
      {.name = "GatherGrad",
       .doc = "Zeros in the shape of input 2, with the slices of input 0 added along `axis` at the indices (input 1).",
       .inputs = "dy, indices, params",
       .dtypes = "floats; indices int32, int64",
       .n_inputs = 3,
       .attrs = {axis_attr()},
       .shape_inputs = 4,
       .infer = infer_gather_grad,
       .gradient = grad_gather_grad,
       .kernel = make_gather_grad});
  r.add({.name = "ScatterAdd",
         .doc = "Adds slices (input 2) to a variable (input 0) at the indices (input 1) along its first dimension; "
                "returns the variable's new value.",
         .inputs = "variable, indices, slices",
         .dtypes = "numbers; indices int32, int64",
         .n_inputs = 3,
         .effect = Effect::kWrite,
         .ref_inputs = 1,
         .infer = infer_scatter_add,
         .stops_gradient = true,
         .kernel = make_scatter_add});
}

}  // namespace belay::runtime
