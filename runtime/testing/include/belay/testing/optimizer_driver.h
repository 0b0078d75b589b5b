// SPDX-License-Identifier: Apache-2.0
// Drives an optimizer plugin on the real engine: its slots, and the effect of a step on variables and slots. Link
// belay::testing_runtime; this header needs only the SDK.
//
//   OptimizerDriver optimizer(belay_module_my_momentum, {{"momentum", 0.5}});
//   optimizer.variable("w", Tensor({2}, {1.0, -2.0}));
//   optimizer.build();
//   optimizer.step({{"w", Tensor({2}, {1.0, 3.0})}}, 0.1);               // these gradients, this learning rate
//   EXPECT_EQ(optimizer.values("w"), (std::vector<double>{0.9, -2.3}));
//   EXPECT_EQ(optimizer.slots(), std::vector<std::string>{"w/Momentum"});
//
// A variable that gathers read has a sparse gradient: rows with ids, which may repeat. An optimizer without
// takes_sparse gets the dense form.
//
//   optimizer.sparse_variable("table", Tensor({1000, 2}, ...));
//   optimizer.step({}, {{"table", {{3, 7}, Tensor({2, 2}, ...)}}}, 0.1);
//
// The test is the host: it sets the gradients, and so checks formulas without a model. The plugin's error is thrown as
// belay::Error with its name and the callback. Use it from one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "belay/graph.h"
#include "belay/testing/option_values.h"

namespace belay {
inline namespace v0 {
namespace testing {

// Gradients by the variables' names.
using VariableGradients = std::map<std::string, Tensor>;

// The gradient of some rows of a variable: a row for each id.
struct RowGradient {
  std::vector<std::int64_t> ids;
  Tensor rows;
};
using RowGradients = std::map<std::string, RowGradient>;

class OptimizerDriver {
 public:
  // Makes the instance. `plugin` selects it if the module has several.
  explicit OptimizerDriver(const belay_module& module, const OptionValues& options = {},
                           const std::string& plugin = {});
  ~OptimizerDriver();
  OptimizerDriver(const OptimizerDriver&) = delete;
  OptimizerDriver& operator=(const OptimizerDriver&) = delete;

  // Adds a trainable variable, float32 or float64; all have one dtype. Call it before build.
  void variable(const std::string& name, const Tensor& initial_value);
  // Adds one with a sparse gradient.
  void sparse_variable(const std::string& name, const Tensor& initial_value);
  // Calls create_slots, prepare, apply and finish, and initializes all variables. `threads` is for the steps.
  void build(int threads = 1);
  // Each variable needs a gradient of its dtype and shape.
  void step(const VariableGradients& gradients, double learning_rate);
  // Each sparse variable needs its rows.
  void step(const VariableGradients& gradients, const RowGradients& rows, double learning_rate);
  // True after build if the optimizer gets the gradient of this sparse variable by apply_sparse.
  bool takes_sparse(const std::string& name) const;

  // Returns the optimizer's saved variables in the order of their making, without those of the test and the step
  // counter.
  std::vector<std::string> slots() const;
  // Takes a variable or a slot by its name.
  Tensor value(const std::string& name) const;
  std::vector<double> values(const std::string& name) const;
  void set_value(const std::string& name, const Tensor& value);
  std::int64_t global_step() const;
  // Returns the graph, to look for nodes.
  Graph graph() const;

 private:
  struct Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
