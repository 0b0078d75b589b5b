// SPDX-License-Identifier: Apache-2.0
// Drives a model plugin on the real engine: shapes, values, gradients, training steps. Link belay::testing_runtime; the
// header itself needs the SDK only.
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
// One driver is one graph with one set of variables, initialized by build. What the model throws comes out as
// belay::Error.
//
// Modes: declare features and labels alike and build a driver for each. In Mode::kPredict the model gets the labels'
// declarations and no labels; those of a batch are left out there.
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

  // The operations of one more library, as [[ops]] names them; those beside the model are there. Before build.
  void add_ops(const belay_module& module);
  // What the input would declare; before build. Values are in [0, classes); 0: not said.
  void feature(const std::string& name, DType dtype, const Dims& dims, std::int64_t classes = 0);
  void label(const std::string& name, DType dtype, const Dims& dims, std::int64_t classes = 0);
  // Calls the plugin's build, and initializes the variables from `seed`, as a new run does: with the model's own init
  // operations and initial values where it has some. Hooks that the model brings are not called.
  void build(Mode mode, std::uint64_t seed = 42);

  // What the model has. Names in its order.
  std::vector<std::string> predictions() const;
  std::vector<std::string> metrics() const;
  std::vector<std::string> hooks() const;  // names of those that it brings in this mode
  const std::vector<Signature>& signatures() const;
  // Of the scaffold: "init_op", "local_init_op", "ready_op", "ready_for_local_init_op", "summary_op".
  const std::vector<std::string>& pieces() const;
  // Dtype and shape of a role or a node: "float32 [?, 10]".
  std::string spec(const std::string& name) const;

  double loss(const ModelBatch& batch);
  // Any role or node, as numbers.
  std::vector<double> values(const std::string& name, const ModelBatch& batch);
  double value(const std::string& name, const ModelBatch& batch) { return values(name, batch).at(0); }
  // A metric with a state of its own, after its update has seen these batches.
  double metric_over(const std::string& name, const std::vector<ModelBatch>& batches);
  // What an evaluation of this batch changes of the variables that a checkpoint holds, by loss, metrics, their updates
  // and predictions: names, "scale, global_step". Empty: nothing, as it must be. The driver is built in Mode::kEval.
  std::string changed_by_evaluation(const ModelBatch& batch);
  // One step of plain gradient descent; the step counter advances.
  void train_step(const ModelBatch& batch, double learning_rate);

  std::vector<VariableInfo> variables() const;
  Tensor variable(const std::string& name) const;
  void set_variable(const std::string& name, const Tensor& value);
  // The largest difference between the loss's gradient and central differences, over at most `per_variable` elements of
  // each trainable variable, relative to the larger of 1 and the gradient. float32: some 1e-3 is rounding.
  double worst_gradient_error(const ModelBatch& batch, int per_variable = 20);

 private:
  struct Engine;
  std::unique_ptr<Engine> engine_;
};

// The variables of `other`, an evaluation or a prediction, that `training` does not have with this dtype and shape:
// they would find no value in its checkpoint. Empty: none.
std::string foreign_variables(const ModelDriver& training, const ModelDriver& other);

// What a prediction owes to an evaluation with the options of its training: no metrics, no foreign variables in either,
// and of this batch the values that the evaluation has. What is wrong; empty: nothing.
std::string prediction_faults(const ModelDriver& training, ModelDriver& evaluating, ModelDriver& predicting,
                              const ModelBatch& batch);

}  // namespace testing
}  // namespace v0
}  // namespace belay
