// SPDX-License-Identifier: Apache-2.0
#include "runtime/ops/nn/recurrent.h"

#include <algorithm>

#include "belay/ops/shape.h"
#include "runtime/ops/kernels/parallel.h"

namespace belay::runtime {

AttrDef time_major_attr() {
  return bool_attr("time_major", "sequences are [time, batch, features] instead of [batch, time, features]");
}
AttrDef wants_x_attr() { return bool_attr("wants_x", "compute the gradient of x, output 0"); }

namespace {

// `what`, input i, must have these dims (-1: any); the dtype is that of input 0.
void need_shape(const InferContext& c, std::size_t i, const char* what, const Dims& wanted) {
  c.need_same_dtype(0, i);
  bool ok = true;
  Shape::merged(c.shape(i), Shape(wanted), ok);
  if (!ok) c.fail(std::string(what) + ", " + c.input_text(i) + ", must have the shape " + dims_text(wanted));
}

// So many inputs, or with the states before the first step.
void need_inputs(const InferContext& c, std::size_t n, const RecurrentCell& cell) {
  if (c.n_inputs() == n || c.n_inputs() == n + cell.states) return;
  c.fail("there must be " + std::to_string(n) + " inputs, or " + std::to_string(n + cell.states) + " with the " +
         (cell.states == 1 ? "state" : "states") + " before the first step, got " + std::to_string(c.n_inputs()));
}

// The incoming gradient of output i, zeros if there is none.
Output arriving(const GradContext& c, std::size_t i) { return c.grad(i) ? c.grad(i) : ops::zeros_like(c.output(i)); }

}  // namespace

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

void infer_recurrent(InferContext& c, const RecurrentCell& cell) {
  need_inputs(c, 3 + cell.biases, cell);
  const RecurrentShapes s(c, cell.gates);
  for (std::size_t i = 0; i < cell.biases; ++i) need_shape(c, 3 + i, i == 0 ? "bias" : "recurrent_bias", {s.gates});
  for (std::size_t i = 3 + cell.biases; i < c.n_inputs(); ++i)
    need_shape(c, i, i == 3 + cell.biases ? "initial_h" : "initial_c", {s.batch, s.units});
  c.output(c.dtype(0), s.with(s.units));
  for (std::size_t i = 0; i < cell.states; ++i) c.output(c.dtype(0), Shape{s.batch, s.units});
  c.output(c.dtype(0), s.with(s.gates));
  c.output(c.dtype(0), s.with(s.units));
}

void infer_recurrent_gradient(InferContext& c, const RecurrentCell& cell) {
  need_inputs(c, 7 + cell.states, cell);
  const RecurrentShapes s(c, cell.gates);
  need_shape(c, 3, "y", s.with(s.units).dims());
  need_shape(c, 4, "gates", s.with(s.gates).dims());
  need_shape(c, 5, cell.kept, s.with(s.units).dims());
  need_shape(c, 6, "dy", s.with(s.units).dims());
  for (std::size_t i = 7; i < c.n_inputs(); ++i) need_shape(c, i, "a state", {s.batch, s.units});
  c.output(c.dtype(0), c.attrs().flag("wants_x") ? c.shape(0) : Shape{0});
  c.output(c.dtype(0), c.shape(1));
  c.output(c.dtype(0), c.shape(2));
  for (std::size_t i = 0; i < cell.biases; ++i) c.output(c.dtype(0), Shape{s.gates});
  for (std::size_t i = 0; i < cell.states; ++i) c.output(c.dtype(0), Shape{s.batch, s.units});
}

void differentiate_recurrent(GradContext& c, const RecurrentCell& cell) {
  const std::size_t gates = 1 + cell.states, kept = gates + 1;  // outputs
  for (const std::size_t i : {gates, kept})
    if (c.grad(i))
      fail(Code::kUnimplemented, "'" + c.output(i).name() + "' cannot be differentiated: it is what " + cell.name +
                                     " keeps for its gradient");
  NodeBuilder node = c.graph().node(cell.gradient);
  for (std::size_t i = 0; i < 3; ++i) node.in(c.input(i));
  for (const std::size_t i : {std::size_t{0}, gates, kept}) node.in(c.output(i));
  for (std::size_t i = 0; i <= cell.states; ++i) node.in(arriving(c, i));
  for (std::size_t i = 3 + cell.biases; i < c.n_inputs(); ++i) node.in(c.input(i));
  node.attr("time_major", c.attrs().flag("time_major")).attr("wants_x", c.wanted(0));
  const Output gradient = node.output();
  for (std::size_t i = 0; i < c.n_inputs(); ++i)
    if (c.wanted(i)) c.set(i, gradient.sibling(static_cast<std::uint32_t>(i)));
}

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

template <class T>
void copy_rows(const T* from, std::int64_t stride, std::int64_t rows, std::int64_t n, T* to) {
  if (from == nullptr) return static_cast<void>(std::fill_n(to, rows * n, T(0)));
  for (std::int64_t r = 0; r < rows; ++r) std::copy_n(from + r * stride * n, n, to + r * n);
}
template void copy_rows(const float*, std::int64_t, std::int64_t, std::int64_t, float*);
template void copy_rows(const double*, std::int64_t, std::int64_t, std::int64_t, double*);

}  // namespace belay::runtime
