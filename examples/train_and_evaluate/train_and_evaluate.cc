// SPDX-License-Identifier: Apache-2.0
// Separates points inside a ring from those outside, and evaluates each checkpoint: in one process, or, as
// BELAY_CONFIG says, as one of two.
//
//   train_and_evaluate /tmp/ring
//
//   CHIEF='"cluster": {"chief": ["localhost:0"]}'
//   BELAY_CONFIG="{$CHIEF, \"task\": {\"type\": \"evaluator\", \"index\": 0}}" train_and_evaluate /tmp/ring &
//   BELAY_CONFIG="{$CHIEF, \"task\": {\"type\": \"chief\", \"index\": 0}}" train_and_evaluate /tmp/ring
#include <belay/default_plugins.h>
#include <belay/ops/losses.h>
#include <belay/ops/matmul.h>
#include <belay/ops/reductions.h>
#include <belay/plugin.h>
#include <belay/runtime/spinning.h>
#include <belay/runtime/train_and_evaluate.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace {

namespace ops = belay::ops;
using belay::Output;
using belay::Tensor;

belay::EstimatorSpec ring(const belay::ModelArgs& model) {
  const Output hidden = ops::dense(model.feature("point"), 16, {.activation = ops::Activation::kTanh});
  const Output logits = ops::dense(hidden, 2);
  const Output loss = ops::softmax_cross_entropy(logits, model.label());
  const Output inside = ops::arg_max(logits);
  if (model.mode == belay::Mode::kEval)
    return {model, {.loss = loss, .eval_metric_ops = {{"accuracy", ops::metrics::accuracy(model.label(), inside)}}}};
  const belay::OptimizerSettings adam{.name = "adam", .learning_rate = {.learning_rate = 0.02}};
  return {model, {.loss = loss, .train_op = model.minimize(loss, adam)}};
}

// On a spiral, half of them nearer than 1 to the middle; `from`: another offset, other points.
belay::InputFn points(std::int64_t n, double from, std::int64_t epochs) {
  std::vector<float> at;
  std::vector<std::int64_t> inside;
  for (std::int64_t i = 0; i < n; ++i) {
    const double place = static_cast<double>(i) + from, radius = 2 * place / static_cast<double>(n),
                 angle = 2.4 * place;
    at.push_back(static_cast<float>(radius * std::cos(angle)));
    at.push_back(static_cast<float>(radius * std::sin(angle)));
    inside.push_back(radius < 1 ? 1 : 0);
  }
  return belay::tensor_input({{"point", Tensor({n, 2}, at)}}, {{"inside", Tensor({n}, inside)}}, {.epochs = epochs});
}

// Copies the best checkpoint by its accuracy, and says so.
class BestCheckpoint final : public belay::ModelExporter {
 public:
  std::string name() const override { return "best"; }
  std::string export_model(const belay::ModelExport& model) override {
    const double accuracy = belay::TensorView(model.metrics.at("accuracy")).number(0);
    if (accuracy <= best_) return {};
    best_ = accuracy;
    std::filesystem::create_directories(model.directory);
    std::filesystem::copy(model.checkpoint_path, model.directory,
                          std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
    return model.directory;
  }

 private:
  double best_ = -1;
};

void run(const std::string& directory) {
  const belay::RunConfig config({.model_dir = directory, .save_checkpoints_steps = 100});
  belay::Estimator estimator(ring, {.plugins = belay::default_plugins(), .config = config});
  const belay::TrainSpec training(points(512, 0, 200), {.max_steps = 400});
  const belay::EvalSpec evaluation(points(200, 0.5, 1), {.steps = std::nullopt,
                                                         .exporters = {std::make_shared<BestCheckpoint>()},
                                                         .start_delay_secs = 0,
                                                         .throttle_secs = 0});
  const belay::TrainAndEvaluateResult result = belay::train_and_evaluate(estimator, training, evaluation);
  if (!result.metrics.empty()) std::printf("%s\n", belay::eval_metrics_text(result.metrics).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  belay::bound_spinning(argv);  // before anything else: it executes the program once more
  if (argc != 2) {
    std::fprintf(stderr, "usage: train_and_evaluate RUN_DIRECTORY\n");
    return 2;
  }
  try {
    run(argv[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "train_and_evaluate: %s\n", e.what());
    return 1;
  }
  return 0;
}
