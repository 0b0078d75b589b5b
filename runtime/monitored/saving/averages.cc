// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/saving/averages.h"

#include <algorithm>
#include <string_view>

namespace belay::runtime {
namespace {

constexpr std::string_view kPrefix = "weight_averaging/";
// They are made once, so an evaluation allocates nothing.
const std::string kEvaluate = "weight_averaging/evaluate";
const std::string kSwapped = "weight_averaging/swapped";

bool is_set(VariableStore& trained, const std::string& name) {
  const Variable* flag = trained.find(name);
  return flag != nullptr && flag->initialized && flag->value.dtype() == DType::kFloat32 &&
         flag->value.bytes() == sizeof(float) && *static_cast<const float*>(flag->value.data()) != 0;
}

bool is_set(const StoredTensors& stored, const SaverUse& saver, const std::string& name) {
  const std::vector<TensorInfo> tensors = stored.tensors();
  if (std::find(tensors.begin(), tensors.end(), TensorInfo{name, DType::kFloat32, {}}) == tensors.end()) return false;
  DenseTensor flag(DType::kFloat32, {});
  stored.read(saver, {{name, flag.view()}});
  return *static_cast<const float*>(flag.data()) != 0;
}

}  // namespace

bool takes_averages(VariableStore& trained) { return is_set(trained, kEvaluate); }

bool takes_averages(const StoredTensors& stored, const SaverUse& saver) { return is_set(stored, saver, kEvaluate); }

std::string average_of(const std::string& variable) { return std::string(kPrefix) + variable; }

Variable* find_evaluated(VariableStore& trained, const std::string& name, bool averages) {
  Variable* average = averages ? trained.find(average_of(name)) : nullptr;
  return average != nullptr ? average : trained.find(name);
}

bool swapped_since(VariableStore& trained, const StoredTensors& stored, const SaverUse& saver) {
  return is_set(stored, saver, kSwapped) && !is_set(trained, kSwapped);
}

Variable* find_swapped(VariableStore& trained, const std::string& name) {
  if (name == kEvaluate || name == kSwapped) return nullptr;
  Variable* other =
      name.starts_with(kPrefix) ? trained.find(name.substr(kPrefix.size())) : trained.find(average_of(name));
  return other != nullptr ? other : trained.find(name);
}

}  // namespace belay::runtime
