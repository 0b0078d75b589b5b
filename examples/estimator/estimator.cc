// SPDX-License-Identifier: Apache-2.0
// Separates points inside a ring from those outside: a model in a dozen lines, and the modes of a manifest, a function
// each. Killed at any moment it continues from its last checkpoint.
//
//   estimator train /tmp/ring                200 steps more from the last checkpoint, evaluated every 50
//   estimator evaluate /tmp/ring             the newest checkpoint, on other points
//   estimator predict /tmp/ring              whether six more points are inside
//   estimator export /tmp/ring               the newest checkpoint as ONNX, below /tmp/ring/export/onnx
//
//   estimator train_and_evaluate /tmp/both   up to step 400; each checkpoint is evaluated, the best are exported
//   estimator continuous_eval /tmp/both      in a second process: evaluates the checkpoints of that as they come
//
// With BELAY_CONFIG train_and_evaluate is one of two processes, the chief or its evaluator (docs/guide/estimator.md).
#include <belay/default_plugins.h>
#include <belay/ops/losses.h>
#include <belay/ops/matmul.h>
#include <belay/ops/reductions.h>
#include <belay/plugin.h>
#include <belay/runtime/estimator.h>
#include <belay/runtime/experiment.h>
#include <belay/runtime/model_exporter.h>
#include <belay/runtime/spinning.h>
#include <belay/runtime/train_and_evaluate.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iterator>
#include <string>
#include <vector>

namespace {

namespace ops = belay::ops;
using belay::Output;
using belay::Tensor;

belay::EstimatorSpec ring(const belay::ModelArgs& model) {
  const Output hidden = ops::dense(model.feature("point"), 16, {.activation = ops::Activation::kTanh});
  const Output logits = ops::dense(hidden, 2);
  const Output inside = ops::arg_max(logits);
  if (model.mode == belay::Mode::kPredict) return {model, {.predictions = {{"inside", inside}}}};
  const Output loss = ops::softmax_cross_entropy(logits, model.label());
  if (model.mode == belay::Mode::kEval)
    return {model, {.loss = loss, .eval_metric_ops = {{"accuracy", ops::metrics::accuracy(model.label(), inside)}}}};
  const belay::OptimizerSettings adam{.name = "adam", .learning_rate = {.learning_rate = 0.02}};
  return {model, {.loss = loss, .train_op = model.minimize(loss, adam)}};
}

// On a spiral, half of them nearer than 1 to the middle; `from`: another offset, other points.
belay::InputFn points(std::int64_t n, double from, std::int64_t epochs = 1) {
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
belay::InputFn training_points() { return points(512, 0, 200); }
belay::InputFn test_points() { return points(200, 0.5); }

void print(const belay::EvalMetrics& metrics) {
  if (!metrics.empty()) std::printf("%s\n", belay::eval_metrics_text(metrics).c_str());
}

void train(belay::Estimator& estimator) {
  estimator.train(training_points(),
                  {.steps = 200, .evaluators = {belay::in_memory_evaluator(test_points(), {.every_n_iter = 50})}});
}

void evaluate(belay::Estimator& estimator) { print(estimator.evaluate(test_points(), {.name = "after"})); }

void predict(belay::Estimator& estimator) {
  for (const belay::PredictedRow& p : estimator.predict(points(6, 0.25)))
    std::printf("%s\n", p["inside"].scalar<std::int64_t>() == 1 ? "inside" : "outside");
}

void export_model(belay::Estimator& estimator) {
  std::printf("%s\n", belay::export_checkpoint(estimator, *belay::plugin_exporter("onnx"), test_points()).c_str());
}

void train_and_evaluate(belay::Estimator& estimator) {
  const belay::TrainSpec training(training_points(), {.max_steps = 400});
  const auto best = belay::plugin_exporter("safetensors", {.when = belay::ExportWhen::kBest, .keep = 2},
                                           {.name = "best", .best_metric = "accuracy"});
  const belay::EvalSpec evaluation(test_points(), {.steps = std::nullopt,
                                                   .exporters = {best, belay::plugin_exporter("onnx")},
                                                   .start_delay_secs = 0,
                                                   .throttle_secs = 0});
  print(belay::train_and_evaluate(estimator, training, evaluation).metrics);
}

void continuous_eval(belay::Estimator& estimator) {
  belay::Experiment experiment(estimator, training_points(), test_points(),
                               {.train_steps = 400, .eval_steps = std::nullopt});
  print(experiment.continuous_eval({.delay_secs = 0, .throttle_secs = 1}));
}

constexpr struct {
  const char* name;
  void (*run)(belay::Estimator&);
} kModes[] = {{"train", train},         {"evaluate", evaluate},
              {"predict", predict},     {"train_and_evaluate", train_and_evaluate},
              {"export", export_model}, {"continuous_eval", continuous_eval}};

}  // namespace

int main(int argc, char** argv) {
  belay::bound_spinning(argv);  // before anything else: it executes the program once more
  const auto mode =
      std::ranges::find_if(kModes, [&](const auto& m) { return argc == 3 && m.name == std::string(argv[1]); });
  if (mode == std::end(kModes)) {
    std::fprintf(stderr,
                 "usage: estimator train|evaluate|predict|export|train_and_evaluate|continuous_eval RUN_DIRECTORY\n");
    return 2;
  }
  try {
    const belay::RunConfig config({.model_dir = argv[2], .save_checkpoints_steps = 100});
    belay::Estimator estimator(ring, {.plugins = belay::default_plugins(), .config = config});
    mode->run(estimator);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "estimator: %s\n", e.what());
    return 1;
  }
  return 0;
}
