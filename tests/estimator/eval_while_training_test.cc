// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/evaluation/eval_while_training.h"

#include <bit>
#include <map>

#include "plugins/default_plugins.h"
#include "runtime/estimator/host/monitored_training_session.h"
#include "runtime/monitored/layers/monitored_session.h"
#include "tests/estimator/evaluation_fixture.h"
#include "tests/monitored/event_files.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime::testing {
namespace {

using Steps = std::vector<std::int64_t>;

// A training of "scaled" with evaluations: everything of it but the session.
struct Training {
  Training(const OpRegistry& ops, const RunEnvironment& environment, EvalWhileTrainingOptions options)
      : graph(ops), evals(environment, std::move(options)) {}

  NodeGraph graph;
  EvalWhileTraining evals;  // before the session, whose hooks refer to it
  ModelOutputs model;
};

class EvaluatesWhileTraining : public EvaluationTest {
 protected:
  std::unique_ptr<Training> make(EvalWhileTrainingOptions options, const std::vector<std::string>& inputs = {"eval"},
                                 const OptionList& of_input = {}, const std::string& of_model = "scaled") {
    auto made = std::make_unique<Training>(*ops, run_host->environment(), std::move(options));
    const InputFeed::Tensors tensors = open("train", {{"repeat", true}}).feed->add_to_graph(made->graph);
    PluginInstance& plugin = model({}, of_model);
    made->model = build_model(plugin, made->graph, Mode::kTrain, tensors.features, tensors.labels);
    OptimizerSettings optimizer;
    optimizer.learning_rate.learning_rate = 0.02;
    add_train_op(made->graph, LinkedOptimizer(optimizer, default_plugins()).use(), made->model);
    take_batch(made->graph, tensors.batch, made->model);
    for (const std::string& name : inputs)
      made->evals.add(std::make_unique<Evaluation>(*run_host, *ops, plugin, open(name, of_input)), made->graph);
    add_made(EvalRoles::kHookName, made->evals.hook());
    return made;
  }
  // Steps with evaluations; the work after each may save or stop.
  void train(Training& training, std::int64_t steps, const std::function<bool(std::int64_t)>& saves = {}) {
    SingularMonitoredSession session(training.graph, run_host->environment(), hooks);
    session.scope([&] {
      training.evals.at_start(*session.raw_session());
      for (std::int64_t i = 0; i < steps; ++i) {
        session.run({training.model.train_op});
        const std::int64_t step = session.raw_session()->global_step();
        training.evals.at_boundary(*session.raw_session(), step, saves && saves(step));
      }
      store = session.raw_session()->shared_store();
    });
    if (store != nullptr) training.evals.at_end(*store, steps);
  }
  std::uint32_t scale_bits() { return std::bit_cast<std::uint32_t>(*store->find("scale")->value.data<float>()); }

  std::shared_ptr<VariableStore> store;
  TempDir temp;
};

TEST_F(EvaluatesWhileTraining, ItChangesNoBitOfTheTraining) {
  for (const int threads : {1, 2}) {
    new_run({.threads = threads});
    train(*make({}), 100);
    const std::uint32_t without = scale_bits();
    hooks = HookSet();
    const auto evaluated = make({.settings = {.every_steps = 7}});
    Probe& probe = add_probe("watches");
    std::vector<double> seen;
    probe.ask = [](RunContext& run) { return RunArgs({run.session().graph().find("eval/loss")}); };
    probe.look = [&](RunContext&, const RunValues& values) { seen.push_back(values.result(0).scalar<double>()); };
    train(*evaluated, 100);
    EXPECT_EQ(scale_bits(), without);
    EXPECT_EQ(evaluated->evals.counts().made, 15);  // 7, 14, ..., 98, and the end
    EXPECT_EQ(evaluated->evals.last("eval")->global_step, 100);
    ASSERT_EQ(seen.size(), 100u);
    EXPECT_NE(seen[20], seen[99]);  // of steps 14 and 98
    hooks = HookSet();
  }
}

TEST_F(EvaluatesWhileTraining, EVAL_01_OneEvaluationOfATrainedModelHasItsAccuracy) {
  const auto training = make({.settings = {.every_steps = 1}}, {"eval"}, {}, "above");
  std::vector<double> accuracies;
  Probe& probe = add_probe("watches");
  probe.ask = [](RunContext& run) { return RunArgs({run.session().graph().find("eval/accuracy")}); };
  probe.look = [&](RunContext&, const RunValues& values) { accuracies.push_back(values.result(0).scalar<double>()); };
  train(*training, 1000);
  EXPECT_EQ(accuracies.at(1), 0.4);  // a report has all of them below
  EXPECT_GT(accuracies.back(), 0.99);
  EXPECT_GT(training->evals.last("eval")->metrics[1].second, 0.99);
}

// The results of evaluations, and each step's view of them, as bits.
struct Seen {
  std::map<std::int64_t, std::uint64_t> evaluated;
  std::map<std::int64_t, std::uint64_t> by_step;
};

TEST_F(EvaluatesWhileTraining, ARunThatWasKilledAndGoesOnEvaluatesAndSeesWhatOneThatWasNotDoes) {
  const auto attempt = [&](const std::string& directory, std::int64_t last, Seen& seen) {
    const auto training = make({.settings = {.every_steps = 10}});
    TrainingSessionSetup options;
    options.plugins = default_plugins();
    options.checkpoint_dir = temp / directory;
    options.checkpoint.save_steps = 10;
    options.threads = 1;
    options.logger = log.get();
    options.clock = &clock;
    options.hooks.push_back({EvalRoles::kHookName, training->evals.hook(), {}});
    MonitoredTrainingSession session(training->graph, std::move(options));  // dropped without an end, as if killed
    const Output role = training->graph.handle().find("eval/loss");
    const auto look = [&](std::int64_t step) {
      const EvalResult* result = training->evals.last("eval");
      if (result != nullptr)
        seen.evaluated[result->global_step] = std::bit_cast<std::uint64_t>(result->metrics[0].second);
      const double value = session->raw_session()->handle().run({role})[0].scalar<double>();
      seen.by_step[step] = std::bit_cast<std::uint64_t>(value);
    };
    training->evals.at_start(*session->raw_session());
    for (std::int64_t step = session->global_step(); step < last; look(step)) {
      session->run({training->model.train_op});
      step = session->raw_session()->global_step();
      training->evals.at_boundary(*session->raw_session(), step, false);
    }
  };
  Seen whole, killed;
  attempt("whole", 45, whole);
  attempt("killed", 25, killed);
  EXPECT_EQ(killed.evaluated.size(), 2u);
  attempt("killed", 45, killed);  // continues from step 20, whose checkpoint was written before its evaluation
  EXPECT_EQ(whole.evaluated.size(), 4u);
  EXPECT_EQ(killed.evaluated, whole.evaluated);
  EXPECT_EQ(killed.by_step, whole.by_step);
  EXPECT_EQ(whole.by_step.size(), 45u);
}

TEST_F(EvaluatesWhileTraining, EachEvaluationSeesTheVariablesOfItsStep) {
  const auto training = make({.settings = {.every_steps = 10}});
  std::vector<std::pair<double, double>> losses;
  SingularMonitoredSession session(training->graph, run_host->environment(), hooks);
  session.scope([&] {
    for (int i = 0; i < 30; ++i) {
      session.run({training->model.train_op});
      const std::int64_t step = session.raw_session()->global_step();
      training->evals.at_boundary(*session.raw_session(), step, false);
      if (step % 10 != 0) continue;
      const double scale = *session.raw_session()->store().find("scale")->value.data<float>();
      EXPECT_EQ(training->evals.last("eval")->global_step, step);
      EXPECT_NEAR(training->evals.last("eval")->metrics[0].second, 3 * scale, 1e-5);
    }
  });
}

TEST_F(EvaluatesWhileTraining, TwoBatchesBeforeTheFirstStepShowWhatIsWrong) {
  const auto training = make({.settings = {.every_steps = 1000}}, {"eval"}, {{"fails_at", std::int64_t{2}}});
  EXPECT_EQ(error_of([&] { train(*training, 5); }),
            "DATA_LOSS: the evaluation of step 0 on [input.eval]: input \"numbers\" (linked in, 1.0.0) in "
            "next at step 0: the numbers are damaged");
  EXPECT_EQ(store, nullptr);
}

TEST_F(EvaluatesWhileTraining, TwoBatchesAtTheStartAreNoEvaluation) {
  const auto training = make({.settings = {.every_steps = 10}});
  SingularMonitoredSession session(training->graph, run_host->environment(), hooks);
  session.scope([&] { training->evals.at_start(*session.raw_session()); });
  EXPECT_EQ(training->evals.last("eval"), nullptr);
  EXPECT_EQ(training->evals.counts().made, 0);
  EXPECT_EQ(training->evals.roles().last_step(), -1);
}

TEST_F(EvaluatesWhileTraining, SeveralInputsHaveTheirOwnMetrics) {
  new_run({.events_dir = temp / "run"});
  const auto training = make({.settings = {.at_checkpoint = true}}, {"eval", "eval_hard"});
  train(*training, 10, [](std::int64_t step) { return step == 4 || step == 8; });
  for (const char* name : {"eval", "eval_hard"}) {
    const EventFiles events = read_event_files(temp / "run/" + name);
    EXPECT_EQ(events.files, 1);
    for (const char* tag : {"loss", "largest", "total"})
      EXPECT_EQ(events.steps.at(tag), (Steps{4, 8, 10})) << name << " " << tag;
    EXPECT_EQ(events.values.at("total"), (std::vector<float>{15, 15, 15}));
    EXPECT_EQ(events.sessions.at(pb::SessionLog::START), Steps{1});
  }
  EXPECT_EQ(training->evals.counts().made, 6);
  EXPECT_TRUE(logged("step 8: loss = "));
  EXPECT_TRUE(logged("(5 examples in 3 batches)"));
}

TEST_F(EvaluatesWhileTraining, AnErrorInItIsAnErrorOfTheRun) {
  const auto training =
      make({.settings = {.every_steps = 3, .at_start = false}}, {"eval"}, {{"fails_at", std::int64_t{4}}});
  EXPECT_EQ(error_of([&] { train(*training, 9); }),
            "DATA_LOSS: the evaluation of step 3 on [input.eval]: input \"numbers\" (linked in, 1.0.0) in "
            "next at step 3: the numbers are damaged");
}

TEST_F(EvaluatesWhileTraining, UnlessTheTrainingIsToGoOn) {
  const auto training = make({.settings = {.every_steps = 3, .at_start = false, .on_error = OnEvalError::kContinue}},
                             {"eval"}, {{"fails_at", std::int64_t{4}}});
  train(*training, 9);
  EXPECT_EQ(training->evals.counts().failed, 3);
  EXPECT_EQ(training->evals.counts().made, 0);
  EXPECT_EQ(training->evals.roles().last_step(), -1);
  EXPECT_TRUE(logged("the training continues"));
}

TEST_F(EvaluatesWhileTraining, AStopEndsItAtTheNextBatchAndDiscardsWhatItHad) {
  int asked = 0;
  new_run({.events_dir = temp / "run"});
  const auto training = make({.settings = {.every_steps = 3, .at_start = false},
                              .keep_going = [&] { return ++asked < 6; }});  // in the second one
  train(*training, 6);
  const EvalWhileTraining::Counts counts = training->evals.counts();
  EXPECT_EQ(counts.made, 1);
  EXPECT_EQ(counts.interrupted, 1);
  EXPECT_EQ(counts.failed, 0);
  EXPECT_EQ(training->evals.last("eval")->global_step, 3);
  EXPECT_EQ(training->evals.roles().last_step(), 3);
  EXPECT_EQ(read_event_files(temp / "run/eval").steps.at("loss"), Steps{3});
}

TEST_F(EvaluatesWhileTraining, WhatAThrottleSkipsIsReported) {
  const auto training = make({.settings = {.every_steps = 2, .throttle_secs = 1000, .at_start = false}});
  train(*training, 8);
  EXPECT_EQ(training->evals.counts().skipped, 3);
  EXPECT_EQ(training->evals.counts().made, 2);  // of step 2, and the end's
  EXPECT_TRUE(
      logged("the evaluation of step 8 is skipped because of eval.throttle_secs or eval.start_delay_secs; 3 so "
             "far"));
}

// A run that keeps its best checkpoints.
class NotesTheBest : public EvaluatesWhileTraining {
 protected:
  EvalWhileTrainingOptions noting(EvalSettings settings, const std::string& metric = "eval/loss") {
    return {.settings = std::move(settings),
            .best_metric = metric,
            .note_best = [this](std::int64_t step, double value) { noted.emplace_back(step, value); }};
  }
  Steps noted_steps() const {
    Steps steps;
    for (const auto& [step, value] : noted) steps.push_back(step);
    return steps;
  }
  std::vector<std::pair<std::int64_t, double>> noted;
};

TEST_F(NotesTheBest, EachEvaluationAndThatOfTheLastStepWhileTheSessionLives) {
  const auto training = make(noting({.every_steps = 3}, "eval_hard/total"), {"eval", "eval_hard"});
  Probe& probe = add_probe("restores");
  std::size_t noted_by_then = 0;
  probe.in["end"] = [&] { noted_by_then = noted.size(); };
  train(*training, 8);
  EXPECT_EQ(noted, (std::vector<std::pair<std::int64_t, double>>{{3, 15}, {6, 15}, {8, 15}}));
  EXPECT_EQ(noted_by_then, 3u);
  EXPECT_EQ(training->evals.counts().made, 6) << "the last step is evaluated once";
  EXPECT_EQ(training->evals.last("eval")->global_step, 8);
  EXPECT_EQ(training->evals.roles().last_step(), 6) << "hooks of a run that goes on see what they would have seen";
}

TEST_F(NotesTheBest, ALastStepThatWasDueOnce) {
  const auto training = make(noting({.every_steps = 4}));
  train(*training, 8);
  EXPECT_EQ(noted_steps(), (Steps{4, 8}));
  EXPECT_EQ(training->evals.counts().made, 2);
}

TEST_F(NotesTheBest, NothingWhereTheRunMakesNoStep) {
  const auto training = make(noting({}));
  train(*training, 0);
  EXPECT_EQ(noted, (std::vector<std::pair<std::int64_t, double>>{}));
  EXPECT_EQ(training->evals.last("eval")->global_step, 0) << "it is evaluated all the same";
}

TEST_F(NotesTheBest, T_156_WhereAnAttemptThatWasKilledHasMissedTheLastOneItIsNoted) {
  EvalWhileTrainingOptions options = noting({});
  options.left_open = [] { return true; };
  Steps ended;
  options.note_end = [&](std::int64_t step) { ended.push_back(step); };
  const auto training = make(std::move(options));
  train(*training, 0);
  EXPECT_EQ(noted_steps(), Steps{0});
  EXPECT_EQ(ended, Steps{0});
  EXPECT_EQ(training->evals.roles().ended_at(), 0) << "what the next start would not note again";
  EXPECT_EQ(training->evals.counts().made, 1);
}

TEST_F(NotesTheBest, TheEvaluationThatAnAttemptBeforeMissed) {
  const auto attempt = [&](std::int64_t last) {
    const auto training = make(noting({.every_steps = 10}));
    TrainingSessionSetup options;
    options.plugins = default_plugins();
    options.checkpoint_dir = temp / "run";
    options.checkpoint.save_steps = 10;
    options.threads = 1;
    options.logger = log.get();
    options.clock = &clock;
    options.hooks.push_back({EvalRoles::kHookName, training->evals.hook(), {}});
    MonitoredTrainingSession session(training->graph, std::move(options));  // dropped without an end, as if killed
    training->evals.at_start(*session->raw_session());
    while (session->global_step() < last) session->run({training->model.train_op});
  };
  attempt(10);
  EXPECT_EQ(noted, (std::vector<std::pair<std::int64_t, double>>{}));
  attempt(10);
  EXPECT_EQ(noted_steps(), Steps{10});
}

TEST_F(NotesTheBest, T_111_AHookThatShowsEvaluationsInItsEndFindsThatOfTheLastStep) {
  for (const std::int64_t every : {0, 3}) {
    hooks = HookSet();
    EvalWhileTrainingOptions options;
    options.settings.every_steps = every;
    options.shown_in_end = true;
    int saves = 0;
    options.save_before_end = [&] { ++saves; };
    const auto training = make(std::move(options));
    Probe& probe = add_probe("shows");
    double loss = -1;
    std::int64_t step = -1;
    std::shared_ptr<DirectSession> session;
    probe.in["end"] = [&] {
      const auto found = [&](const char* role) {
        return session->handle().run({training->graph.handle().find(role)})[0];
      };
      loss = found("eval/loss").scalar<double>();
      step = found("eval/global_step").scalar<std::int64_t>();
    };
    SingularMonitoredSession trains(training->graph, run_host->environment(), hooks);
    session = trains.raw_session();
    trains.scope([&] {
      training->evals.at_start(*trains.raw_session());
      for (std::int64_t i = 1; i <= 5; ++i) {
        trains.run({training->model.train_op});
        training->evals.at_boundary(*trains.raw_session(), i, false);
      }
    });
    ASSERT_NE(training->evals.last("eval"), nullptr);
    EXPECT_EQ(training->evals.last("eval")->global_step, 5);
    EXPECT_EQ(step, 5) << every;
    EXPECT_EQ(loss, training->evals.last("eval")->metrics.at(0).second) << every;
    EXPECT_EQ(saves, 1);
    EXPECT_EQ(training->evals.roles().last_step(), every == 0 ? -1 : 3) << "a run that continues has not seen it";
  }
}

TEST_F(NotesTheBest, WhatTheLastEvaluationFailsWithIsThrownBehindTheEnd) {
  const auto training = make(noting({}), {"eval"}, {{"fails_at", std::int64_t{2}}});
  bool ended = false;
  add_probe("saves").in["end"] = [&] { ended = true; };
  EXPECT_EQ(error_of([&] { train(*training, 3); }),
            "DATA_LOSS: the evaluation of step 3 on [input.eval]: input \"numbers\" (linked in, 1.0.0) in "
            "next at step 3: the numbers are damaged");
  EXPECT_TRUE(ended);
  EXPECT_NE(store, nullptr) << "the training ended well";
  EXPECT_EQ(noted, (std::vector<std::pair<std::int64_t, double>>{}));
}

TEST_F(NotesTheBest, NothingBehindAStop) {
  bool stopped = false;
  EvalWhileTrainingOptions options = noting({});
  options.keep_going = [&] { return !stopped; };
  const auto training = make(std::move(options));
  train(*training, 3, [&](std::int64_t step) { return stopped = step == 3; });
  EXPECT_EQ(training->evals.counts().made, 0);
  EXPECT_EQ(noted, (std::vector<std::pair<std::int64_t, double>>{}));
}

// As restore_best sets them.
TEST_F(EvaluatesWhileTraining, WhatHooksSetAtTheEndIsEvaluatedOnceMore) {
  const auto training = make({.settings = {.every_steps = 4}});
  add_probe("restores").in_session = [calls = 0](Session& session) mutable {
    if (++calls == 2) session.assign("scale", Tensor(7.0f));  // after_create_session was the first
  };
  train(*training, 8);
  EXPECT_EQ(training->evals.counts().made, 3);
  EXPECT_NEAR(training->evals.last("eval")->metrics[0].second, 21, 1e-5);
}

TEST_F(EvaluatesWhileTraining, WithoutAPeriodThereIsOneBehindTheEnd) {
  const auto training = make({});
  train(*training, 8, [](std::int64_t) { return true; });
  EXPECT_EQ(training->evals.counts().made, 1);
  EXPECT_EQ(training->evals.last("eval")->global_step, 8);
}

}  // namespace
}  // namespace belay::runtime::testing
