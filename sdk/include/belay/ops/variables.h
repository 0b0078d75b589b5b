// SPDX-License-Identifier: Apache-2.0
// Variables. A variable's Output is its value as it is before the run writes anything; the assign functions return its
// value as it is after them. All writes of a run happen together at its end; a run that fails before changes nothing.
//
//   Output w = ops::variable(g, "weights", ops::truncated_normal(g, {784, 10}, 0, 0.05));
//   Output step = ops::get_or_create_global_step(g);
//   Output count = ops::assign_add(step, ops::constant(g, Tensor(std::int64_t{1})));
//
// A variable is stored by its node's name in the session and, unless it is local, in checkpoints: renaming one, or the
// scope around it, makes old checkpoints lack it. Reading one before it is initialized is FAILED_PRECONDITION.
#pragma once

#include <string_view>
#include <vector>

#include "belay/graph.h"
#include "belay/ops/control.h"

namespace belay {
inline namespace v0 {
namespace ops {

// Which collections a variable joins, and by that what saves and trains it.
enum class VariableKind {
  kTrainable,  // saved, and a target of the optimizer
  kGlobal,     // saved
  kLocal,      // of one session, neither saved nor shared: counters of an evaluation
};

// A variable with its initial value, which fixes dtype (any but string) and shape (all dimensions known, else
// INVALID_ARGUMENT). The initializer joins the collection "variable_init" ("local_variable_init" of a kLocal one),
// which the default init operations run; an initial value of random numbers is drawn then, not in each run.
//
//   ops::variable(g, "best", Tensor(0.0f), ops::VariableKind::kGlobal)        saved, but not trained
//
// The initial value cannot read another variable: all initializers run in one run, which reads values as they were
// before.
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
// With a constant as initial value, which becomes the node "<name>_initial_value".
inline Output variable(const Graph& g, std::string_view name, const Tensor& initial_value,
                       VariableKind kind = VariableKind::kTrainable) {
  return variable(g, name, constant(g, initial_value, std::string(name) + "_initial_value"), kind);
}

// Sets the variable; value has its dtype and shape. As for all writes, `variable` must be the variable's Output or what
// another write of it returned, nothing computed from it; the new value is returned; no gradient passes.
inline Output assign(const Output& variable, const Output& value, std::string_view name = {}) {
  return variable.graph().node("Assign", name).in(variable).in(value).output();
}
// variable + value of numbers, both of one dtype and shape: nothing is broadcast. Integers wrap.
inline Output assign_add(const Output& variable, const Output& value, std::string_view name = {}) {
  return variable.graph().node("AssignAdd", name).in(variable).in(value).output();
}
// variable - value, the same way.
inline Output assign_sub(const Output& variable, const Output& value, std::string_view name = {}) {
  return variable.graph().node("AssignSub", name).in(variable).in(value).output();
}
// Adds 1 to an int32 or int64 scalar and returns the new value; a run that finds it at the limit or above fails with
// OUT_OF_RANGE and changes nothing. So it ends a loop as the end of an input does.
inline Output count_up_to(const Output& variable, std::int64_t limit, std::string_view name = {}) {
  return variable.graph().node("CountUpTo", name).in(variable).attr("limit", limit).output();
}
// A bool scalar; does not need the variable to have a value.
inline Output is_variable_initialized(const Output& variable, std::string_view name = {}) {
  return variable.graph().node("IsVariableInitialized", name).in(variable).output();
}
// A string vector [n]: the names of those without a value, in the order of `variables`. Empty when all have one.
inline Output report_uninitialized_variables(const Graph& g, const std::vector<Output>& variables,
                                             std::string_view name = {}) {
  return g.node("ReportUninitializedVariables", name).in(variables).output();
}

// The graph's step counter, an int64 scalar variable "global_step" that begins at 0, saved but not trainable. The
// host's train operation adds 1 to it in each step. A second one is INVALID_ARGUMENT. Call it outside scopes, so that
// its name is what checkpoints of other models have.
inline Output create_global_step(const Graph& g) {
  if (g.collection_size(collections::kGlobalStep) != 0)
    fail(Code::kInvalidArgument, "the graph already has a global step");
  const Output step = variable(g, "global_step", Tensor(std::int64_t{0}), VariableKind::kGlobal);
  g.collect(collections::kGlobalStep, step);
  return step;
}
// The one that exists, else a new one.
inline Output get_or_create_global_step(const Graph& g) {
  const Output step = g.global_step_if_exists();
  return step ? step : create_global_step(g);
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
