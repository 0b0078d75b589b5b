// SPDX-License-Identifier: Apache-2.0
// The cost of an evaluation while training once one was made: no allocation, no plan.
#include "belay/testing/allocations.h"
#include "runtime/estimator/evaluation/evaluation.h"
#include "runtime/ops/kernels/parallel.h"
#include "tests/monitored/monitored_fixture.h"

extern "C" {
extern const belay_module belay_module_digits;
extern const belay_module belay_module_mlp;
}

namespace belay::runtime::testing {
namespace {

class EvaluationSteps : public MonitoredTest {
 protected:
  using Options = std::vector<std::pair<std::string, OptionValue>>;
  PluginInstance& make(PluginKind kind, const std::string& name, CallMonitor& of, const Options& options) {
    return plugins.create(plugins.linked(kind, plugin_use(name, options, "the test")), of);
  }
  // 250 examples: two whole batches and half a one.
  void open_digits(RunInput& input) {
    input.instance = &make(PluginKind::kInput, "digits", input.monitor,
                           {{"split", std::string("eval")},
                            {"examples", std::int64_t{250}},
                            {"batch_size", std::int64_t{100}},
                            {"epochs", std::int64_t{1}}});
    input.open(42);
  }
  // A training's store, as it is after the initializers.
  void initialize(PluginInstance& model) {
    open_digits(train);
    const InputFeed::Tensors tensors = train.feed->add_to_graph(graph);
    build_model(model, graph, Mode::kTrain, tensors.features, tensors.labels);
    graph.finalize();
    std::make_shared<DirectSession>(graph, trained, run.environment().session)
        ->run_once(graph.collection("variable_init"));
  }

  RunControl control;
  RunHost run{
      Platform{clock, *log, posix_file_system()}, control, {.threads = kLoopsAllocate ? 1 : available_threads()}};
  RunPlugins plugins{run, {&belay_module_digits, &belay_module_mlp}};
  RunInput train{.name = "eval", .monitor = run.add_monitor()};
  RunInput eval{.name = "eval", .monitor = run.add_monitor()};
  std::shared_ptr<VariableStore> trained = std::make_shared<VariableStore>();
};

// Counted as in steady_state_test.cc: the session's thread, without oneDNN.
TEST_F(EvaluationSteps, AfterTheFirstOneNothingIsAllocatedAndNoPlanBuilt) {
  PluginInstance& model = make(PluginKind::kModel, "mlp", monitor, {{"hidden", std::vector<std::int64_t>{256}}});
  initialize(model);
  open_digits(eval);
  Evaluation evaluation(run, *ops, model, eval);
  const std::function<bool()> always = [] { return true; };
  const double loss = evaluation.run(*trained, 0, always).metrics[0].second;
  const PlanStats plans = evaluation.plan_stats();
  for (int i = 1; i <= 10; ++i) {
    for (Variable* v : trained->all()) ++v->version;  // as a step does
    const std::uint64_t before = belay::testing::allocations();
    const EvalResult& result = evaluation.run(*trained, i, always);
    EXPECT_EQ(belay::testing::allocations() - before, 0u) << "evaluation " << i;
    EXPECT_EQ(result.batches, 3);
    EXPECT_EQ(result.metrics[0].second, loss);
  }
  EXPECT_EQ(evaluation.plan_stats().plans_built, plans.plans_built);
  EXPECT_EQ(evaluation.plan_stats().programs_built, plans.programs_built);
  EXPECT_GT(evaluation.snapshot_bytes(), 256u * 28 * 28 * sizeof(float) / 4);
}

}  // namespace
}  // namespace belay::runtime::testing
