// SPDX-License-Identifier: Apache-2.0
// The programs of docs/guide/recipes.md, run: what is there between the fences is cut out of this file, from a line
// `// recipe: NAME` to `// end`.
#include <belay/eigen.h>
#include <belay/events.h>
#include <belay/global_step.h>
#include <belay/ops/math.h>
#include <belay/ops/reductions.h>
#include <belay/ops/summaries.h>
#include <belay/ops/training.h>
#include <belay/ops/variables.h>
#include <belay/plugin.h>
#include <belay/runtime/default_graph.h>
#include <belay/runtime/graph.h>
#include <belay/runtime/session.h>
#include <belay/runtime/supervisor.h>
#include <belay/runtime/training_session.h>
#include <belay/runtime/variable_saver.h>
#include <belay/testing/error_of.h>
#include <belay/testing/init_fn_driver.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "plugins/default_plugins.h"
#include "tests/docs/page.h"
#include "tests/monitored/event_files.h"
#include "tests/platform/temp_dir.h"

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

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using belay::testing::error_of;
using runtime::fenced_blocks;
using runtime::read_source;
using runtime::trimmed;

// A program: a counter, a variable that goes with it, a summary, and its log.
class Recipes : public ::testing::Test {
 protected:
  Recipes() {
    const Output step = ops::create_global_step(graph);
    weight = ops::variable(graph, "weight", Tensor(1.0f));
    ops::scalar_summary("weight", weight);
    const auto after = graph.after({ops::assign_add(weight, ops::constant(graph, Tensor(0.5f)))});
    train = ops::assign_add(step, ops::constant(graph, Tensor(std::int64_t{1})));
  }

  template <class T, class... Args>
  TrainingSessionOptions options_with(const std::string& name, Args... args) {
    TrainingSessionOptions o{.threads = 1};
    o.log.write = [this](std::string_view line) { log += line; };
    o.hooks.push_back(own_hook(name, std::make_unique<T>(args...)));
    return o;
  }
  std::int64_t step(MonitoredTrainingSession& session) { return session.run({train})[0].scalar<std::int64_t>(); }
  bool logged(const std::string& text) const { return log.find(text) != std::string::npos; }

  OwnedGraph graph{default_plugins()};
  Output weight, train;
  std::string log;
  runtime::TempDir temp;
};

TEST_F(Recipes, ATensorOfAnotherGraphIsRefusedWithAMessageThatSaysSo) {
  // recipe: two_graphs
  belay::OwnedGraph first, second;
  const Output one = ops::constant(first, Tensor(1.0f));
  const Output two = ops::constant(second, Tensor(2.0f));

  belay::OwnedSession session(first);
  const float value = session.run({one})[0].scalar<float>();  // 1
  try {
    session.run({two});
  } catch (const belay::Error& e) {
    std::printf("%s\n", e.what());  // cannot fetch: ... it belongs to another one
  }
  // end
  EXPECT_EQ(value, 1.0f);
  EXPECT_EQ(
      error_of([&] { session.run({two}); }),
      "INVALID_ARGUMENT: cannot fetch: output 0 of node 0 is not an element of this graph: it belongs to another one");
}

TEST_F(Recipes, TheExampleHookSeesAWholeSession) {
  graph.set_role("loss", 1.0 / weight);
  MonitoredTrainingSession session(graph, options_with<ExampleHook>("example"));
  int steps = 0;
  session.scope([&] {
    while (!session.should_stop()) step(session), ++steps;
  });
  EXPECT_EQ(steps, 4) << "the loss is 1, 1/1.5, 1/2, 1/2.5";
  EXPECT_EQ(session.end_reason().text, "example: the loss is low enough");
  EXPECT_TRUE(logged("starting the session"));
  EXPECT_TRUE(logged("session created with 2 variables"));
  EXPECT_TRUE(logged("done"));
}

TEST_F(Recipes, StopAtStepMakesNoStepTooMany) {
  MonitoredTrainingSession session(graph, options_with<StopAtStep>("stop", 7));
  std::int64_t last = 0;
  session.scope([&] {
    while (!session.should_stop()) last = step(session);
  });
  EXPECT_EQ(last, 7);
  EXPECT_EQ(session.end_reason().text, "stop: reached step 7");
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

TEST_F(Recipes, AServiceOnATimerRunsBesideTheTraining) {
  const double every_secs = 0;  // one call behind the other: a test does not wait
  // recipe: timer_service
  belay::Supervisor supervisor(graph);
  std::atomic<int> beats = 0;
  supervisor.managed_session([&](belay::Session& session) {
    supervisor.loop(every_secs, [&] {  // at once, and then at that rate, on a thread of its own
      if (++beats == 3) supervisor.request_stop("three beats are enough");
    });
    while (!supervisor.should_stop()) session.run({train});
  });
  // end
  EXPECT_GE(beats, 3);
}

TEST_F(Recipes, ACustomSummaryIsInTheEventFile) {
  TrainingSessionOptions o = options_with<WeightNorm>("weight_norm");
  o.checkpoint_dir = temp / "run";
  MonitoredTrainingSession session(graph, o);
  session.scope([&] {
    for (int i = 0; i < 3; ++i) step(session);
  });
  EXPECT_EQ(runtime::testing::read_event_files(temp / "run").steps.at("weight/squared"),
            (std::vector<std::int64_t>{1, 2, 3}));
}

TEST_F(Recipes, DeadUnitsAreCountedWithEigen) {
  ops::constant(graph, Tensor({2, 3}, {0.f, 0.f, 1.f, 0.f, 2.f, -1.f}), "hidden");
  MonitoredTrainingSession session(graph, options_with<DeadUnits>("dead_units", "hidden"));
  session.scope([&] { step(session); });
  EXPECT_TRUE(logged("1 of 3 units of 'hidden' are dead"));
}

TEST_F(Recipes, EigenSaysWhichTensorIsNoMatrix) {
  MonitoredTrainingSession session(graph, options_with<DeadUnits>("dead_units", "weight"));
  EXPECT_THAT(error_of([&] { session.scope([&] { step(session); }); }),
              HasSubstr("in after_run at step 1: 'weight' is float32 [], expected float32 [?, ?]"));
}

TEST(ProgramRecipes, T_139_ChosenVariablesGoIntoFilesAndBack) {
  runtime::TempDir temp;
  const std::string directory = temp / "saved";
  // recipe: chosen_variables
  belay::OwnedGraph graph(belay::default_plugins());
  const belay::DefaultGraph scope(graph);  // with graph.as_default():
  const Output w = ops::variable("w", Tensor({2}, {1.f, 2.f}));
  const Output b = ops::variable("b", Tensor(3.0f));
  const Output sum = ops::reduce_sum(w) + b;
  ops::create_global_step();
  const Output init = graph.global_variables_initializer();

  belay::OwnedSession session(graph);
  session.run({init});
  const belay::NamedResult values = session.run({{"sum", sum}, {"b", b}});  // sess.run({"sum": sum, "b": b})
  const float six = values["sum"].scalar<float>();

  belay::VariableSaver part(graph, {w});  // tf.train.Saver([w])
  const std::string file = part.save(session, directory + "/w.safetensors");
  part.restore(session, file);
  belay::VariableSaver all(graph);                                          // tf.train.Saver()
  const std::string checkpoint = all.save(session, directory + "/all", 7);  // directory/all-7
  // end
  EXPECT_EQ(six, 6.0f);
  EXPECT_EQ(file, directory + "/w.safetensors");
  EXPECT_EQ(checkpoint, directory + "/all-7");
}

TEST_F(Recipes, T_139_ASessionBeginsWithExactlyOneCheckpoint) {
  const std::string directory = temp / "run";
  {
    TrainingSessionOptions o{.checkpoint_dir = directory};
    MonitoredTrainingSession session(graph, o);
    session.scope([&] {
      for (int i = 0; i < 3; ++i) {
        session.run({train});
        session.save();
      }
    });
  }
  // recipe: exact_checkpoint
  belay::TrainingSessionOptions options{.checkpoint_filename_with_path = directory + "/model.ckpt-2"};
  belay::MonitoredTrainingSession session(graph, options);
  const std::int64_t step = session.global_step();  // 2, though there is a newer one
  // end
  EXPECT_EQ(step, 2);
  session.close();
}

std::string recipe(const std::string& name) { return runtime::recipe("tests/docs/recipes_test.cc", name); }

TEST(RecipesPage, ShowsThePrograms) {
  const std::string page = read_source("docs/guide/recipes.md");
  EXPECT_THAT(fenced_blocks(page, "cpp"),
              ElementsAre(recipe("two_graphs"), recipe("chosen_variables"), recipe("exact_checkpoint"),
                          recipe("example_hook"), recipe("stop_at_step"), recipe("pretrained_subset"),
                          recipe("timer_service"), recipe("custom_summary"), recipe("dead_units")));
}

TEST(EstimatorPage, ShowsTheExamples) {
  const std::vector<std::string> blocks = fenced_blocks(read_source("docs/guide/estimator.md"), "cpp");
  EXPECT_EQ(blocks.size(), 5);
  const std::string shown = read_source("examples/estimator/estimator.cc");
  for (const std::string& block : blocks) EXPECT_THAT(shown, ::testing::HasSubstr(block));
}

}  // namespace
}  // namespace belay
