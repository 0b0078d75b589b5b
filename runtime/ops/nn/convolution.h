// SPDX-License-Identifier: Apache-2.0
// Convolutions with sizes that are fixed when the object is made, and their gradients. It may keep scratch memory, so
// only one run is allowed at a time.
#pragma once

#include <memory>

#include "runtime/graph/kernel.h"
#include "runtime/ops/nn/windows.h"

namespace belay::runtime {

// Image x, filter [height, width, x.c, y.c] and image y. windows.layout is the images' layout in memory.
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

// Makes a float32 convolution by oneDNN. NHWC images are used as they are; NCHW images are converted first. The filter
// is converted to oneDNN's layout, which takes microseconds. With a version that stays (TensorSpec.version) it takes
// nothing. kBfloat16 rounds the factors first.
std::unique_ptr<Convolution> make_onednn_convolution(ConvolutionPart part, const ConvolutionSizes& sizes, bool bias,
                                                     Precision precision, const Version* filter_version = nullptr);

// Makes a convolution of plain loops: float64, and float32 if there is nothing to multiply.
std::unique_ptr<Convolution> make_reference_convolution(ConvolutionPart part, const ConvolutionSizes& sizes, bool bias,
                                                        DType dtype);

}  // namespace belay::runtime
