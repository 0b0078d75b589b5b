// SPDX-License-Identifier: Apache-2.0
// A training of mlp on digits with evaluations between its steps, or the batches of such evaluations alone, to count
// the instructions of: bench/evaluation.py.
//
//   bench_evaluation train STEPS EVERY    EVERY 0: no evaluation
//   bench_evaluation batches PASSES       a pass: the batches of one evaluation, and nothing else of it
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plugins/default_plugins.h"
#include "runtime/estimator/evaluation/eval_while_training.h"
#include "runtime/monitored/layers/monitored_session.h"
#include "runtime/ops/registry.h"

extern "C" {
extern const belay_module belay_module_digits;
extern const belay_module belay_module_mlp;
}

namespace belay::bench {
namespace {

using namespace runtime;

using Options = std::vector<std::pair<std::string, runtime::OptionValue>>;

class Bench {
 public:
  Bench() { model_ = &create(PluginKind::kModel, "mlp", {{"hidden", std::vector<std::int64_t>{64}}}, run_.monitor()); }

  void train(std::int64_t steps, std::int64_t every) {
    NodeGraph graph(*ops_);
    open_digits(train_);
    const InputFeed::Tensors tensors = train_.feed->add_to_graph(graph);
    ModelOutputs outputs = build_model(*model_, graph, Mode::kTrain, tensors.features, tensors.labels);
    const OptimizerSettings sgd;
    add_train_op(graph, LinkedOptimizer(sgd, default_plugins()).use(), outputs);
    EvalWhileTraining evals(run_.environment(), {.settings = {.every_steps = every, .at_start = false}});
    SessionHost training(run_, {});
    if (every > 0) {
      open_digits(eval_);
      evals.add(std::make_unique<Evaluation>(run_, *ops_, *model_, eval_), graph);
      training.add_hook(EvalRoles::kHookName, evals.hook());
    }
    FetchSet train_op(std::vector<FetchRef>{outputs.train_op});
    RunCall call;
    call.fetches = &train_op;
    runtime::SingularMonitoredSession session(graph, run_.environment(), training.hooks());
    session.scope([&] {
      for (std::int64_t step = 1; step <= steps; ++step) {
        session.run(call);
        evals.at_boundary(*session.raw_session(), step, false);
      }
    });
  }

  void batches(int passes) {
    const auto graph = std::make_shared<NodeGraph>(*ops_);
    open_digits(eval_);
    const InputFeed::Tensors tensors = eval_.feed->add_to_graph(*graph);
    const ModelOutputs outputs = build_model(*model_, *graph, Mode::kEval, tensors.features, tensors.labels);
    std::vector<FetchRef> wanted{outputs.loss};
    for (const ModelOutputs::Metric& m : outputs.metrics) wanted.push_back(m.update ? m.update.operation() : m.value);
    FetchSet fetches(wanted);
    std::vector<Port> initializers = graph->collection("variable_init");
    const std::vector<Port> locals = graph->collection("local_variable_init");
    initializers.insert(initializers.end(), locals.begin(), locals.end());
    graph->finalize();
    const auto session =
        std::make_shared<DirectSession>(*graph, std::make_shared<VariableStore>(), run_.environment().session);
    session->run_once(initializers);
    InputPasses over(eval_.feed, session, graph, 10);
    const CancelToken cancel(control_.interrupt(), run_.clock());
    RunRequest request;
    request.fetches = &fetches;
    request.full_team = true;
    for (int i = 0; i < passes; ++i) {
      over.begin();
      while (over.more(cancel)) session->run(request);
      over.end();
    }
  }

 private:
  PluginInstance& create(PluginKind kind, const std::string& name, const Options& options, CallMonitor& of) {
    return plugins_.create(plugins_.linked(kind, plugin_use(name, options, "the benchmark")), of);
  }
  void open_digits(RunInput& input) {
    const bool eval = input.name == "eval";
    input.instance = &create(PluginKind::kInput, "digits",
                             {{"split", input.name},
                              {"examples", std::int64_t{eval ? 320 : 1000}},
                              {"batch_size", std::int64_t{32}},
                              {"epochs", std::int64_t{eval ? 1 : 0}}},
                             input.monitor);
    input.open(42);
  }

  std::unique_ptr<Logger> log_ = make_stderr_logger(LogFormat::kText, LogLevel::kError, system_clock());
  RunControl control_;
  RunHost run_{Platform{system_clock(), *log_, posix_file_system()}, control_, {.threads = 1}};
  std::unique_ptr<OpRegistry> ops_ = make_op_registry();
  RunInput train_{.name = "train", .monitor = run_.add_monitor()};
  RunInput eval_{.name = "eval", .monitor = run_.add_monitor()};
  RunPlugins plugins_{run_, {&belay_module_digits, &belay_module_mlp}};
  PluginInstance* model_ = nullptr;
};

}  // namespace
}  // namespace belay::bench

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 3 && arguments[0] == "train") {
    belay::bench::Bench().train(std::stoll(arguments[1]), std::stoll(arguments[2]));
  } else if (arguments.size() == 2 && arguments[0] == "batches") {
    belay::bench::Bench().batches(std::stoi(arguments[1]));
  } else {
    std::cerr << "usage: bench_evaluation train STEPS EVERY | batches PASSES\n";
    return 2;
  }
}
