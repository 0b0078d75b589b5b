// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/host/trained_variables.h"

#include <cstring>
#include <mutex>
#include <shared_mutex>

#include "runtime/monitored/saving/averages.h"

namespace belay::runtime {
namespace {

// Finds the mistake of a variable before any byte is copied.
void check_variable(const Variable& wanted, const Variable* trained) {
  if (trained == nullptr || !trained->initialized)
    fail(Code::kFailedPrecondition,
         "[B5027] the model in mode eval has the variable '" + wanted.name +
             "', which the training does not have; a model must make the same variables in both");
  const auto described = [](const DenseTensor& t) { return dtype_name(t.dtype()) + (" " + dims_text(t.dims())); };
  if (trained->value.dtype() != wanted.value.dtype() || trained->value.dims() != wanted.value.dims())
    fail(Code::kFailedPrecondition, "[B5027] the variable '" + wanted.name + "' is " + described(wanted.value) +
                                        " in mode eval, but training has " + described(trained->value) +
                                        "; a model must make the same variables in both");
}

}  // namespace

// The variables are looked up each time, since a recovery replaces the store, perhaps by one at the same address.
void TrainedVariables::find(const std::vector<Variable*>& wanted, VariableStore& trained) {
  trained_.clear();
  const bool averages = takes_averages(trained);
  for (const Variable* v : wanted) {
    const Variable* from = find_evaluated(trained, v->name, averages);
    check_variable(*v, from);
    trained_.push_back(from);
  }
}

void TrainedVariables::copy(VariableStore& trained, DirectSession& session) {
  const std::vector<Variable*>& variables = session.variables();
  const std::shared_lock reading(trained.gate());
  find(variables, trained);
  if (trained.dirty())
    fail(Code::kFailedPrecondition,
         "[B5079] the variables are not of one step and cannot be evaluated: " + trained.dirty_reason());
  const std::unique_lock writing(session.store().gate());
  for (std::size_t i = 0; i < variables.size(); ++i) {
    Variable& v = *variables[i];
    if (v.value.bytes() != 0) std::memcpy(v.value.data(), trained_[i]->value.data(), v.value.bytes());
    v.initialized = true;
    ++v.version;
  }
}

bool TrainedVariables::same(VariableStore& trained, DirectSession& session) {
  const std::vector<Variable*>& variables = session.variables();
  const std::shared_lock reading(trained.gate());
  find(variables, trained);
  if (trained.dirty()) return false;
  const std::shared_lock copied(session.store().gate());
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const DenseTensor& value = variables[i]->value;
    if (value.bytes() != 0 && std::memcmp(value.data(), trained_[i]->value.data(), value.bytes()) != 0) return false;
  }
  return true;
}

}  // namespace belay::runtime
