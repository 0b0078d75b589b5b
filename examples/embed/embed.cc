// SPDX-License-Identifier: Apache-2.0
// Fits y = 3 x + 2 in a program: a graph, a hook, a monitored training session. Each start makes 200 steps
// more from the last checkpoint.
#include <belay/default_plugins.h>
#include <belay/ops/activations.h>
#include <belay/ops/math.h>
#include <belay/ops/random.h>
#include <belay/ops/reductions.h>
#include <belay/ops/training.h>
#include <belay/ops/variables.h>
#include <belay/plugin.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>

#include "runtime/estimator/monitored_training_session.h"
#include "runtime/ops/registry.h"
#include "runtime/platform/spinning.h"

namespace {

namespace ops = belay::ops;
using belay::Output;
using belay::Tensor;

// Prints the loss now and then, and stops the run after so many steps.
class Watch final : public belay::Hook {
 public:
  explicit Watch(int steps) : steps_(steps) {}
  void begin(belay::Graph& graph) override { loss_ = graph.fetch<float>("loss"); }
  belay::RunArgs before_run(belay::RunContext&) override { return {loss_}; }
  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    if (++done_ % 100 == 0)
      std::printf("after %d steps of this start: loss %.6f\n", done_, static_cast<double>(values[loss_]));
    if (done_ == steps_) run.request_stop("enough steps for one start");
  }

 private:
  const int steps_;
  int done_ = 0;
  belay::Fetch<float> loss_;
};

struct Model {
  Output weight, bias, train;
};

Model build(const belay::Graph& g) {
  Model m;
  const Output step = ops::create_global_step(g);
  const Output x = ops::random_uniform(g, {64}, -1, 1);
  const Output y = x * 3.0 + 2.0;
  m.weight = ops::variable(g, "weight", Tensor(0.0f));
  m.bias = ops::variable(g, "bias", Tensor(0.0f));
  const Output loss = ops::reduce_mean(ops::square(m.weight * x + m.bias - y), {}, false, "loss");
  const std::vector<Output> gradients = g.gradients({loss}, {m.weight, m.bias});
  const Output rate = ops::scalar(g, 0.1, belay::DType::kFloat32, "rate");
  const std::vector<Output> updates = {ops::apply_gradient_descent(m.weight, rate, gradients[0]),
                                       ops::apply_gradient_descent(m.bias, rate, gradients[1])};
  const auto after = g.after(updates);
  m.train = ops::assign_add(step, ops::constant(g, Tensor(std::int64_t{1}))).operation();
  return m;
}

int run(const std::string& directory) {
  namespace rt = belay::runtime;
  const auto op_registry = rt::make_op_registry();
  rt::NodeGraph graph(*op_registry);
  const Model model = build(graph.handle());

  rt::TrainingSessionOptions options;
  options.plugins = belay::default_plugins();
  options.checkpoint_dir = directory;
  options.hooks.push_back(rt::own_hook("watch", std::make_unique<Watch>(200)));
  rt::MonitoredTrainingSession session(graph, std::move(options));
  session->scope([&] {
    while (!session->should_stop()) session->run({model.train});
  });
  std::printf("ended: %s\nlast checkpoint: %s\n", session->end_reason().text.c_str(), session.checkpoint().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  belay::runtime::bound_spinning(argv);  // before anything else: it executes the program once more
  if (argc != 2) {
    std::fprintf(stderr, "usage: embed RUN_DIRECTORY\n");
    return 2;
  }
  try {
    return run(std::filesystem::absolute(argv[1]).string());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "embed: %s\n", e.what());
    return 1;
  }
}
