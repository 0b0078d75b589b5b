// SPDX-License-Identifier: Apache-2.0
// Multiplies many matrices at once.
#include <fmt/core.h>

#include <algorithm>

#include "belay/ops/matmul.h"
#include "runtime/ops/kernels/broadcast.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/kernels/product.h"
#include "runtime/ops/kernels/tile_product.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

// A product of at most this many multiplications runs on one thread, and threads share the products.
constexpr std::int64_t kWhole = std::int64_t{1} << 21;

Shape batch_of(const Shape& x) { return Shape(Dims(x.dims().begin(), x.dims().end() - 2)); }

void infer_batch_matmul(InferContext& c) {
  c.need_same_dtype(0, 1);
  c.need_float(0);
  for (const std::size_t i : {0, 1})
    if (c.shape(i).has_rank() && c.shape(i).rank() < 2) c.fail(c.input_text(i) + " must have at least 2 dimensions");
  if (!c.shape(0).has_rank() || !c.shape(1).has_rank()) return c.output(c.dtype(0), Shape::unknown());
  const bool ta = c.attrs().flag("transpose_a"), tb = c.attrs().flag("transpose_b");
  const auto dim = [&](std::size_t i, bool last) {
    const Dims& dims = c.shape(i).dims();
    return dims[dims.size() - (last ? 1 : 2)];
  };
  const std::int64_t columns = dim(0, !ta), rows = dim(1, tb);
  if (columns >= 0 && rows >= 0 && columns != rows)
    c.fail(fmt::format("{}{} has {} columns, {}{} has {} rows; they must agree", c.input_text(0),
                       ta ? ", transposed," : "", columns, c.input_text(1), tb ? ", transposed," : "", rows));
  bool ok = true;
  const Shape batch = broadcast(batch_of(c.shape(0)), batch_of(c.shape(1)), ok);
  if (!ok)
    c.fail("the dimensions of " + c.input_text(0) + " and " + c.input_text(1) +
           " before the last two do not fit each other");
  Dims dims = batch.dims();
  dims.push_back(dim(0, ta));
  dims.push_back(dim(1, !tb));
  c.output(c.dtype(0), Shape(std::move(dims)));
}

Output summed_to(const Output& gradient, const Output& like) {
  const Dims a = gradient.dims(), b = like.dims();
  const bool same =
      like.rank() >= 2 && a.size() == b.size() &&
      std::equal(a.begin(), a.end() - 2, b.begin(), [](std::int64_t x, std::int64_t y) { return x == y && x >= 0; });
  return same ? gradient : ops::sum_like(gradient, like);
}

void grad_batch_matmul(GradContext& c) {
  const bool ta = c.attrs().flag("transpose_a"), tb = c.attrs().flag("transpose_b");
  const Output &a = c.input(0), &b = c.input(1), &dy = c.grad();
  if (c.wanted(0))
    c.set(0, summed_to(ta ? ops::batch_matmul(b, dy, tb, true) : ops::batch_matmul(dy, b, false, !tb), a));
  if (c.wanted(1))
    c.set(1, summed_to(tb ? ops::batch_matmul(dy, a, true, ta) : ops::batch_matmul(a, dy, !ta, false), b));
}

template <class T>
class BatchMatMulKernel final : public Kernel {
 public:
  explicit BatchMatMulKernel(const KernelSpec& spec) : threads_(spec.threads) {
    const Dims& c = spec.outputs[0].dims;
    const Dims& a = spec.inputs[0].dims;
    size_.transpose_a = spec.attrs().flag("transpose_a");
    size_.transpose_b = spec.attrs().flag("transpose_b");
    size_.m = c[c.size() - 2], size_.n = c.back();
    size_.k = a[a.size() - (size_.transpose_a ? 2 : 1)];
    find_places(a, spec.inputs[1].dims, c);
    const std::int64_t work = size_.m * size_.n * size_.k;
    if (work > kWhole || (work > kWhole / 8 && places_.size() == 1)) {
      product_ = make_product<T>(size_, false, spec.precision, spec.threads);
    } else if (size_.transpose_b) {
      turned_.resize(static_cast<std::size_t>(threads_) * static_cast<std::size_t>(size_.k * size_.n));
    }
  }
  void run(void* const* in, void* const* out, const KernelContext&) override {
    const T *a = input<T>(in, 0), *b = input<T>(in, 1);
    T* c = output<T>(out, 0);
    const std::int64_t step = size_.m * size_.n;
    if (product_ != nullptr) {
      for (const Place& p : places_) product_->run(a + p.a, b + p.b, nullptr, c), c += step;
      return;
    }
    const auto count = static_cast<std::int64_t>(places_.size());
    const std::int64_t fewest = kAlone / (step * size_.k + 1) + 1;  // least number of products worth a thread
    const int team = parts_of(count, fewest, threads_);
    parallel_items(count, team, [&](std::int64_t begin, std::int64_t end, int part) {
      for (std::int64_t i = begin; i < end; ++i) {
        const Place& p = places_[static_cast<std::size_t>(i)];
        multiply_one(a + p.a, b + p.b, c + i * step, part);
      }
    });
  }

 private:
  static constexpr std::int64_t kAlone = 1 << 16;
  struct Place {
    std::int64_t a, b;  // start of the matrices of one product
  };
  void find_places(const Dims& a, const Dims& b, const Dims& c) {
    const Dims batch(c.begin(), c.end() - 2);
    const auto strides = [&](const Dims& dims) {
      std::vector<std::int64_t> s(batch.size(), 0);
      std::int64_t stride = dims[dims.size() - 1] * dims[dims.size() - 2];
      for (std::size_t i = dims.size() - 2, j = batch.size(); i-- > 0;) {
        s[--j] = dims[i] == 1 ? 0 : stride;
        stride *= dims[i];
      }
      return s;
    };
    const std::vector<std::int64_t> a_strides = strides(a), b_strides = strides(b);
    for (std::int64_t i = 0; i < count_of(batch); ++i) {
      Place p{0, 0};
      std::int64_t rest = i;
      for (std::size_t d = batch.size(); d-- > 0;) {
        p.a += rest % batch[d] * a_strides[d];
        p.b += rest % batch[d] * b_strides[d];
        rest /= batch[d];
      }
      places_.push_back(p);
    }
  }
  void multiply_one(const T* a, const T* b, T* c, int part) {
    const ProductSizes& s = size_;
    if (s.transpose_b) {
      T* turned = turned_.data() + part * s.k * s.n;
      transpose_copy(b, s.k, s.n, s.k, turned);
      b = turned;
    }
    multiply({.m = s.m,
              .n = s.n,
              .k = s.k,
              .a = a,
              .a_row = s.transpose_a ? 1 : s.k,
              .a_column = s.transpose_a ? s.m : 1,
              .b = b,
              .b_row = s.n,
              .c = c,
              .c_row = s.n});
  }

  ProductSizes size_;
  std::vector<Place> places_;
  std::unique_ptr<Product<T>> product_;  // for the whole team, if one product is worth it
  std::vector<T> turned_;                // b transposed, for each thread
  int threads_;
};

}  // namespace

void add_batch_matmul_ops(OpRegistry& r) {
  r.add({.name = "BatchMatMul",
         .doc = "The products of the matrices in the last two dimensions; those before broadcast.",
         .inputs = "a, b",
         .dtypes = "floats",
         .n_inputs = 2,
         .attrs = {bool_attr("transpose_a", "take the matrices of a transposed"),
                   bool_attr("transpose_b", "take the matrices of b transposed")},
         .infer = infer_batch_matmul,
         .gradient = grad_batch_matmul,
         .kernel = make_typed<BatchMatMulKernel>});
}

}  // namespace belay::runtime
