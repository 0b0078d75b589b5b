// SPDX-License-Identifier: Apache-2.0
// Reference results of ONNX's own tests, each a model of one node with inputs and what must come out. They lie in
// BELAY_SAMPLES_DIR/onnx (default: ../shared/samples beside the source).
//
//   const std::optional<OnnxSample> sample = read_onnx_sample("test_Conv2d");
//   if (!sample) GTEST_SKIP() << no_onnx_sample("test_Conv2d");
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "belay/tensor.h"

namespace belay::runtime::testing {

struct OnnxSample {
  std::string op;
  std::map<std::string, std::vector<std::int64_t>> integers;  // attributes: a single integer is a list of one
  std::map<std::string, double> numbers;                      // attributes
  std::vector<Tensor> inputs;                                 // in the node's order, stored weights among them
  std::vector<Tensor> outputs;
};

// Empty where the folder is not there. Throws DATA_LOSS for a file that cannot be read.
std::optional<OnnxSample> read_onnx_sample(const std::string& name);
// Why a test is skipped.
std::string no_onnx_sample(const std::string& name);

// Elements of a float32 tensor.
std::vector<float> floats_of(const Tensor& tensor);

}  // namespace belay::runtime::testing
