// SPDX-License-Identifier: Apache-2.0
#include "runtime/ops/recurrent.h"

#include <algorithm>

#include "belay/ops/shape.h"
#include "runtime/ops/parallel.h"

namespace belay::runtime {

void need_shape(const InferContext& c, std::size_t i, const char* what, const Dims& wanted) {
  c.need_same_dtype(0, i);
  bool ok = true;
  Shape::merged(c.shape(i), Shape(wanted), ok);
  if (!ok) c.fail(std::string(what) + ", " + c.input_text(i) + ", must have the shape " + dims_text(wanted));
}

RecurrentShapes::RecurrentShapes(InferContext& c, std::int64_t gates_per_unit) {
  c.need_float(0);
  c.need_rank(0, 3);
  c.need_rank(1, 2);
  c.need_rank(2, 2);
  const Shape &x = c.shape(0), &kernel = c.shape(1), &recurrent = c.shape(2);
  const bool time_major = c.attrs().flag("time_major");
  sequence = Shape{-1, -1};
  if (x.has_rank()) {
    batch = x.dim(time_major ? 1 : 0);
    features = x.dim(2);
    sequence = Shape{x.dim(0), x.dim(1)};
  }
  if (recurrent.has_rank()) units = recurrent.dim(0);
  if (units < 0 && kernel.has_rank() && kernel.dim(1) >= 0) units = kernel.dim(1) / gates_per_unit;
  if (units >= 0) gates = units * gates_per_unit;
  need_shape(c, 1, "kernel", {features, gates});
  need_shape(c, 2, "recurrent_kernel", {units, gates});
}

Shape RecurrentShapes::with(std::int64_t width) const { return Shape{sequence.dim(0), sequence.dim(1), width}; }

Output arriving(const GradContext& c, std::size_t i) { return c.grad(i) ? c.grad(i) : ops::zeros_like(c.output(i)); }

template <class T>
void copy_states_before(const Sequence& s, std::int64_t units, const T* y, const T* initial, T* before, int threads) {
  parallel_items(s.batch, threads, [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t b = first; b < last; ++b)
      for (std::int64_t t = 0; t < s.time; ++t) {
        T* to = before + s.row(b, t) * units;
        if (t > 0) {
          std::copy_n(y + s.row(b, t - 1) * units, units, to);
        } else if (initial != nullptr) {
          std::copy_n(initial + b * units, units, to);
        } else {
          std::fill_n(to, units, T(0));
        }
      }
  });
}
template void copy_states_before(const Sequence&, std::int64_t, const float*, const float*, float*, int);
template void copy_states_before(const Sequence&, std::int64_t, const double*, const double*, double*, int);

template <class T>
void add_rows(const T* rows_of, std::int64_t rows, std::int64_t n, T* total) {
  std::fill_n(total, n, T(0));
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < n; ++i) total[i] += rows_of[r * n + i];
}
template void add_rows(const float*, std::int64_t, std::int64_t, float*);
template void add_rows(const double*, std::int64_t, std::int64_t, double*);

}  // namespace belay::runtime
