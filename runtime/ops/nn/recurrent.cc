// SPDX-License-Identifier: Apache-2.0
#include "runtime/ops/nn/recurrent.h"

#include <fmt/core.h>

#include <algorithm>

#include "belay/ops/shape.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/kernels/tile_product.h"

namespace belay::runtime {

AttrDef time_major_attr() {
  return bool_attr("time_major", "sequences are [time, batch, features] instead of [batch, time, features]");
}
AttrDef wants_x_attr() { return bool_attr("wants_x", "compute the gradient of x, output 0"); }

namespace {

// Checks that input i has these dims (-1: any) and the dtype of input 0. `what` is its name in errors.
void need_shape(const InferContext& c, std::size_t i, const char* what, const Dims& wanted) {
  c.need_same_dtype(0, i);
  bool ok = true;
  Shape::merged(c.shape(i), Shape(wanted), ok);
  if (!ok) c.fail(std::string(what) + ", " + c.input_text(i) + ", must have the shape " + dims_text(wanted));
}

// Checks that there are n inputs, or n with the states before the first step.
void need_inputs(const InferContext& c, std::size_t n, const RecurrentCell& cell) {
  if (c.n_inputs() == n || c.n_inputs() == n + cell.states) return;
  c.fail(fmt::format("there must be {} inputs, or {} with the {} before the first step, got {}", n, n + cell.states,
                     cell.states == 1 ? "state" : "states", c.n_inputs()));
}

// Returns the incoming gradient of output i; zeros if there is none.
Output incoming_gradient(const GradContext& c, std::size_t i) {
  return c.grad(i) ? c.grad(i) : ops::zeros_like(c.output(i));
}

// Computes total[i] as the sum of `rows` rows, one below the other.
template <class T>
void add_rows(const T* rows_of, std::int64_t rows, std::int64_t n, T* total) {
  std::fill_n(total, n, T(0));
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < n; ++i) total[i] += rows_of[r * n + i];
}

// Copies `rows` rows that lie `stride` rows of n elements apart, one below the other. Fills zeros if `from` is null.
template <class T>
void copy_rows(const T* from, std::int64_t stride, std::int64_t rows, std::int64_t n, T* to) {
  if (from == nullptr) return static_cast<void>(std::fill_n(to, rows * n, T(0)));
  for (std::int64_t r = 0; r < rows; ++r) std::copy_n(from + r * stride * n, n, to + r * n);
}

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
  const std::size_t gates = 1 + cell.states, kept = gates + 1;  // number of outputs
  for (const std::size_t i : {gates, kept})
    if (c.grad(i))
      fail(Code::kUnimplemented, "'" + c.output(i).name() + "' cannot be differentiated: it is what " + cell.name +
                                     " keeps for its gradient");
  NodeBuilder node = c.graph().node(cell.gradient);
  for (std::size_t i = 0; i < 3; ++i) node.in(c.input(i));
  for (const std::size_t i : {std::size_t{0}, gates, kept}) node.in(c.output(i));
  for (std::size_t i = 0; i <= cell.states; ++i) node.in(incoming_gradient(c, i));
  for (std::size_t i = 3 + cell.biases; i < c.n_inputs(); ++i) node.in(c.input(i));
  node.attr("time_major", c.attrs().flag("time_major")).attr("wants_x", c.wanted(0));
  const Output gradient = node.output();
  for (std::size_t i = 0; i < c.n_inputs(); ++i)
    if (c.wanted(i)) c.set(i, gradient.sibling(static_cast<std::uint32_t>(i)));
}

RecurrentSizes::RecurrentSizes(const KernelSpec& spec, const RecurrentCell& cell, std::size_t n)
    : sequence(spec.inputs[0].dims, spec.attrs().flag("time_major")),
      units(spec.inputs[2].dims[0]),
      gates(cell.gates * units),
      has_states(spec.inputs.size() > n) {}

// ---- forward

template <class T>
RecurrentKernel<T>::RecurrentKernel(const KernelSpec& spec, const RecurrentCell& cell)
    : cell_(cell),
      size_(spec, cell, 3 + cell.biases),
      threads_(spec.threads),
      x_sums_(make_product<T>({.m = size_.sequence.rows(), .n = size_.gates, .k = spec.inputs[0].dims[2]}, true,
                              spec.precision, spec.threads, spec.inputs[1].version)) {}

template <class T>
void RecurrentKernel<T>::run(void* const* in, void* const* out, const KernelContext&) {
  x_sums_->run(input<T>(in, 0), input<T>(in, 1), input<T>(in, 3), output<T>(out, 1 + cell_.states));
  parallel_items(size_.sequence.batch, threads_, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t t = 0; t < size_.sequence.time; ++t) step(in, out, size_.step(begin, end - begin, t));
    const StepRows behind = size_.step(begin, end - begin, size_.sequence.time);
    for (std::size_t i = 0; i < cell_.states; ++i) {
      const StatesBefore<T> last = before(in, out, behind, i);
      copy_rows(last.rows, last.stride, behind.rows, size_.units, output<T>(out, 1 + i) + begin * size_.units);
    }
  });
}

template <class T>
StatesBefore<T> RecurrentKernel<T>::before(void* const* in, void* const* out, const StepRows& s, std::size_t i) const {
  const T* of_steps = output<T>(out, i == 0 ? 0 : 2 + cell_.states);
  return size_.before(s, of_steps, size_.has_states ? input<T>(in, 3 + cell_.biases + i) : nullptr);
}

template <class T>
void RecurrentKernel<T>::add_recurrent_sums(void* const* in, void* const* out, const StepRows& s, T* to,
                                            std::int64_t stride) const {
  const StatesBefore<T> h = before(in, out, s, 0);
  if (h.rows == nullptr) return;
  multiply(TileProduct<T>{.m = s.rows,
                          .n = size_.gates,
                          .k = size_.units,
                          .a = h.rows,
                          .a_row = h.stride * size_.units,
                          .a_column = 1,
                          .b = input<T>(in, 2),
                          .b_row = size_.gates,
                          .c = to,
                          .c_row = stride * size_.gates,
                          .add = true});
}

template class RecurrentKernel<float>;
template class RecurrentKernel<double>;

// ---- backward

// Computes the gradients of x (with `wants_x`), kernel and recurrent_kernel from those of the gates' sums. They are
// products over all steps.
template <class T>
class RecurrentGradKernel<T>::Products {
 public:
  Products(const KernelSpec& spec, const RecurrentSizes& size)
      : size_(size),
        threads_(spec.threads),
        before_(static_cast<std::size_t>(size.sequence.rows() * size.units)),
        transposed_(static_cast<std::size_t>(size.gates * size.units)) {
    const std::int64_t rows = size.sequence.rows(), features = spec.inputs[0].dims[2];
    const auto product = [&](const ProductSizes& sizes) {
      return make_product<T>(sizes, false, spec.precision, spec.threads);
    };
    dkernel_ = product({.m = features, .n = size.gates, .k = rows, .transpose_a = true});
    drecurrent_ = product({.m = size.units, .n = size.gates, .k = rows, .transpose_a = true});
    if (spec.attrs().flag("wants_x")) dx_ = product({.m = rows, .n = features, .k = size.gates, .transpose_b = true});
  }
  // Returns recurrent_kernel, transposed. It is valid until the next call.
  const T* transposed(void* const* in) {
    transpose_copy(input<T>(in, In::kRecurrent), size_.gates, size_.units, size_.gates, transposed_.data());
    return transposed_.data();
  }
  // `x_sums` and `h_sums` are the gradients of the gates' sums over x and over h before each step. `initial` is h
  // before the first step; null: zeros.
  void run(void* const* in, const T* initial, const T* x_sums, const T* h_sums, void* const* out) {
    copy_h_before(input<T>(in, In::kY), initial);
    if (dx_ != nullptr) dx_->run(x_sums, input<T>(in, In::kKernel), nullptr, output<T>(out, 0));
    dkernel_->run(input<T>(in, In::kX), x_sums, nullptr, output<T>(out, 1));
    drecurrent_->run(before_.data(), h_sums, nullptr, output<T>(out, 2));
  }

 private:
  void copy_h_before(const T* y, const T* initial) {
    parallel_items(size_.sequence.batch, threads_, [&](std::int64_t first, std::int64_t last, int) {
      for (std::int64_t b = first; b < last; ++b)
        for (std::int64_t t = 0; t < size_.sequence.time; ++t) {
          const StepRows s = size_.step(b, 1, t);
          copy_rows(size_.before(s, y, initial).rows, 1, 1, size_.units, before_.data() + s.at * size_.units);
        }
    });
  }

  const RecurrentSizes& size_;
  int threads_;
  std::vector<T> before_;      // h before each step
  std::vector<T> transposed_;  // recurrent_kernel
  std::unique_ptr<Product<T>> dx_, dkernel_, drecurrent_;
};

template <class T>
RecurrentGradKernel<T>::RecurrentGradKernel(const KernelSpec& spec, const RecurrentCell& cell)
    : cell_(cell),
      size_(spec, cell, In::kStates + cell.states),
      threads_(spec.threads),
      sums_(cell.biases * static_cast<std::size_t>(size_.sequence.rows() * size_.gates)),
      biases_(cell.biases * static_cast<std::size_t>(bias_size())),
      products_(std::make_unique<Products>(spec, size_)) {}

template <class T>
RecurrentGradKernel<T>::~RecurrentGradKernel() = default;

template <class T>
T* RecurrentGradKernel<T>::h_sums(const StepRows& s) {
  const auto before = static_cast<std::int64_t>(cell_.biases - 1) * size_.sequence.rows();
  return sums_.data() + (before + s.at) * size_.gates;
}

template <class T>
T* RecurrentGradKernel<T>::bias(const StepRows& s, std::size_t i) {
  return biases_.data() + static_cast<std::int64_t>(i) * bias_size() + s.example * size_.gates;
}

template <class T>
T* RecurrentGradKernel<T>::state_gradient(void* const* out, const StepRows& s, std::size_t i) const {
  return output<T>(out, 3 + cell_.biases + i) + s.example * size_.units;
}

template <class T>
void RecurrentGradKernel<T>::run(void* const* in, void* const* out, const KernelContext&) {
  const std::int64_t batch = size_.sequence.batch;
  const StepRows all = size_.step(0, batch, 0);
  const T* transposed = products_->transposed(in);
  std::fill(biases_.begin(), biases_.end(), T(0));
  for (std::size_t i = 0; i < cell_.states; ++i)
    std::copy_n(input<T>(in, In::kStates + i), batch * size_.units, state_gradient(out, all, i));
  parallel_items(batch, threads_, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t t = size_.sequence.time; t-- > 0;) {
      const StepRows s = size_.step(begin, end - begin, t);
      step(in, out, s);
      if (t > 0 || size_.has_states)
        multiply(TileProduct<T>{.m = s.rows,
                                .n = size_.units,
                                .k = size_.gates,
                                .a = h_sums(s),
                                .a_row = s.stride * size_.gates,
                                .a_column = 1,
                                .b = transposed,
                                .b_row = size_.units,
                                .c = state_gradient(out, s, 0),
                                .c_row = size_.units,
                                .add = cell_.carries_h});
    }
  });
  const T* initial = size_.has_states ? input<T>(in, In::kStates + cell_.states) : nullptr;
  products_->run(in, initial, x_sums(all), h_sums(all), out);
  for (std::size_t i = 0; i < cell_.biases; ++i) add_rows(bias(all, i), batch, size_.gates, output<T>(out, 3 + i));
}

template class RecurrentGradKernel<float>;
template class RecurrentGradKernel<double>;

}  // namespace belay::runtime
