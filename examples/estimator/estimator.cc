// SPDX-License-Identifier: Apache-2.0
// Separates points inside a ring from those outside: a model in a dozen lines, trained, evaluated and asked for
// predictions. Each start trains 200 steps more from the last checkpoint.
#include <belay/default_plugins.h>
#include <belay/ops/losses.h>
#include <belay/ops/matmul.h>
#include <belay/ops/reductions.h>
#include <belay/plugin.h>
#include <belay/runtime/estimator.h>
#include <belay/runtime/spinning.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
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

struct Points {
  Tensor at, inside;
};

// On a spiral, half of them nearer than 1 to the middle; `from`: another offset, other points.
Points points(std::int64_t n, double from) {
  std::vector<float> at;
  std::vector<std::int64_t> inside;
  for (std::int64_t i = 0; i < n; ++i) {
    const double place = static_cast<double>(i) + from, radius = 2 * place / static_cast<double>(n),
                 angle = 2.4 * place;
    at.push_back(static_cast<float>(radius * std::cos(angle)));
    at.push_back(static_cast<float>(radius * std::sin(angle)));
    inside.push_back(radius < 1 ? 1 : 0);
  }
  return {Tensor({n, 2}, at), Tensor({n}, inside)};
}

void run(const std::string& directory) {
  belay::Estimator estimator(ring, {.plugins = belay::default_plugins(), .model_dir = directory});
  const Points train = points(512, 0), test = points(200, 0.5), asked = points(6, 0.25);
  const belay::InputFn test_input = belay::tensor_input({{"point", test.at}}, {{"inside", test.inside}});
  estimator.train(belay::tensor_input({{"point", train.at}}, {{"inside", train.inside}}, {.epochs = 100}),
                  {.steps = 200, .evaluators = {belay::in_memory_evaluator(test_input, {.every_n_iter = 50})}});

  const belay::EvalMetrics metrics = estimator.evaluate(test_input, {.name = "after"});
  std::printf("%s\n", belay::eval_metrics_text(metrics).c_str());

  for (const belay::PredictedRow& p : estimator.predict(belay::tensor_input({{"point", asked.at}})))
    std::printf("%s\n", p["inside"].scalar<std::int64_t>() == 1 ? "inside" : "outside");
}

}  // namespace

int main(int argc, char** argv) {
  belay::bound_spinning(argv);  // before anything else: it executes the program once more
  if (argc != 2) {
    std::fprintf(stderr, "usage: estimator RUN_DIRECTORY\n");
    return 2;
  }
  try {
    run(argv[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "estimator: %s\n", e.what());
    return 1;
  }
  return 0;
}
