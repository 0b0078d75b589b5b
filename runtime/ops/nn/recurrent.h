// SPDX-License-Identifier: Apache-2.0
// What operations over whole sequences share (lstm.cc, gru.cc).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/graph/kernel.h"
#include "runtime/graph/op_def.h"
#include "runtime/ops/kernels/product.h"
#include "runtime/ops/kernels/tile_product.h"

namespace belay::runtime {

// Sequences of a batch as rows of a matrix, batch- or time-major.
struct Sequence {
  std::int64_t batch = 0;
  std::int64_t time = 0;
  std::int64_t example = 0;  // rows from an example to the next one
  std::int64_t step = 0;     // rows from a time step to the next one

  Sequence(const Dims& x, bool time_major)
      : batch(x[time_major ? 1 : 0]),
        time(x[time_major ? 0 : 1]),
        example(time_major ? 1 : time),
        step(time_major ? batch : 1) {}
  std::int64_t rows() const noexcept { return batch * time; }
  std::int64_t row(std::int64_t b, std::int64_t t) const noexcept { return b * example + t * step; }
};

// The dims of a cell's inputs: x (0), kernel (1), recurrent_kernel (2), which are checked, and what follows from them.
// Unknown ones are -1.
struct RecurrentShapes {
  std::int64_t batch = -1, features = -1, units = -1, gates = -1;  // gates: of all of them together
  Shape sequence;                                                  // of x, without its last dimension

  RecurrentShapes(InferContext& c, std::int64_t gates_per_unit);
  Shape with(std::int64_t width) const;  // sequence, then width
};

AttrDef time_major_attr();
AttrDef wants_x_attr();  // of the gradients

// A cell over whole sequences. Inputs: x, kernel, recurrent_kernel, the biases and, if they are not zeros, the states
// before the first step. Outputs: y, the last states, and what it keeps for its gradient: gates and `kept` of each
// step.
//
// Its gradient has the inputs x, kernel, recurrent_kernel, y, gates, kept, the incoming gradients of y and of the last
// states, and the states before the first step; its outputs are the gradients of the cell's inputs.
struct RecurrentCell {
  const char* name;  // with its article, for messages
  const char* gradient;
  const char* kept;
  std::int64_t gates;  // of a unit
  std::size_t biases, states;
};
void infer_recurrent(InferContext& c, const RecurrentCell& cell);
void infer_recurrent_gradient(InferContext& c, const RecurrentCell& cell);
void differentiate_recurrent(GradContext& c, const RecurrentCell& cell);

// The states before each step: y a step earlier, `initial` before the first one (null: zeros). `units` elements a row.
template <class T>
void copy_states_before(const Sequence& s, std::int64_t units, const T* y, const T* initial, T* before, int threads);

// total[i] = the sum of `rows` rows, one below the other.
template <class T>
void add_rows(const T* rows_of, std::int64_t rows, std::int64_t n, T* total);

// `rows` rows that lie `stride` rows of n elements apart, one below the other; zeros if `from` is null.
template <class T>
void copy_rows(const T* from, std::int64_t stride, std::int64_t rows, std::int64_t n, T* to);

// The gradients of x (with `wants_x`), kernel and recurrent_kernel, which follow from those of the gates' sums:
// products over all steps. Inputs 0 to 3 and outputs 0 to 2 are those of a cell's gradient.
template <class T>
class RecurrentProducts {
 public:
  // gates: of all units.
  RecurrentProducts(const KernelSpec& spec, const Sequence& sequence, std::int64_t units, std::int64_t gates)
      : sequence_(sequence),
        units_(units),
        gates_(gates),
        threads_(spec.threads),
        before_(static_cast<std::size_t>(sequence.rows() * units)),
        transposed_(static_cast<std::size_t>(gates * units)) {
    const std::int64_t rows = sequence.rows(), features = spec.inputs[0].dims[2];
    const auto product = [&](const ProductSizes& sizes) {
      return make_product<T>(sizes, false, spec.precision, spec.threads);
    };
    dkernel_ = product({.m = features, .n = gates, .k = rows, .transpose_a = true});
    drecurrent_ = product({.m = units, .n = gates, .k = rows, .transpose_a = true});
    if (spec.attrs().flag("wants_x")) dx_ = product({.m = rows, .n = features, .k = gates, .transpose_b = true});
  }
  // recurrent_kernel, transposed; valid until the next call.
  const T* transposed(void* const* in) {
    transpose_copy(input<T>(in, 2), gates_, units_, gates_, transposed_.data());
    return transposed_.data();
  }
  // x_sums, h_sums: the gradients of the gates' sums over x and over the states before each step; initial: the states
  // before the first one, null for zeros.
  void run(void* const* in, const T* initial, const T* x_sums, const T* h_sums, void* const* out) {
    copy_states_before(sequence_, units_, input<T>(in, 3), initial, before_.data(), threads_);
    if (dx_ != nullptr) dx_->run(x_sums, input<T>(in, 1), nullptr, output<T>(out, 0));
    dkernel_->run(input<T>(in, 0), x_sums, nullptr, output<T>(out, 1));
    drecurrent_->run(before_.data(), h_sums, nullptr, output<T>(out, 2));
  }

 private:
  Sequence sequence_;
  std::int64_t units_, gates_;
  int threads_;
  std::vector<T> before_;      // the states before each step
  std::vector<T> transposed_;  // recurrent_kernel
  std::unique_ptr<Product<T>> dx_, dkernel_, drecurrent_;
};

}  // namespace belay::runtime
