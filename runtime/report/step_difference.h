// SPDX-License-Identifier: Apache-2.0
// One step of two runs, tensor by tensor in the order in which the plan of the first one computes them
// (estimator/step_file.h): the first that differs, and what one of them does not have, since its plan is fused
// otherwise. [any thread]
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/checkpoint/read_tensors.h"
#include "runtime/estimator/step_file.h"

namespace belay::runtime {

// A step as it was read back.
struct StepFiles {
  std::vector<ListedTensor> list;
  const StoredTensors& tensors;
  const SaverUse& saver;
};

struct ComparedInput {
  std::string name;  // as people know it
  enum class State { kEqual, kDiffers, kOnOneSide } state = State::kEqual;
};

struct DifferingTensor {
  std::string name;          // "hidden/MatMul:0"
  std::string node;          // "hidden/MatMul"
  std::string known_name;    // "input/x" of a batch's component; else the name
  std::string origin;        // "computed", "written", "constant", ...
  std::string ops_a, ops_b;  // "MatMul + BiasAdd"
  std::string form_a, form_b;
  // Where both have the same form: how many elements differ, and the first of them.
  std::uint64_t elements = 0, differing = 0;
  std::string position = {}, a = {}, b = {};  // "[3, 0]", "0.1", "0.10000001"
  std::optional<std::uint64_t> ulps = {};     // between the two; none: one of them is NaN, or they are no floats
  std::vector<ComparedInput> inputs = {};
};

struct OneSidedTensor {
  std::string name, ops;
  bool of_a = true;  // else of b
};

struct StepDifference {
  std::uint64_t compared = 0, equal = 0;
  std::optional<DifferingTensor> first;  // none: all that was compared is equal
  std::vector<std::string> later;        // names of the others that differ, in that order
  std::vector<OneSidedTensor> one_sided;
};

// DATA_LOSS and others where a file cannot be read.
StepDifference difference_of_steps(const StepFiles& a, const StepFiles& b);

// How many floating-point numbers of the type lie between two of them, one of the ends counted: 0 of equal ones and of
// a zero and a negative zero, 1 of neighbours. None where one is NaN, or the type is no floating-point type.
std::optional<std::uint64_t> ulps_between(const TensorView& a, const TensorView& b, std::uint64_t element);

}  // namespace belay::runtime
