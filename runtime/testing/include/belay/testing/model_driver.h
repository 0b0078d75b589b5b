// SPDX-License-Identifier: Apache-2.0
// Drives a model plugin on the real engine: shapes, values, gradients, training steps. Link belay::testing_runtime;
// this header needs only the SDK.
//
//   ModelDriver model(belay_module_mlp, {{"hidden", std::vector<std::int64_t>{8}}, {"classes", 3}});
//   model.feature("x", DType::kFloat32, {-1, 4});
//   model.label("y", DType::kInt64, {-1});
//   model.build(Mode::kTrain);
//   EXPECT_LT(model.worst_gradient_error(batch), 1e-2);
//   const double before = model.loss(batch);
//   model.train_step(batch, 0.1);
//   EXPECT_LT(model.loss(batch), before);
//
// One driver is one graph with one set of variables, which build initializes. The model's error is thrown as
// belay::Error.
//
// To test several modes, declare the same features and labels and build a driver for each. In Mode::kPredict the model
// gets the labels' declarations but no labels, and the labels of a batch are ignored.
//
//   EXPECT_EQ(prediction_faults(*built(Mode::kTrain), *built(Mode::kEval), *built(Mode::kPredict), batch), "");
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "belay/model.h"
#include "belay/testing/option_values.h"

namespace belay {
inline namespace v0 {
namespace testing {

// Features and labels by name.
using ModelBatch = std::map<std::string, Tensor>;

class ModelDriver {
 public:
  explicit ModelDriver(const belay_module& module, const OptionValues& options = {}, const std::string& plugin = {});
  ~ModelDriver();
  ModelDriver(const ModelDriver&) = delete;
  ModelDriver& operator=(const ModelDriver&) = delete;

  // Adds the operations of another library, as [[ops]] would. Those beside the model are there already. Call it before
  // build.
  void add_ops(const belay_module& module);
  // Declare features and labels like an input. Call them before build. Values are in [0, classes); 0: unknown.
  void feature(const std::string& name, DType dtype, const Dims& dims, std::int64_t classes = 0);
  void label(const std::string& name, DType dtype, const Dims& dims, std::int64_t classes = 0);
  // The same, with the facts that a training's input keeps.
  void label(const DeclaredLabel& label);
  // Calls the plugin's build, and initializes the variables from `seed`, like a new run. The model's init operations
  // and initial values are used if it has some. Hooks of the model are not called.
  void build(Mode mode, std::uint64_t seed = 42);

  // Return the model's predictions and metrics. Names are in its order.
  std::vector<std::string> predictions() const;
  std::vector<std::string> metrics() const;
  std::vector<std::string> hooks() const;  // names of its hooks in this mode
  const std::vector<Signature>& signatures() const;
  // Returns the pieces of the scaffold: "init_op", "local_init_op", "ready_op", "ready_for_local_init_op",
  // "summary_op".
  const std::vector<std::string>& pieces() const;
  // Returns dtype and shape of a role or a node: "float32 [?, 10]".
  std::string spec(const std::string& name) const;

  double loss(const ModelBatch& batch);
  // Returns any role or node, as numbers.
  std::vector<double> values(const std::string& name, const ModelBatch& batch);
  double value(const std::string& name, const ModelBatch& batch) { return values(name, batch).at(0); }
  // Returns a metric with a separate state, after its update has seen these batches.
  double metric_over(const std::string& name, const std::vector<ModelBatch>& batches);
  // Evaluates this batch: loss, metrics, their updates and predictions. Returns the names of changed variables that a
  // checkpoint has: "scale, global_step". Empty: none, as it must be. The driver is built in Mode::kEval.
  std::string changed_by_evaluation(const ModelBatch& batch);
  // Makes one step of plain gradient descent and increases the step counter.
  void train_step(const ModelBatch& batch, double learning_rate);

  std::vector<VariableInfo> variables() const;
  Tensor variable(const std::string& name) const;
  void set_variable(const std::string& name, const Tensor& value);
  // Returns the largest difference between the loss's gradient and central differences, over at most `per_variable`
  // elements of each trainable variable. It is relative to the larger of 1 and the gradient. In float32 about 1e-3 is
  // rounding.
  double worst_gradient_error(const ModelBatch& batch, int per_variable = 20);

 private:
  struct Engine;
  std::unique_ptr<Engine> engine_;
};

// Returns variables of `other`, an evaluation or a prediction, that `training` lacks with this dtype and shape. Its
// checkpoint would have no value for them. Empty: none.
std::string foreign_variables(const ModelDriver& training, const ModelDriver& other);

// Checks a prediction against an evaluation with the options of its training. It must have no metrics, neither may have
// foreign variables, and for this batch its values must equal the evaluation's. Returns the faults; empty: none.
std::string prediction_faults(const ModelDriver& training, ModelDriver& evaluating, ModelDriver& predicting,
                              const ModelBatch& batch);

}  // namespace testing
}  // namespace v0
}  // namespace belay
