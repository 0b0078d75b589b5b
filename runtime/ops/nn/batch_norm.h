// SPDX-License-Identifier: Apache-2.0
// Normalization of each channel over a batch, with sizes that are fixed when the object is made: y = (x - mean) /
// sqrt(variance + epsilon) * scale + offset. It may keep scratch memory, so only one run is allowed at a time.
#pragma once

#include <memory>

#include "runtime/graph/kernel.h"

namespace belay::runtime {

// The layout is [n, inner, c] if channels are last, else [n, c, inner].
struct BatchNormSizes {
  std::int64_t n = 0;
  std::int64_t c = 0;
  std::int64_t inner = 1;
  bool channels_last = true;
  double epsilon = 1e-3;
  bool relu = false;  // for kTraining: y is the positive part of the result, else 0, also for NaN
  std::int64_t count() const noexcept { return n * inner; }  // elements of a channel
};

enum class BatchNormPart {
  kTraining,         // tensors: x, scale, offset, then the results y, mean and (biased) variance
  kInference,        // x, scale, offset, mean, variance, then the result y
  kGradient,         // x, scale, mean, variance, dy, then the results dx, dscale, doffset
  kConstantGradient  // the same with a mean and variance that do not depend on x
};

class BatchNorm {
 public:
  virtual ~BatchNorm() = default;
  virtual void run(void* const* tensors) = 0;
};

// Makes a float32 batch norm by oneDNN. There must be elements.
std::unique_ptr<BatchNorm> make_onednn_batch_norm(BatchNormPart part, const BatchNormSizes& sizes);

}  // namespace belay::runtime
