// SPDX-License-Identifier: Apache-2.0
// The common part of operations over whole sequences (lstm.cc, gru.cc).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/graph/kernel.h"
#include "runtime/graph/op_def.h"
#include "runtime/ops/kernels/product.h"

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

// The dims of a cell's inputs x (0), kernel (1) and recurrent_kernel (2), and the derived dims. The inputs' dims are
// checked. Unknown ones are -1.
struct RecurrentShapes {
  std::int64_t batch = -1, features = -1, units = -1, gates = -1;  // gates: all of them together
  Shape sequence;                                                  // shape of x without its last dimension

  RecurrentShapes(InferContext& c, std::int64_t gates_per_unit);
  Shape with(std::int64_t width) const;  // sequence, then width
};

AttrDef time_major_attr();
AttrDef wants_x_attr();  // for the gradients

// A cell over whole sequences. Inputs: x, kernel, recurrent_kernel, the biases and, if they are not zeros, the states
// before the first step. Outputs: y, the last states, and the values for its gradient: gates and `kept` of each step.
//
// Its gradient first has the inputs x, kernel, recurrent_kernel, y, gates and kept. The incoming gradients of y and of
// the last states follow, then the states before the first step. Its outputs are the gradients of the cell's inputs.
struct RecurrentCell {
  const char* name;  // with its article, for messages
  const char* gradient;
  const char* kept;
  std::int64_t gates;  // per unit
  std::size_t biases, states;
  bool carries_h = false;  // true: a step's h also depends directly on the h before it, not only on the gates' sums
};
// The first inputs of the gradient. kStates begins the incoming gradients of the last states, then the states before
// the first step.
struct RecurrentGradIn {
  static constexpr std::size_t kX = 0, kKernel = 1, kRecurrent = 2, kY = 3, kGates = 4, kKept = 5, kDy = 6, kStates = 7;
};
void infer_recurrent(InferContext& c, const RecurrentCell& cell);
void infer_recurrent_gradient(InferContext& c, const RecurrentCell& cell);
void differentiate_recurrent(GradContext& c, const RecurrentCell& cell);

// One step of some examples. In tensors of all steps their rows are at, at + stride, ...
struct StepRows {
  std::int64_t time;
  std::int64_t example, rows;  // the first one, and their number
  std::int64_t at, stride;
};

// The states before a step, in rows `stride` apart; null: zeros.
template <class T>
struct StatesBefore {
  const T* rows;
  std::int64_t stride;
};

// The sizes of a cell's node. `n` is the number of inputs without the states before the first step.
struct RecurrentSizes {
  Sequence sequence;
  std::int64_t units, gates;  // gates: of all units
  bool has_states;            // true: inputs have the states before the first step

  RecurrentSizes(const KernelSpec& spec, const RecurrentCell& cell, std::size_t n);
  StepRows step(std::int64_t example, std::int64_t rows, std::int64_t time) const noexcept {
    return {time, example, rows, sequence.row(example, time), sequence.example};
  }
  // `of_steps` has the state after each step, `initial` that before the first one.
  template <class T>
  StatesBefore<T> before(const StepRows& s, const T* of_steps, const T* initial) const noexcept {
    if (s.time > 0) return {of_steps + sequence.row(s.example, s.time - 1) * units, s.stride};
    return {has_states ? initial + s.example * units : nullptr, 1};
  }
};

// The frame of a cell's kernel: it computes the products of x for all steps at once, then each step. Threads share the
// examples.
template <class T>
class RecurrentKernel : public Kernel {
 public:
  RecurrentKernel(const KernelSpec& spec, const RecurrentCell& cell);
  void run(void* const* in, void* const* out, const KernelContext& context) final;

 protected:
  // Makes h, the other states, the gates and the kept values of a step. On entry the place of the gates has the sums
  // over x with the first bias.
  virtual void step(void* const* in, void* const* out, const StepRows& s) = 0;
  // Adds the product of h before the step and recurrent_kernel to `to`, whose rows are `stride` apart.
  void add_recurrent_sums(void* const* in, void* const* out, const StepRows& s, T* to, std::int64_t stride) const;
  // Returns state i before the step: 0 is h, 1 is the cell's kept state.
  StatesBefore<T> before(void* const* in, void* const* out, const StepRows& s, std::size_t i) const;

  const RecurrentCell& cell_;
  const RecurrentSizes size_;

 private:
  int threads_;
  std::unique_ptr<Product<T>> x_sums_;
};

// The frame of its gradient's kernel: it computes each step, the last one first, then the products over all steps. A
// bias's gradient is made for each example alone. So their sum is the same at any number of threads.
template <class T>
class RecurrentGradKernel : public Kernel {
 public:
  RecurrentGradKernel(const KernelSpec& spec, const RecurrentCell& cell);
  ~RecurrentGradKernel() override;
  void run(void* const* in, void* const* out, const KernelContext& context) final;

 protected:
  // Differentiates a step. Makes the gradients of its gates' sums (x_sums, h_sums) and adds to those of the biases.
  // Changes those of the states from after the step to before it. For h it changes only the part that does not pass the
  // gates.
  virtual void step(void* const* in, void* const* out, const StepRows& s) = 0;
  using In = RecurrentGradIn;
  T* x_sums(const StepRows& s) { return sums_.data() + s.at * size_.gates; }
  T* h_sums(const StepRows& s);  // x_sums if the cell has one bias
  T* bias(const StepRows& s, std::size_t i);
  T* state_gradient(void* const* out, const StepRows& s, std::size_t i) const;

  const RecurrentCell& cell_;
  const RecurrentSizes size_;

 private:
  class Products;
  std::int64_t bias_size() const noexcept { return size_.sequence.batch * size_.gates; }
  int threads_;
  std::vector<T> sums_, biases_;  // for each bias
  std::unique_ptr<Products> products_;
};

}  // namespace belay::runtime
