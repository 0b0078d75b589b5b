// SPDX-License-Identifier: Apache-2.0
// Fits y = 3 x + 2 in a program: a graph, an optimizer by its name, a hook, a monitored training session. Each start
// makes 200 steps more from the last checkpoint.
#include <belay/default_plugins.h>
#include <belay/ops/math.h>
#include <belay/ops/random.h>
#include <belay/ops/reductions.h>
#include <belay/ops/variables.h>
#include <belay/plugin.h>
#include <belay/runtime/graph.h>
#include <belay/runtime/spinning.h>
#include <belay/runtime/training_session.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>

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

// Returns the operation of a training step.
Output build(belay::OwnedGraph& graph) {
  const Output x = ops::random_uniform(graph, {64}, -1, 1);
  const Output y = x * 3.0 + 2.0;
  const Output weight = ops::variable(graph, "weight", Tensor(0.0f));
  const Output bias = ops::variable(graph, "bias", Tensor(0.0f));
  const Output loss = ops::reduce_mean(ops::square(weight * x + bias - y), {}, false, "loss");
  return graph.minimize(
      loss, {.name = "momentum",
             .learning_rate = {.schedule = "cosine_decay", .learning_rate = 0.02, .options = {{"decay_steps", 400}}},
             .options = {{"momentum", 0.5}}});
}

void run(const std::string& directory) {
  belay::OwnedGraph graph(belay::default_plugins());
  const Output train = build(graph);

  belay::TrainingSessionOptions options{.checkpoint_dir = directory};
  options.hooks.push_back(belay::own_hook("watch", std::make_unique<Watch>(200)));
  belay::MonitoredTrainingSession session(graph, options);
  session.scope([&] {
    while (!session.should_stop()) session.run({train});
  });
  std::printf("ended: %s\nlast checkpoint: %s\n", session.end_reason().text.c_str(), session.checkpoint().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  belay::bound_spinning(argv);  // before anything else: it executes the program once more
  if (argc != 2) {
    std::fprintf(stderr, "usage: embed RUN_DIRECTORY\n");
    return 2;
  }
  try {
    run(argv[1]);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "embed: %s\n", e.what());
    return 1;
  }
}
