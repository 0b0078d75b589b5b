// SPDX-License-Identifier: Apache-2.0
// All tensors of a step as files. step-N.npz has the values that the step's plan computes. step-N.json lists them in
// order, with their operations and inputs.
//
//   {"step": 17, "tensors": [
//     {"name": "linear/BiasAdd:0", "known_as": "", "ops": "MatMul + BiasAdd", "origin": "computed",
//      "inputs": ["input/train_batch:0", "linear/kernel:0", "linear/bias:0"]}, ...]}
//
// The archive has the same names. Tensors of the origin "beside" are in no archive: no step of this plan keeps them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/estimator/steps/replay_capture.h"
#include "runtime/estimator/steps/step_watch.h"

namespace belay::runtime {

// Replaces files of the same step. [session]
void write_step(const WatchedStep& step, const ArrayPlace& place);

// The entry of a tensor in step-N.json.
struct ListedTensor {
  std::string name, known_as, ops, origin;
  std::vector<std::string> inputs = {};  // names

  bool is_kept() const noexcept { return origin != origin_text(TensorOrigin::kBeside); }
  const std::string& known_name() const noexcept { return known_as.empty() ? name : known_as; }
};
std::string step_file_name(std::int64_t step, const char* ending);  // "step-17.json"
// DATA_LOSS if the text is no such list. [any thread]
std::vector<ListedTensor> parse_step_list(const std::string& text);

}  // namespace belay::runtime
