// SPDX-License-Identifier: Apache-2.0
// Training steps of one of bench/models.h through a session, as a run makes them: loss, gradients, optimizer, step
// counter; or what the model computes of a batch, without gradients. bench/models.py drives it.
//
//   bench_model_steps MODEL THREADS [bf16 | forward BATCH]
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "bench/models.h"
#include "bench/rounds.h"
#include "plugins/default_plugins.h"
#include "runtime/optimizer/optimizer.h"
#include "runtime/platform/threads/spinning.h"
#include "runtime/session/direct_session.h"

namespace belay::bench {
namespace {

using Feeds = std::vector<std::pair<Output, Tensor>>;

Output add_training(const ModelGraph& model, const std::string& name) {
  runtime::OptimizerSettings optimizer;
  optimizer.name = name == "linear" ? "sgd" : "adam";
  optimizer.learning_rate.learning_rate = name == "linear" ? 0.01 : 1e-3;
  return runtime::minimize(model.graph, model.loss, runtime::LinkedOptimizer(optimizer, default_plugins()).use());
}

void answer(ModelGraph& model, const Output& wanted, const Feeds& values,
            const runtime::DirectSessionOptions& options) {
  const std::vector<runtime::Port> initializers = model.nodes.collection("variable_init");
  model.nodes.finalize();
  const auto session =
      std::make_shared<runtime::DirectSession>(model.nodes, std::make_shared<runtime::VariableStore>(), options);
  session->run_once(initializers);

  std::vector<belay_feed> feeds;
  for (const auto& [placeholder, value] : values) feeds.push_back({placeholder.raw(), value.view()});
  runtime::FetchSet fetches(std::vector<FetchRef>{wanted});
  runtime::RunRequest request;
  request.fetches = &fetches;
  request.feeds = feeds;
  request.full_team = true;
  rounds::answer([&] { session->run(request); });
}

void train(const std::string& name, const runtime::DirectSessionOptions& options) {
  const std::unique_ptr<ModelGraph> model = build_model(name);
  const Output step = add_training(*model, name);
  answer(*model, step, {{model->x, make_features(*model)}, {model->labels, make_labels(*model)}}, options);
}

void forward(const std::string& name, std::int64_t batch, const runtime::DirectSessionOptions& options) {
  const std::unique_ptr<ModelGraph> model = build_model(name, DType::kFloat32, batch);
  answer(*model, model->logits, {{model->x, make_features(*model)}}, options);
}

void run(const std::vector<std::string>& arguments) {
  const std::string kind = arguments.size() > 2 ? arguments[2] : "";
  runtime::DirectSessionOptions options;
  options.threads = arguments.size() > 1 ? std::atoi(arguments[1].c_str()) : 0;
  if (kind == "bf16") options.precision = runtime::Precision::kBfloat16;
  if (kind == "forward" && arguments.size() == 4) {
    forward(arguments[0], std::atoi(arguments[3].c_str()), options);
  } else if (arguments.size() == 2 || (arguments.size() == 3 && kind == "bf16")) {
    train(arguments[0], options);
  } else {
    fail(Code::kInvalidArgument, "use: bench_model_steps MODEL THREADS [bf16 | forward BATCH]");
  }
}

}  // namespace
}  // namespace belay::bench

int main(int argc, char** argv) {
  belay::runtime::bound_spinning(argv);  // as `belay run` does
  try {
    belay::bench::run({argv + 1, argv + argc});
    return 0;
  } catch (const belay::Error& e) {
    std::cerr << "bench_model_steps: " << e.what() << "\n";
    return 2;
  }
}
