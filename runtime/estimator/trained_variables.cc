// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/trained_variables.h"

#include <cstring>
#include <mutex>
#include <shared_mutex>

namespace belay::runtime {
namespace {

// What is found wrong with a variable before a byte is copied.
void check_variable(const Variable& wanted, const Variable* trained) {
  if (trained == nullptr || !trained->initialized)
    fail(Code::kFailedPrecondition, "the model in mode eval has the variable '" + wanted.name +
                                        "', which training has not got; a model must make the same variables in both");
  const auto described = [](const DenseTensor& t) { return dtype_name(t.dtype()) + (" " + dims_text(t.dims())); };
  if (trained->value.dtype() != wanted.value.dtype() || trained->value.dims() != wanted.value.dims())
    fail(Code::kFailedPrecondition, "the variable '" + wanted.name + "' is " + described(wanted.value) +
                                        " in mode eval, but training has " + described(trained->value) +
                                        "; a model must make the same variables in both");
}

}  // namespace

// Looked up each time: a recovery replaces the store, perhaps by one at the same address.
void TrainedVariables::find(const std::vector<Variable*>& wanted, VariableStore& trained) {
  trained_.clear();
  for (const Variable* v : wanted) {
    const Variable* from = trained.find(v->name);
    check_variable(*v, from);
    trained_.push_back(from);
  }
}

void TrainedVariables::copy(VariableStore& trained, DirectSession& session) {
  const std::vector<Variable*>& variables = session.variables();
  find(variables, trained);
  const std::shared_lock reading(trained.gate());
  if (trained.dirty())
    fail(Code::kFailedPrecondition,
         "the variables are not of one step and cannot be evaluated: " + trained.dirty_reason());
  const std::unique_lock writing(session.store().gate());
  for (std::size_t i = 0; i < variables.size(); ++i) {
    Variable& v = *variables[i];
    if (v.value.bytes() != 0) std::memcpy(v.value.data(), trained_[i]->value.data(), v.value.bytes());
    v.initialized = true;
    ++v.version;
  }
}

}  // namespace belay::runtime
