// SPDX-License-Identifier: Apache-2.0
// Convolutions of sizes that are fixed when the object is made, and their gradients. It may keep scratch memory: one
// run at a time.
#pragma once

#include <memory>

#include "runtime/graph/kernel.h"
#include "runtime/ops/nn/windows.h"

namespace belay::runtime {

// Image x, filter [height, width, x.c, y.c] and image y; images lie in memory as windows.layout says.
struct ConvolutionSizes {
  ImageDims x;
  ImageDims y;
  Windows windows;
  std::int64_t filter_elements() const noexcept { return windows.height.size * windows.width.size * x.c * y.c; }
};

enum class ConvolutionPart {
  kForward,         // tensors: x, filter, bias [y.c] if there is one, then the result y
  kInputGradient,   // filter, dy, then the result dx
  kFilterGradient,  // x, dy, then the result dfilter
};

class Convolution {
 public:
  virtual ~Convolution() = default;
  virtual void run(void* const* tensors) = 0;
};

// float32 by oneDNN: images as they are if they are NHWC, changed to that first if they are NCHW; the filter always in
// oneDNN's own layout, which costs microseconds, or nothing where it has a version that stays (TensorSpec.version).
// kBfloat16: what is multiplied is rounded first.
std::unique_ptr<Convolution> make_onednn_convolution(ConvolutionPart part, const ConvolutionSizes& sizes, bool bias,
                                                     Precision precision, const Version* filter_version = nullptr);

// By plain loops: float64, and float32 where there is nothing to multiply.
std::unique_ptr<Convolution> make_reference_convolution(ConvolutionPart part, const ConvolutionSizes& sizes, bool bias,
                                                        DType dtype);

}  // namespace belay::runtime
