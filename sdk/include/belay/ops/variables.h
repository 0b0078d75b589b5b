// SPDX-License-Identifier: Apache-2.0
// Variables. A variable's Output is its value as it is before the run writes anything; the assign functions give its
// value as it is after them. All writes of a run happen together at its end.
//
//   Output w = ops::variable(g, "weights", {784, 10}, ops::truncated_normal(g, {784, 10}, 0, 0.05));
//   Output step = ops::get_or_create_global_step(g);
//   Output count = ops::assign_add(step, ops::constant(g, Tensor(std::int64_t{1})));
#pragma once

#include <string_view>
#include <vector>

#include "belay/graph.h"
#include "belay/ops/control.h"

namespace belay {
inline namespace v0 {
namespace ops {

enum class VariableKind {
  kTrainable,  // saved, and a target of the optimizer
  kGlobal,     // saved
  kLocal,      // of one session, neither saved nor shared: counters of an evaluation
};

// A variable with its initial value, which fixes dtype and shape. Its initializer joins the collection "init" that the
// init operations run.
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
inline Output variable(const Graph& g, std::string_view name, const Tensor& initial_value,
                       VariableKind kind = VariableKind::kTrainable) {
  return variable(g, name, constant(g, initial_value, std::string(name) + "_initial_value"), kind);
}

inline Output assign(const Output& variable, const Output& value, std::string_view name = {}) {
  return variable.graph().node("Assign", name).in(variable).in(value).output();
}
inline Output assign_add(const Output& variable, const Output& value, std::string_view name = {}) {
  return variable.graph().node("AssignAdd", name).in(variable).in(value).output();
}
inline Output assign_sub(const Output& variable, const Output& value, std::string_view name = {}) {
  return variable.graph().node("AssignSub", name).in(variable).in(value).output();
}
// Adds 1 to an integer scalar; a run that finds it at the limit fails with OUT_OF_RANGE and changes nothing.
inline Output count_up_to(const Output& variable, std::int64_t limit, std::string_view name = {}) {
  return variable.graph().node("CountUpTo", name).in(variable).attr("limit", limit).output();
}
inline Output is_variable_initialized(const Output& variable, std::string_view name = {}) {
  return variable.graph().node("IsVariableInitialized", name).in(variable).output();
}
// A string vector: the names of those without a value.
inline Output report_uninitialized_variables(const Graph& g, const std::vector<Output>& variables,
                                             std::string_view name = {}) {
  return g.node("ReportUninitializedVariables", name).in(variables).output();
}

// The graph's step counter, an int64 scalar named global_step. A second one is an error.
inline Output create_global_step(const Graph& g) {
  if (g.collection_size(collections::kGlobalStep) != 0)
    fail(Code::kInvalidArgument, "the graph already has a global step");
  const Output step = variable(g, "global_step", Tensor(std::int64_t{0}), VariableKind::kGlobal);
  g.collect(collections::kGlobalStep, step);
  return step;
}
inline Output get_or_create_global_step(const Graph& g) {
  const Output step = g.global_step_if_exists();
  return step ? step : create_global_step(g);
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
