// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/averages.h"

#include <algorithm>

namespace belay::runtime {
namespace {

const std::string kEvaluate = "weight_averaging/evaluate";  // made once: an evaluation allocates nothing

}  // namespace

bool takes_averages(VariableStore& trained) {
  const Variable* evaluate = trained.find(kEvaluate);
  return evaluate != nullptr && evaluate->initialized && evaluate->value.dtype() == DType::kFloat32 &&
         evaluate->value.bytes() == sizeof(float) && *static_cast<const float*>(evaluate->value.data()) != 0;
}

bool takes_averages(const StoredTensors& stored, const SaverUse& saver) {
  const std::vector<TensorInfo> tensors = stored.tensors();
  if (std::find(tensors.begin(), tensors.end(), TensorInfo{kEvaluate, DType::kFloat32, {}}) == tensors.end())
    return false;
  DenseTensor evaluate(DType::kFloat32, {});
  stored.read(saver, {{kEvaluate, evaluate.view()}});
  return *static_cast<const float*>(evaluate.data()) != 0;
}

std::string average_of(const std::string& variable) { return "weight_averaging/" + variable; }

Variable* find_evaluated(VariableStore& trained, const std::string& name, bool averages) {
  Variable* average = averages ? trained.find(average_of(name)) : nullptr;
  return average != nullptr ? average : trained.find(name);
}

}  // namespace belay::runtime
