// SPDX-License-Identifier: Apache-2.0
// An Optimizer adds the nodes that update a model's variables by the gradients of its loss. [optimizer] of a manifest
// names it; the host computes the gradients, clips them and makes the learning rate, and increases the global step.
//
//   class Momentum final : public belay::Optimizer {
//    public:
//     struct Options { double momentum = 0.9; };
//     static constexpr auto about = belay::about("my_momentum", "Gradient descent with momentum",
//         belay::option("momentum", &Options::momentum, "the part of the sum that a step keeps").range(0, 1));
//     explicit Momentum(const Options& o) : o_(o) {}
//     void create_slots(const belay::OptimizerContext& o) override { sums_ = o.slots("Momentum"); }
//     void prepare(const belay::OptimizerContext& o) override { momentum_ = o.scalar(o_.momentum, "momentum"); }
//     belay::Output apply(const belay::OptimizerContext& o, const belay::Update& u) override {
//       return apply_momentum(u.variable, sums_[u.index], o.learning_rate(), u.gradient, momentum_, false, u.name);
//     }
//    private: Options o_; std::vector<belay::Output> sums_; belay::Output momentum_;
//   };
//
// Order, once per graph and all on the main thread:
//
//   create_slots -> prepare -> apply, once for each variable -> finish
//
// They are TensorFlow's _create_slots, _prepare, _apply_dense and _finish. What they make may be kept in the object
// until finish has returned. No code of an optimizer runs in a step: the nodes do. Nodes that write variables write at
// the end of the step, all together; an Output of a variable is its value before the step.
//
// Formulas and nodes for the common rules: belay/ops/training.h. Any other rule is made of ops::assign, assign_add and
// assign_sub (belay/ops/variables.h), with operators on Outputs and belay/ops/math.h; the engine fuses what it can.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "belay/graph.h"
#include "belay/ops/control.h"
#include "belay/ops/shape.h"
#include "belay/ops/variables.h"

namespace belay {
inline namespace v0 {

// One variable's share of a step.
struct Update {
  std::size_t index;  // of the variable, and of its slot in what slots() returned
  Output variable;
  Output gradient;   // of the variable's dtype and shape
  std::string name;  // for the node that writes the variable: "update_dense/kernel"
};

// What every callback gets: the graph, the variables and their gradients, the rate. For the call; outputs that were
// made with it may be kept until finish has returned.
class OptimizerContext {
 public:
  // `given` as detail::read_sized returned it.
  OptimizerContext(const detail::Services* services, const belay_optimizer_args& given)
      : args_(given), graph_(&services->graph, args_.graph) {}

  // The training's graph, open.
  const Graph& graph() const noexcept { return graph_; }
  // The variables to update, at least one; all of one dtype, float32 or float64.
  std::size_t size() const noexcept { return static_cast<std::size_t>(args_.n_variables); }
  DType dtype() const { return graph_.output(args_.variables[0]).dtype(); }
  // i < size()
  Update update(std::size_t i) const {
    const Output variable = graph_.output(args_.variables[i]);
    return {i, variable, graph_.output(args_.gradients[i]), "update_" + graph_.node_name_of(variable)};
  }
  // In the order of update(i).
  std::vector<Output> variables() const { return outputs(args_.variables); }
  // In the variables' order, clipped as [optimizer] says. Dense, of the variables' shapes.
  std::vector<Output> gradients() const { return outputs(args_.gradients); }
  // A scalar of dtype(), as a schedule and hooks make it.
  Output learning_rate() const { return graph_.output(args_.learning_rate); }
  // An integer scalar: the steps that were taken before this one.
  Output global_step() const { return graph_.output(args_.global_step); }

  // A constant of dtype().
  Output scalar(double value, std::string_view name = {}) const { return ops::scalar(graph_, value, dtype(), name); }
  // A saved variable beside each variable, named "<variable>/<name>", of its dtype and shape, with each element
  // `initial` at first; in the variables' order. In create_slots alone: elsewhere a scope would be part of the name,
  // and a checkpoint finds its values by names.
  std::vector<Output> slots(std::string_view name, double initial = 0) const {
    std::vector<Output> all;
    for (const Output& v : variables()) {
      const std::string slot = graph_.node_name_of(v) + "/" + std::string(name);
      all.push_back(ops::variable(graph_, slot,
                                  ops::fill(graph_, v.dims(), initial, v.dtype(), slot + "/initial_value"),
                                  ops::VariableKind::kGlobal));
    }
    return all;
  }
  // One saved scalar for all variables, of dtype(). In create_slots alone, too.
  Output slot_for_all(std::string_view name, double initial) const {
    return ops::variable(graph_, name, scalar(initial, std::string(name) + "_initial_value"),
                         ops::VariableKind::kGlobal);
  }

  // As many outputs as there are variables.
  std::vector<Output> outputs(const belay_output* raw) const {
    std::vector<Output> all;
    for (std::size_t i = 0; i < size(); ++i) all.push_back(graph_.output(raw[i]));
    return all;
  }

 private:
  belay_optimizer_args args_;
  Graph graph_;
};

// A plugin of the kind "optimizer". An error that a callback throws ends the building of the graph, with the plugin's
// name in front. `belay validate` runs it on synthetic variables.
class Optimizer : public Plugin {
 public:
  // Makes the variables that the optimizer keeps from step to step.
  virtual void create_slots(const OptimizerContext& optimizer) { (void)optimizer; }
  // Makes nodes that all updates share. Here and below names begin with "train/".
  virtual void prepare(const OptimizerContext& optimizer) { (void)optimizer; }
  // Adds the nodes that write one variable and its slots; returns one that is there when all of them have: the only
  // one, or ops::group of several.
  virtual Output apply(const OptimizerContext& optimizer, const Update& update) = 0;
  // Adds what comes after the updates, and returns it: operations that are part of the step. What must see the updates
  // done is made under graph().after(updates).
  virtual std::vector<Output> finish(const OptimizerContext& optimizer, const std::vector<Output>& updates) {
    (void)optimizer, (void)updates;
    return {};
  }
};

}  // namespace v0
}  // namespace belay
