// SPDX-License-Identifier: Apache-2.0
// Training steps of one of bench/models.h through a session, as a run makes them: loss, gradients, optimizer, step
// counter. bench/models.py drives it.
//
//   bench_model_steps MODEL THREADS [bf16]
#include <cstdlib>
#include <iostream>
#include <string>

#include "bench/models.h"
#include "bench/rounds.h"
#include "runtime/optimizer/optimizer.h"
#include "runtime/session/direct_session.h"

namespace belay::bench {
namespace {

int run(const std::string& name, int threads, runtime::Precision precision) {
  const std::unique_ptr<ModelGraph> model = build_model(name);
  runtime::OptimizerSection optimizer;
  optimizer.name = name == "linear" ? "sgd" : "adam";
  optimizer.learning_rate.learning_rate = name == "linear" ? 0.01 : 1e-3;
  const Output train = runtime::minimize(model->graph, model->loss, optimizer);
  const std::vector<runtime::Port> initializers = model->nodes.collection("variable_init");
  model->nodes.finalize();
  runtime::SessionOptions options;
  options.threads = threads;
  options.precision = precision;
  const auto session =
      std::make_shared<runtime::DirectSession>(model->nodes, std::make_shared<runtime::VariableStore>(), options);
  session->run_once(initializers);

  const Tensor x = make_features(*model), labels = make_labels(*model);
  const std::vector<belay_feed> feeds{{model->x.raw(), x.view()}, {model->labels.raw(), labels.view()}};
  runtime::FetchSet fetches(std::vector<FetchRef>{train});
  runtime::RunRequest request;
  request.fetches = &fetches;
  request.feeds = feeds;
  request.full_team = true;
  rounds::answer([&] { session->run(request); });
  return 0;
}

}  // namespace
}  // namespace belay::bench

int main(int argc, char** argv) {
  try {
    if (argc < 3) belay::fail(belay::Code::kInvalidArgument, "use: bench_model_steps MODEL THREADS [bf16]");
    const bool bf16 = argc > 3 && std::string(argv[3]) == "bf16";
    return belay::bench::run(argv[1], std::atoi(argv[2]),
                             bf16 ? belay::runtime::Precision::kBfloat16 : belay::runtime::Precision::kFloat32);
  } catch (const belay::Error& e) {
    std::cerr << "bench_model_steps: " << e.what() << "\n";
    return 2;
  }
}
