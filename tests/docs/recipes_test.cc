// SPDX-License-Identifier: Apache-2.0
// The programs of docs/guide/recipes.md, run: what is there between the fences is cut out of this file, from a line
// `// recipe: NAME` to `// end`.
#include <belay/eigen.h>
#include <belay/events.h>
#include <belay/global_step.h>
#include <belay/ops/summaries.h>
#include <belay/plugin.h>
#include <belay/testing/init_fn_driver.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/monitored/supervisor.h"
#include "tests/docs/page.h"
#include "tests/estimator/training_session.h"
#include "tests/platform/fake_clock.h"

namespace rt = belay::runtime;
namespace ops = belay::ops;
using belay::Output;
using belay::Tensor;

// recipe: example_hook
// Every callback, in the order in which they come.
class ExampleHook final : public belay::Hook {
 public:
  void begin(belay::Graph& graph) override {  // once; the last chance to add to the graph
    loss_ = graph.fetch<float>("loss");
    host().info("starting the session");
  }
  void after_create_session(belay::Session& session) override {  // again after each recovery
    host().info("session created with " + std::to_string(session.variables().size()) + " variables");
  }
  belay::RunArgs before_run(belay::RunContext&) override { return {loss_}; }  // what this hook wants of the run
  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    if (values[loss_] < 0.5f) run.request_stop("the loss is low enough");
  }
  void end(belay::Session&) override { host().info("done"); }  // a good end; an error calls on_error instead

 private:
  belay::Fetch<float> loss_;
};
// end

// recipe: stop_at_step
// Stops when the global step has reached `last_step`. It asks for the step of the coming run, not of the last one, so
// that no step too many is made.
class StopAtStep final : public belay::Hook {
 public:
  explicit StopAtStep(std::int64_t last_step) : last_step_(last_step) {}
  void begin(belay::Graph& graph) override { step_ = belay::GlobalStep(graph); }
  void after_create_session(belay::Session& session) override { step_.read(session); }
  belay::RunArgs before_run(belay::RunContext&) override { return {step_.fetch()}; }
  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    if (step_.predicted(values) < last_step_) return;
    const std::int64_t step = step_.read(run.session());  // exact, by a run without hooks
    if (step >= last_step_) run.request_stop("reached step " + std::to_string(step));
  }

 private:
  const std::int64_t last_step_;
  belay::GlobalStep step_;
};
// end

// recipe: pretrained_subset
// Takes the hidden layers from another run's checkpoint; the rest keeps its fresh values.
class PretrainedSubset final : public belay::InitFn {
 public:
  struct Options {
    belay::Path from;
  };
  static constexpr auto about =
      belay::about("pretrained_subset", "Loads the hidden layers of another run",
                   belay::option("from", &Options::from, "a run directory or a checkpoint").required());
  explicit PretrainedSubset(const Options& o) : from_(o.from.view()) {}

  void run(belay::Graph&, belay::Session& session) override {
    const belay::Checkpoint pretrained(host(), from_);
    for (const belay::VariableInfo& v : session.variables())
      if (v.name.rfind("hidden/", 0) == 0) session.assign(v.name, pretrained.read(v.name));
  }

 private:
  const std::string from_;
};
BELAY_MODULE("1.0.0", PretrainedSubset)
// end

// recipe: custom_summary
// Writes a number of its own into the run's event file, where TensorBoard shows it.
class WeightNorm final : public belay::Hook {
 public:
  void begin(belay::Graph& graph) override {
    weight_ = graph.fetch<float>("weight");
    step_ = belay::GlobalStep(graph);
  }
  void after_create_session(belay::Session& session) override { step_.read(session); }
  belay::RunArgs before_run(belay::RunContext&) override { return {weight_, step_.fetch()}; }
  void after_run(belay::RunContext&, const belay::RunValues& values) override {
    const double weight = values[weight_];
    belay::Events(host()).scalar("weight/squared", step_.predicted(values), weight * weight);
  }

 private:
  belay::Fetch<float> weight_;
  belay::GlobalStep step_;
};
// end

// recipe: dead_units
// Warns of units that are zero for every example of a batch: they learn nothing.
class DeadUnits final : public belay::Hook {
 public:
  explicit DeadUnits(std::string tensor) : tensor_(std::move(tensor)) {}
  void begin(belay::Graph& graph) override { activations_ = graph.fetch(tensor_); }
  belay::RunArgs before_run(belay::RunContext&) override { return {activations_}; }
  void after_run(belay::RunContext&, const belay::RunValues& values) override {
    const auto units = belay::eigen_matrix<const float>(values[activations_], tensor_);  // [batch, units]
    const std::int64_t dead = (units.array() <= 0).colwise().all().count();
    if (dead != 0)
      host().warning(std::to_string(dead) + " of " + std::to_string(units.cols()) + " units of '" + tensor_ +
                     "' are dead");
  }

 private:
  const std::string tensor_;
  belay::Output activations_;
};
// end

namespace belay::runtime::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Recipes : public TrainingSessionTest {};

TEST_F(Recipes, ATensorOfAnotherGraphIsRefusedWithAMessageThatSaysSo) {
  // recipe: two_graphs
  const auto op_registry = rt::make_op_registry();
  rt::NodeGraph first(*op_registry), second(*op_registry);
  const Output one = ops::constant(first.handle(), Tensor(1.0f));
  const Output two = ops::constant(second.handle(), Tensor(2.0f));
  first.finalize();

  const auto session = std::make_shared<rt::DirectSession>(first, std::make_shared<rt::VariableStore>(),
                                                           rt::SessionOptions{1, 42, rt::make_queue});
  const float value = session->handle().run({one})[0].scalar<float>();  // 1
  try {
    session->handle().run({two});
  } catch (const belay::Error& e) {
    std::printf("%s\n", e.what());  // cannot fetch: ... it belongs to another one
  }
  // end
  EXPECT_EQ(value, 1.0f);
  EXPECT_EQ(
      error_of([&] { session->handle().run({two}); }),
      "INVALID_ARGUMENT: cannot fetch: output 0 of node 0 is not an element of this graph: it belongs to another one");
}

TEST_F(Recipes, TheExampleHookSeesAWholeSession) {
  const Output weight = program.graph.handle().find("weight");
  program.graph.set_role("loss", program.graph.resolve((1.0 / weight).raw()));
  TrainingSessionOptions o = options("");
  o.hooks.push_back(own_hook("example", std::make_unique<ExampleHook>()));
  MonitoredTrainingSession session(program.graph, std::move(o));
  int steps = 0;
  session->scope([&] {
    while (!session->should_stop()) train(session), ++steps;
  });
  EXPECT_EQ(steps, 4) << "the loss is 1, 1/1.5, 1/2, 1/2.5";
  EXPECT_EQ(session->end_reason().text, "example: the loss is low enough");
  EXPECT_TRUE(logged("starting the session"));
  EXPECT_TRUE(logged("session created with 2 variables"));
  EXPECT_TRUE(logged("done"));
}

TEST_F(Recipes, StopAtStepMakesNoStepTooMany) {
  TrainingSessionOptions o = options("");
  o.hooks.push_back(own_hook("stop", std::make_unique<StopAtStep>(7)));
  MonitoredTrainingSession session(program.graph, std::move(o));
  std::int64_t step = 0;
  session->scope([&] {
    while (!session->should_stop()) step = train(session);
  });
  EXPECT_EQ(step, 7);
  EXPECT_EQ(session->end_reason().text, "stop: reached step 7");
}

TEST_F(Recipes, TheInitFunctionLoadsASubset) {
  belay::testing::InitFnDriver init(belay_module_v0, {{"from", "runs/a"}});
  init.variable("hidden/w", Tensor({2}, {0.f, 0.f}));
  init.variable("head/w", Tensor({2}, {5.f, 6.f}));
  init.checkpoints().add("runs/a/model.ckpt-100",
                         {{"hidden/w", Tensor({2}, {1.f, 2.f})}, {"head/w", Tensor({2}, {3.f, 4.f})}});
  init.run();
  EXPECT_EQ(init.text_of("hidden/w"), "[1, 2]");
  EXPECT_EQ(init.text_of("head/w"), "[5, 6]");
}

TEST(TimerRecipe, AServiceOnATimerRunsBesideTheTraining) {
  FakeClock clock;
  CancellationSource interrupt;
  StoreTargets targets;
  LogOutput nowhere;
  nowhere.write = [](std::string_view) { return true; };
  const auto log = make_logger(nowhere, LogFormat::kText, LogLevel::kInfo, clock);
  const RunEnvironment environment{clock,   *log,      posix_file_system(),
                                   targets, interrupt, SessionOptions{1, 42, make_queue, &clock}};
  const auto registry = make_op_registry();
  Program program(*registry);
  NodeGraph& graph = program.graph;
  const Output train = program.train;
  const auto half_a_minute_passes = [&] { clock.advance(30 * FakeClock::kSecond); };
  // recipe: timer_service
  rt::Supervisor supervisor(graph, environment);
  std::atomic<int> beats = 0;
  supervisor.managed_session([&](rt::DirectSession& session) {
    supervisor.loop(60, [&] {  // at once, and then every minute, on a thread of its own
      if (++beats == 3) supervisor.request_stop("three beats are enough");
    });
    while (!supervisor.should_stop()) {
      session.handle().run({train});
      half_a_minute_passes();
    }
  });
  // end
  EXPECT_EQ(beats, 3);
}

TEST_F(Recipes, ACustomSummaryStandsInTheEventFile) {
  TrainingSessionOptions o = options(temp / "run");
  o.hooks.push_back(own_hook("weight_norm", std::make_unique<WeightNorm>()));
  MonitoredTrainingSession session(program.graph, std::move(o));
  session->scope([&] { train(session, 3); });
  EXPECT_EQ(read_event_files(temp / "run").steps.at("weight/squared"), (Steps{1, 2, 3}));
}

TEST_F(Recipes, DeadUnitsAreCountedWithEigen) {
  ops::constant(program.graph.handle(), Tensor({2, 3}, {0.f, 0.f, 1.f, 0.f, 2.f, -1.f}), "hidden");
  TrainingSessionOptions o = options("");
  o.hooks.push_back(own_hook("dead_units", std::make_unique<DeadUnits>("hidden")));
  MonitoredTrainingSession session(program.graph, std::move(o));
  session->scope([&] { train(session); });
  EXPECT_TRUE(logged("1 of 3 units of 'hidden' are dead"));
}

TEST_F(Recipes, EigenSaysWhichTensorIsNoMatrix) {
  TrainingSessionOptions o = options("");
  o.hooks.push_back(own_hook("dead_units", std::make_unique<DeadUnits>("weight")));
  MonitoredTrainingSession session(program.graph, std::move(o));
  EXPECT_THAT(error_of([&] { session->scope([&] { train(session); }); }),
              HasSubstr("in after_run at step 1: 'weight' is float32 [], expected float32 [?, ?]"));
}

// What is between `// recipe: NAME` and `// end`, moved to the left margin.
std::string recipe(const std::string& name) {
  std::istringstream lines(read_source("tests/docs/recipes_test.cc"));
  std::string text;
  std::size_t margin = std::string::npos;
  for (std::string line; std::getline(lines, line);) {
    if (margin == std::string::npos) {
      if (trimmed(line) == "// recipe: " + name) margin = line.find('/');
      continue;
    }
    if (trimmed(line) == "// end") return text;
    text += (line.size() > margin ? line.substr(margin) : "") + "\n";
  }
  ADD_FAILURE() << "there is no recipe " << name;
  return text;
}

TEST(RecipesPage, ShowsThePrograms) {
  const std::string page = read_source("docs/guide/recipes.md");
  EXPECT_THAT(
      fenced_blocks(page, "cpp"),
      ElementsAre(recipe("two_graphs"), recipe("example_hook"), recipe("stop_at_step"), recipe("pretrained_subset"),
                  recipe("timer_service"), recipe("custom_summary"), recipe("dead_units")));
}

TEST(EstimatorPage, ShowsTheExample) {
  const std::vector<std::string> blocks = fenced_blocks(read_source("docs/guide/estimator.md"), "cpp");
  EXPECT_EQ(blocks.size(), 3);
  for (const std::string& block : blocks)
    EXPECT_THAT(read_source("examples/estimator/estimator.cc"), ::testing::HasSubstr(block));
}

}  // namespace
}  // namespace belay::runtime::testing
