// SPDX-License-Identifier: Apache-2.0
// What operations over whole sequences share (lstm.cc, gru.cc).
#pragma once

#include <cstdint>
#include <string>

#include "runtime/graph/op_def.h"

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

// `what`, input i, must have these dims (-1: any); the dtype is that of input 0.
void need_shape(const InferContext& c, std::size_t i, const char* what, const Dims& wanted);

// The incoming gradient of output i; zeros if there is none.
Output arriving(const GradContext& c, std::size_t i);

// The states before each step: y a step earlier, `initial` before the first one (null: zeros). `units` elements a row.
template <class T>
void copy_states_before(const Sequence& s, std::int64_t units, const T* y, const T* initial, T* before, int threads);

// total[i] = the sum of `rows` rows, one below the other.
template <class T>
void add_rows(const T* rows_of, std::int64_t rows, std::int64_t n, T* total);

}  // namespace belay::runtime
