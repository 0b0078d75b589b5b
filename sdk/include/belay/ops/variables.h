// SPDX-License-Identifier: Apache-2.0
// Variables. A variable's Output is its value before the run's writes; the assign functions return its value after
// them. All writes of a run happen together at its end. A run that fails before changes nothing.
//
//   Output w = ops::variable(g, "weights", ops::truncated_normal(g, {784, 10}, 0, 0.05));
//   Output step = ops::get_or_create_global_step(g);
//   Output count = ops::assign_add(step, ops::constant(g, Tensor(std::int64_t{1})));
//
// The session and, unless it is local, the checkpoints store a variable under its node's name. So a new name of a
// variable, or of its scope, makes it missing in old checkpoints. FAILED_PRECONDITION: a read before the
// initialization.
#pragma once

#include <string_view>
#include <vector>

#include "belay/graph.h"
#include "belay/ops/control.h"

namespace belay {
inline namespace v0 {
namespace ops {

// The collections that a variable joins; they decide if it is saved and trained.
enum class VariableKind {
  kTrainable,  // saved, and a target of the optimizer
  kGlobal,     // saved
  kLocal,      // of one session, neither saved nor shared: counters of an evaluation
};

// A variable with its initial value, which fixes dtype (any but string) and shape. INVALID_ARGUMENT: a dimension is
// unknown. The initializer joins the collection "variable_init" ("local_variable_init" for kLocal). The default init
// operations run it, so random initial values are drawn once, not in each run.
//
//   ops::variable(g, "best", Tensor(0.0f), ops::VariableKind::kGlobal)        saved, but not trained
//
// The initial value cannot read another variable. All initializers run in one run, which reads the values before its
// writes.
inline Output variable(const Graph& g, std::string_view name, const Output& initial_value,
                       VariableKind kind = VariableKind::kTrainable) {
  const Dims dims = initial_value.dims();
  if (initial_value.rank() < 0)
    fail(Code::kInvalidArgument, "variable '" + std::string(name) + "': the initial value's shape must be known");
  const Output v = g.node("Variable", name).attr("dtype", initial_value.dtype()).attr("shape", dims).output();
  const Output init = g.node("Assign", g.node_name_of(v).substr(g.node_name_of(v).rfind('/') + 1) + "_init")
                          .in(v)
                          .in(initial_value)
                          .output();
  if (kind == VariableKind::kLocal) {
    g.collect(collections::kLocalVariables, v);
    g.collect("local_variable_init", init.operation());
  } else {
    g.collect(collections::kGlobalVariables, v);
    g.collect("variable_init", init.operation());
  }
  if (kind == VariableKind::kTrainable) g.collect(collections::kTrainableVariables, v);
  return v;
}
// Does the same with a constant as initial value, which becomes the node "<name>_initial_value".
inline Output variable(const Graph& g, std::string_view name, const Tensor& initial_value,
                       VariableKind kind = VariableKind::kTrainable) {
  return variable(g, name, constant(g, initial_value, std::string(name) + "_initial_value"), kind);
}

// Sets the variable to value, of its dtype and shape, and returns the new value. As for all writes, `variable` must be
// the variable's Output or the result of another write of it. It must not be computed from it. No gradient passes.
inline Output assign(const Output& variable, const Output& value, std::string_view name = {}) {
  return variable.graph().node("Assign", name).in(variable).in(value).output();
}
// Sets the variable to variable + value, of numbers. Both have one dtype and shape; it does not broadcast. Integers
// wrap.
inline Output assign_add(const Output& variable, const Output& value, std::string_view name = {}) {
  return variable.graph().node("AssignAdd", name).in(variable).in(value).output();
}
// Sets the variable to variable - value, in the same way.
inline Output assign_sub(const Output& variable, const Output& value, std::string_view name = {}) {
  return variable.graph().node("AssignSub", name).in(variable).in(value).output();
}
// Adds 1 to an int32 or int64 scalar and returns the new value. OUT_OF_RANGE: it is at the limit or above; the run then
// changes nothing. So it ends a loop like the end of an input.
inline Output count_up_to(const Output& variable, std::int64_t limit, std::string_view name = {}) {
  return variable.graph().node("CountUpTo", name).in(variable).attr("limit", limit).output();
}
// A bool scalar. The variable need not have a value.
inline Output is_variable_initialized(const Output& variable, std::string_view name = {}) {
  return variable.graph().node("IsVariableInitialized", name).in(variable).output();
}
// A string vector [n]: the names of variables without a value, in the order of `variables`. It is empty when all have
// one.
inline Output report_uninitialized_variables(const Graph& g, const std::vector<Output>& variables,
                                             std::string_view name = {}) {
  return g.node("ReportUninitializedVariables", name).in(variables).output();
}

// Makes the graph's step counter, an int64 scalar variable "global_step" that begins at 0, saved but not trainable. The
// host's train operation adds 1 to it in each step. Call it outside scopes, so checkpoints of other models have the
// same name. INVALID_ARGUMENT: the graph has one already.
inline Output create_global_step(const Graph& g) {
  if (g.collection_size(collections::kGlobalStep) != 0)
    fail(Code::kInvalidArgument, "the graph already has a global step");
  const Output step = variable(g, "global_step", Tensor(std::int64_t{0}), VariableKind::kGlobal);
  g.collect(collections::kGlobalStep, step);
  return step;
}
// Returns the existing one, else makes it.
inline Output get_or_create_global_step(const Graph& g) {
  const Output step = g.global_step_if_exists();
  return step ? step : create_global_step(g);
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
