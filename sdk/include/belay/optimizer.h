// SPDX-License-Identifier: Apache-2.0
// An Optimizer adds the nodes that update a model's variables by the gradients of its loss. [optimizer] of a manifest
// names it. The host computes the gradients, clips them, makes the learning rate, and increases the global step.
//
//   class Momentum final : public belay::Optimizer {
//    public:
//     struct Options { double momentum = 0.9; };
//     static constexpr auto about = belay::about("my_momentum", "Gradient descent with momentum",
//         belay::option("momentum", &Options::momentum, "fraction of the sum that each step keeps").range(0, 1));
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
// They are TensorFlow's _create_slots, _prepare, _apply_dense and _finish. An optimizer with takes_sparse gets
// apply_sparse for a table that gathers read. The object may keep nodes that they make
// until finish has returned. No code of an optimizer runs in a step: its nodes do. Nodes that write variables write
// together at the end of the step. An Output of a variable is its value before the step.
//
// belay/ops/training.h has formulas and nodes for the common rules. Make other rules of ops::assign, assign_add and
// assign_sub (belay/ops/variables.h), operators on Outputs and belay/ops/math.h. The engine fuses nodes if it can.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "belay/graph.h"
#include "belay/ops/control.h"
#include "belay/ops/indexed_slices.h"
#include "belay/ops/shape.h"
#include "belay/ops/variables.h"

namespace belay {
inline namespace v0 {

// The part of a step for one variable.
struct Update {
  std::size_t index;  // of the variable, and of its slot in the result of slots()
  Output variable;
  Output gradient;   // of the variable's dtype and shape
  std::string name;  // for the node that writes the variable: "update_dense/kernel"
};

// The part of a step for a variable whose gradient is sparse: the variable is read by gathers along its first dimension
// alone. A draft, which may change.
struct SparseUpdate {
  std::size_t index;  // of the variable, and of its slot in the result of slots()
  Output variable;
  ops::IndexedSlices gradient;  // the rows that the step has a gradient for
  std::string name;             // for the node that writes the variable
};

// The arguments of every callback: the graph, the variables and their gradients, the rate. It is valid for the call.
// Outputs made with it may be kept until finish has returned.
class OptimizerContext {
 public:
  // For the SDK: `given` is the result of detail::read_sized.
  OptimizerContext(const detail::Services* services, const belay_optimizer_args& given)
      : args_(given), graph_(&services->graph, args_.graph) {}

  // The training's graph, open.
  const Graph& graph() const noexcept { return graph_; }
  // Number of variables to update, at least one, and their common dtype: float32 or float64.
  std::size_t size() const noexcept { return static_cast<std::size_t>(args_.n_variables); }
  DType dtype() const { return graph_.output(args_.variables[0]).dtype(); }
  // Variable i with its gradient, i < size(). The index is not checked.
  Update update(std::size_t i) const {
    const Output variable = graph_.output(args_.variables[i]);
    return {i, variable, graph_.output(args_.gradients[i]), "update_" + graph_.node_name_of(variable)};
  }
  // The sparse gradient of a variable from the host's outputs.
  ops::IndexedSlices slices(const belay_output& indices, const belay_output& rows) const {
    return {graph_.output(indices), graph_.output(rows)};
  }
  // All variables, in the order of update(i).
  std::vector<Output> variables() const { return outputs(args_.variables); }
  // All gradients in the variables' order, clipped as [optimizer] sets. They are dense and have the variables' shapes.
  std::vector<Output> gradients() const { return outputs(args_.gradients); }
  // The learning rate: a scalar of dtype(), after schedule and hooks.
  Output learning_rate() const { return graph_.output(args_.learning_rate); }
  // The number of steps before this step, an integer scalar.
  Output global_step() const { return graph_.output(args_.global_step); }

  // Makes a constant of dtype().
  Output scalar(double value, std::string_view name = {}) const { return ops::scalar(graph_, value, dtype(), name); }
  // Makes a saved variable for each variable, named "<variable>/<name>", in the variables' order. It has the variable's
  // dtype and shape; each element is `initial` at first. Call it in create_slots alone. Elsewhere a scope would become
  // part of the name, and checkpoints find values by names.
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
  // Makes one saved scalar for all variables, of dtype(). Call it in create_slots alone too.
  Output slot_for_all(std::string_view name, double initial) const {
    return ops::variable(graph_, name, scalar(initial, std::string(name) + "_initial_value"),
                         ops::VariableKind::kGlobal);
  }

  // Makes outputs of an array with one element per variable.
  std::vector<Output> outputs(const belay_output* raw) const {
    std::vector<Output> all;
    for (std::size_t i = 0; i < size(); ++i) all.push_back(graph_.output(raw[i]));
    return all;
  }

 private:
  belay_optimizer_args args_;
  Graph graph_;
};

// The base of plugins of the kind "optimizer". An exception of a callback ends the building of the graph, with the
// plugin's name. `belay validate` runs it on synthetic variables.
class Optimizer : public Plugin {
 public:
  // Makes the variables that the optimizer keeps from step to step. [main]
  virtual void create_slots(const OptimizerContext& optimizer) { (void)optimizer; }
  // Makes nodes that all updates share. Names begin with "train/" here and in the callbacks below. [main]
  virtual void prepare(const OptimizerContext& optimizer) { (void)optimizer; }
  // Adds the nodes that write one variable and its slots. Returns a node that runs after all of these writes: the only
  // node, or ops::group of several. [main]
  virtual Output apply(const OptimizerContext& optimizer, const Update& update) = 0;
  // Adds nodes after the updates, and returns them: operations that are part of the step. Make nodes that must see the
  // updates under graph().after(updates). [main]
  virtual std::vector<Output> finish(const OptimizerContext& optimizer, const std::vector<Output>& updates) {
    (void)optimizer, (void)updates;
    return {};
  }
  // True: the host calls apply_sparse for each variable whose gradient is sparse. False: the gradient becomes dense, of
  // the variable's size, and comes to apply. A draft. [main]
  virtual bool takes_sparse() const { return false; }
  // Replaces apply for a sparse gradient (TensorFlow's _apply_sparse): it adds nodes that write rows of the variable
  // and its slots (ops::sparse_apply_adagrad). Override it together with takes_sparse. A draft. [main]
  virtual Output apply_sparse(const OptimizerContext& optimizer, const SparseUpdate& update) {
    (void)optimizer, (void)update;
    return Output();
  }
};

}  // namespace v0
}  // namespace belay
