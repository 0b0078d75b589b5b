// SPDX-License-Identifier: Apache-2.0
// Compares one step of two runs, tensor by tensor in the order of the first one's plan (estimator/steps/step_file.h).
// It finds the first tensor that differs. It also finds those that one plan lacks, since its nodes are fused in another
// way. [any thread]
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/checkpoint/read/read_tensors.h"
#include "runtime/estimator/steps/step_file.h"

namespace belay::runtime {

// A step that was read back.
struct StepFiles {
  std::vector<ListedTensor> list;
  const StoredTensors& tensors;
  const SaverUse& saver;
};

struct ComparedInput {
  std::string name;  // the name for people
  enum class State { kEqual, kDiffers, kOnOneSide } state = State::kEqual;
};

struct DifferingTensor {
  std::string name;          // "hidden/MatMul:0"
  std::string node;          // "hidden/MatMul"
  std::string known_name;    // a batch's component has "input/x"; others have the name
  std::string origin;        // "computed", "written", "constant", ...
  std::string ops_a, ops_b;  // "MatMul + BiasAdd"
  std::string form_a, form_b;
  // Set if both have the same form: the number of elements, and of those that differ. The members after them are about
  // the first one that differs.
  std::uint64_t elements = 0, differing = 0;
  std::string position = {}, a = {}, b = {};  // "[3, 0]", "0.1", "0.10000001"
  std::optional<std::uint64_t> ulps = {};     // distance of the two; none: one of them is NaN, or they are no floats
  std::vector<ComparedInput> inputs = {};
};

struct OneSidedTensor {
  std::string name, ops;
  bool of_a = true;  // false: of b
};

struct StepDifference {
  std::uint64_t compared = 0, equal = 0;
  std::optional<DifferingTensor> first;  // none: all compared tensors are equal
  std::vector<std::string> later;        // names of the others that differ, in order
  std::vector<OneSidedTensor> one_sided;
};

// DATA_LOSS and other errors: a file cannot be read.
StepDifference difference_of_steps(const StepFiles& a, const StepFiles& b);

// Returns how many floating-point numbers of the type lie between the two, with one end counted. It is 0 for equal
// numbers and for a zero and a negative zero, and 1 for neighbours. None: one is NaN, or the type has no floating
// point.
std::optional<std::uint64_t> ulps_between(const TensorView& a, const TensorView& b, std::uint64_t element);

}  // namespace belay::runtime
