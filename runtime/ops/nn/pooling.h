// SPDX-License-Identifier: Apache-2.0
// Max pooling as a part of a fused kernel.
#pragma once

#include <memory>

#include "runtime/graph/op_def.h"

namespace belay::runtime {

class Pooling {
 public:
  virtual ~Pooling() = default;
  // `y` gets the largest of each window, `where` its place in the window.
  virtual void run(const float* x, float* y, void* where) = 0;
};

// Makes the pooling for images of these dims, with a MaxPool node's attributes. `where` is the dtype of the places.
// `relu`: a negative largest becomes 0.
std::unique_ptr<Pooling> make_pooling(const Attrs& attrs, const Dims& image, bool relu, DType where, int threads);

}  // namespace belay::runtime
