// SPDX-License-Identifier: Apache-2.0
// Estimator: section 9 of the catalogue, its constructor and train.
#include <filesystem>

#include "tests/estimator/estimator_fixture.h"
#include "tests/monitored/event_files.h"

namespace belay::runtime::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class EstimatorTrains : public EstimatorTest {
 protected:
  std::int64_t step(const Estimator& e) { return TensorView(e.variable_value("global_step")).scalar<std::int64_t>(); }
};

TEST_F(EstimatorTrains, EST_01_TheConstructorChecksModelFunctionAndDirectories) {
  EXPECT_EQ(error_of([&] { Estimator(ModelFn(), options()); }),
            "INVALID_ARGUMENT: [B5052] the Estimator was given no model function");
  EXPECT_EQ(error_of([&] { Estimator(counting, options({.model_dir = "/tmp/other"})); }),
            "INVALID_ARGUMENT: [B5052] the Estimator's model_dir is '" + (temp / "model") +
                "', that of its config '/tmp/other'; leave one of them out");
  EXPECT_EQ(Estimator(counting, options({.model_dir = temp / "model"})).model_dir(), temp / "model");
  EstimatorSetup from_config = options({.model_dir = temp / "of_config"});
  from_config.model_dir = "";
  EXPECT_EQ(Estimator(counting, from_config).model_dir(), temp / "of_config");

  EstimatorSetup nowhere = options();
  nowhere.model_dir = "";
  const Estimator temporary(counting, nowhere);
  EXPECT_TRUE(std::filesystem::is_directory(temporary.model_dir()));
  EXPECT_THAT(log.of("", LogLevel::kWarning), ElementsAre(HasSubstr("no model_dir was given")));
  std::filesystem::remove_all(temporary.model_dir());
}

TEST_F(EstimatorTrains, T_136_TheConfigHasTheFolderHoweverItWasGiven) {
  std::vector<std::string> seen;
  const ModelFn model = [&](const ModelArgs& m) {
    seen.push_back(m.config.model_dir());
    return counting(m);
  };
  const InputFn input = [&](const InputArgs& in) {
    seen.push_back(in.config.model_dir());
    return one(in);
  };
  EstimatorSetup by_config = options({.model_dir = temp / "of_config"}), nowhere = options();
  by_config.model_dir = nowhere.model_dir = "";
  for (const EstimatorSetup& o : {options(), by_config, nowhere}) {
    seen.clear();
    Estimator estimator(model, o);
    EXPECT_EQ(estimator.config().model_dir(), estimator.model_dir());
    estimator.train(input, {.steps = 1});
    EXPECT_THAT(seen, ElementsAre(estimator.model_dir(), estimator.model_dir()));
    if (o.model_dir.empty() && o.config.model_dir().empty()) std::filesystem::remove_all(estimator.model_dir());
  }
}

TEST_F(EstimatorTrains, EST_02_ParamsAreTheEstimatorsOwn) {
  std::vector<std::int64_t> seen;
  EstimatorSetup o = options();
  o.params["units"] = std::int64_t{7};
  Estimator estimator(
      [&](const ModelArgs& m) {
        seen.push_back(m.param("units", std::int64_t{0}));
        EXPECT_EQ(m.param("rate", 0.5), 0.5);
        EXPECT_EQ(error_of([&] { m.param("units", 0.5); }),
                  "INVALID_ARGUMENT: the parameter 'units' is of another type than the model asks for");
        return counting(m);
      },
      o);
  EXPECT_TRUE(seen.empty());  // the constructor calls nothing
  o.params["units"] = std::int64_t{8};
  estimator.train(one, {.steps = 1});
  EXPECT_THAT(seen, ElementsAre(7));
}

TEST_F(EstimatorTrains, EST_03_StepsAreStepsMore) {
  Estimator estimator(counting, options());
  EXPECT_EQ(estimator.latest_checkpoint(), "");
  estimator.train(one, {.steps = 5});
  EXPECT_EQ(estimator.latest_checkpoint(), temp / "model/model.ckpt-5");
  EXPECT_EQ(step(estimator), 5);
  Estimator(counting, options()).train(one, {.steps = 5});
  EXPECT_EQ(step(estimator), 10);
}

TEST_F(EstimatorTrains, EST_03_ACallWhoseInputEndedEarlyLeavesNoTarget) {
  const ModelFn reading = [](const ModelArgs& m) {
    EstimatorPieces p = pieces(m, 1, 3);
    p.loss = ops::reduce_sum(m.feature());
    return EstimatorSpec(m, p);
  };
  Estimator estimator(reading, options());
  estimator.train(counted(3, 1), {.steps = 5});
  EXPECT_EQ(step(estimator), 3);
  estimator.train(one, {.steps = 5});
  EXPECT_EQ(step(estimator), 8);
}

TEST_F(EstimatorTrains, EST_03_AModelThatUsesNothingOfItsInputEndsWithIt) {
  Estimator estimator(counting, options());
  estimator.train(counted(3, 1));
  EXPECT_EQ(step(estimator), 3);
}

TEST_F(EstimatorTrains, EST_04_MaxStepsIsATargetAndNothingHappensBehindIt) {
  Estimator estimator(counting, options());
  estimator.train(one, {.max_steps = 5});
  EXPECT_EQ(step(estimator), 5);
  estimator.train(
      [](const InputArgs&) -> InputResult {
        ADD_FAILURE() << "the input function is not to be called";
        return {};
      },
      {.hooks = {probe("hook")}, .max_steps = 5});
  EXPECT_EQ(step(estimator), 5);
  EXPECT_TRUE(timeline.empty());
  EXPECT_THAT(logged(), HasSubstr("max_steps = 5, and the model is at step 5: nothing to train"));
}

TEST_F(EstimatorTrains, EST_06_ARenamedDirectoryGoesOn) {
  Estimator(counting, options()).train(one, {.steps = 5});
  std::filesystem::rename(temp / "model", temp / "moved");
  EstimatorSetup o = options();
  o.model_dir = temp / "moved";
  Estimator moved(counting, o);
  moved.train(one, {.steps = 5});
  EXPECT_EQ(step(moved), 10);
  EXPECT_EQ(moved.latest_checkpoint(), temp / "moved/model.ckpt-10");
}

TEST_F(EstimatorTrains, EST_09_TheLossIsASummaryOnce) {
  Estimator(counting, options({.save_summary_steps = 1})).train(one, {.steps = 3});
  EXPECT_EQ(read_event_files(temp / "model").steps.at("loss"), (Steps{1, 2, 3}));

  const ModelFn summarized = [](const ModelArgs& m) {
    const EstimatorSpec spec = counting(m);
    ops::scalar_summary("loss", spec.pieces().loss * 2.0);
    return spec;
  };
  EstimatorSetup o = options({.save_summary_steps = 1});
  o.model_dir = temp / "own";
  Estimator(summarized, o).train(one, {.steps = 2});
  EXPECT_EQ(read_event_files(temp / "own").values.at("loss"), (std::vector<float>{2, 2}));
}

TEST_F(EstimatorTrains, EST_10_TheScaffoldsInitFunctionAndTheNamedSaverAreUsed) {
  int calls = 0;
  const ModelFn scaffolded = [&](const ModelArgs& m) {
    EstimatorPieces p = pieces(m, 1, 3);
    p.scaffold.init_fn = [&](Session& session) {
      ++calls;
      session.assign("one", Tensor(5.0f));
    };
    return EstimatorSpec(m, p);
  };
  Estimator estimator(scaffolded, options());
  estimator.train(one, {.steps = 1});
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(TensorView(estimator.variable_value("one")).scalar<float>(), 5.0f);
  EXPECT_EQ(number(estimator.evaluate(one, {.steps = 1}), "loss"), 5.0);
  EXPECT_EQ(calls, 1);  // a restored model is not initialized

  EstimatorSetup other = options();
  other.saver = "parchment";
  const auto error =
      ::testing::StartsWith("NOT_FOUND: [B2039] there is no saver \"parchment\" among the session's plugins");
  Estimator without(counting, other);
  EXPECT_THAT(error_of([&] { without.train(one, {.steps = 1}); }), error);
  EXPECT_THAT(error_of([&] { without.evaluate(one, {.steps = 1}); }), error);
  EXPECT_THAT(error_of([&] { without.predict(one).next(); }), error);
}

TEST_F(EstimatorTrains, EST_11_WhatIsNoHookIsAnError) {
  Estimator estimator(counting, options());
  EXPECT_EQ(error_of([&] { estimator.train(one, {.hooks = {OwnHook{}}, .steps = 1}); }),
            "INVALID_ARGUMENT: [B5052] train's hooks[0] is no hook; make it by own_hook or plugin_hook");
  EXPECT_EQ(error_of([&] { estimator.evaluate(one, {.steps = 1, .hooks = {OwnHook{}}}); }),
            "INVALID_ARGUMENT: [B5052] evaluate's hooks[0] is no hook; make it by own_hook or plugin_hook");
  EstimatorPredictions predictions = estimator.predict(one, {.hooks = {OwnHook{}}});
  EXPECT_EQ(error_of([&] { predictions.next(); }),
            "INVALID_ARGUMENT: [B5052] predict's hooks[0] is no hook; make it by own_hook or plugin_hook");
  EXPECT_EQ(predictions.next(), nullptr);
}

TEST_F(EstimatorTrains, EST_12_TheModelsTrainingHooksBegin) {
  const ModelFn hooked = [&](const ModelArgs& m) {
    EstimatorPieces p = pieces(m, 1, 3);
    p.training_hooks = {probe("training")};
    p.training_chief_hooks = {probe("chief")};
    return EstimatorSpec(m, p);
  };
  Estimator(hooked, options()).train(one, {.hooks = {probe("user")}, .steps = 1});
  EXPECT_EQ((Timeline{timeline.begin(), timeline.begin() + 3}),
            (Timeline{"chief.begin", "user.begin", "training.begin"}));
}

TEST_F(EstimatorTrains, EST_18_FunctionsSeeTheModeTheGlobalStepAndTheInput) {
  std::vector<std::string> seen;
  const InputFn input = [&](const InputArgs& in) {
    EXPECT_TRUE(in.graph.global_step_if_exists());
    seen.push_back("input");
    return one(in);
  };
  Estimator estimator(
      [&](const ModelArgs& m) {
        EXPECT_TRUE(m.graph.global_step_if_exists());
        EXPECT_EQ(m.features.at(0).name, "x");
        seen.push_back(std::to_string(static_cast<int>(m.mode)) + (m.labels.empty() ? " no labels" : " labels"));
        return counting(m);
      },
      options());
  estimator.train(input, {.steps = 1});
  estimator.evaluate(input, {.steps = 1});
  estimator.predict(input).next();
  EXPECT_THAT(seen, ElementsAre("input", "1 labels", "input", "2 labels", "input", "3 no labels"));
}

TEST_F(EstimatorTrains, EST_19_VariablesAreReadFromTheNewestCheckpoint) {
  Estimator estimator(counting, options());
  const std::string error =
      "NOT_FOUND: [B5042] there is no trained model in '" + (temp / "model") + "'; train it first";
  EXPECT_EQ(error_of([&] { estimator.variable_names(); }), error);
  EXPECT_EQ(error_of([&] { estimator.variable_value("one"); }), error);
  estimator.train(one, {.steps = 5});
  EXPECT_THAT(estimator.variable_names(), ElementsAre("global_step", "one", "three"));
  EXPECT_EQ(TensorView(estimator.variable_value("one")).scalar<float>(), 1);
  EXPECT_EQ(TensorView(estimator.variable_value("three")).scalar<float>(), 3);
  EXPECT_EQ(step(estimator), 5);
  EXPECT_EQ(error_of([&] { estimator.variable_value("tree"); }),
            "NOT_FOUND: [B4022] the checkpoint has no variable 'tree' (did you mean \"three\"?)");
}

TEST_F(EstimatorTrains, EST_34_ATrainingWithoutAStepIsAWarning) {
  const ModelFn reading = [](const ModelArgs& m) {
    EstimatorPieces p = pieces(m, 1, 3);
    p.loss = ops::reduce_sum(m.feature());
    return EstimatorSpec(m, p);
  };
  Estimator(reading, options()).train(numbers(Tensor({2, 1}, {2.0f, 7.0f}), 1));
  EXPECT_THAT(logged(), HasSubstr("the loss of the last step is 7.0"));
  EXPECT_TRUE(log.of("", LogLevel::kWarning).empty());
  Estimator(reading, options()).train(numbers(Tensor(DType::kFloat32, {0, 1}), 1));
  EXPECT_THAT(log.of("", LogLevel::kWarning),
              ElementsAre("the training made no step: the input is empty, or a hook stopped it at once"));
}

TEST_F(EstimatorTrains, PROSE_41_WrongArgumentsAreRefusedBeforeAnythingBegins) {
  Estimator estimator(counting, options());
  EXPECT_EQ(error_of([&] { estimator.train(one, {.steps = 1, .max_steps = 1}); }),
            "INVALID_ARGUMENT: [B5052] steps and max_steps are both given; leave one of them out");
  EXPECT_EQ(error_of([&] { estimator.train(one, {.steps = 0}); }),
            "INVALID_ARGUMENT: [B5052] steps must be above 0, got 0");
  EXPECT_EQ(error_of([&] { estimator.train(one, {.max_steps = -1}); }),
            "INVALID_ARGUMENT: [B5052] max_steps must be above 0, got -1");
  for (const char* type : {"evaluator", "ps"}) {
    EstimatorSetup o = options();
    o.config =
        RunConfig({}, variables({{"TF_CONFIG", std::string("{\"cluster\": {\"chief\": [\"a:1\"], \"ps\": [\"b:1\"]}, "
                                                           "\"task\": {\"type\": \"") +
                                                   type + "\", \"index\": 0}}"}}));
    EXPECT_EQ(
        error_of([&] { Estimator(counting, o).train(one, {.steps = 1}); }),
        std::string("INVALID_ARGUMENT: [B5052] a task of type ") + type + " does not train; use train_and_evaluate");
  }
  EstimatorSetup two = options();
  two.config = RunConfig({}, variables({{"TF_CONFIG", R"({"cluster": {"chief": ["a:1"], "worker": ["b:1"]},
                                                         "task": {"type": "chief", "index": 0}})"}}));
  EXPECT_EQ(error_of([&] { Estimator(counting, two).train(one, {.steps = 1}); }),
            "FAILED_PRECONDITION: [B5052] an Estimator trains in one process; its config is of a cluster of 2 tasks");
  EXPECT_FALSE(std::filesystem::exists(temp / "model"));
}

TEST_F(EstimatorTrains, PROSE_41_HooksComeAsInputUserStopNanLoggingModel) {
  const InputFn hooked_input = [&](const InputArgs& in) {
    InputResult r = one(in);
    r.hooks = {probe("input")};
    return r;
  };
  const ModelFn hooked = [&](const ModelArgs& m) {
    EstimatorPieces p = pieces(m, 1, 3);
    p.training_hooks = {probe("model")};
    return EstimatorSpec(m, p);
  };
  Estimator(hooked, options({.log_step_count_steps = 1}))
      .train(hooked_input, {.hooks = {probe("user")}, .steps = 1, .saving_listeners = {probe("listener")}});
  EXPECT_EQ((Timeline{timeline.begin(), timeline.begin() + 4}),
            (Timeline{"input.begin", "user.begin", "model.begin", "listener.begin"}));
  // The listener has these: the first checkpoint and the last.
  EXPECT_EQ(count("listener.after_save 0"), 1);
  EXPECT_EQ(count("listener.after_save 1"), 1);
  EXPECT_THAT(log.of("logging_tensor"), Contains(HasSubstr("loss = 1")));
}

TEST_F(EstimatorTrains, PROSE_41_WithoutAPeriodNothingSavesAndListenersAreRefused) {
  Estimator estimator(counting, options({.save_checkpoints_secs = std::nullopt}));
  EXPECT_EQ(error_of([&] { estimator.train(one, {.steps = 1, .saving_listeners = {probe("listener")}}); }),
            "INVALID_ARGUMENT: [B5052] saving_listeners are given, and nothing saves: give the config a period of "
            "checkpoints, or "
            "the hook checkpoint_saver");
  estimator.train(one, {.steps = 1});
  EXPECT_EQ(estimator.latest_checkpoint(), "");
  // The program's own saver hook takes the place of the Estimator's.
  estimator.train(one, {.hooks = {plugin_hook("checkpoint_saver", {{"save_steps", std::int64_t{1}}})},
                        .steps = 2,
                        .saving_listeners = {probe("listener")}});
  EXPECT_EQ(count("listener.after_save 2"), 1);
  Estimator with_period(counting, options({.save_checkpoints_steps = 100}));
  with_period.train(one, {.hooks = {plugin_hook("checkpoint_saver", {{"save_steps", std::int64_t{1}}})}, .steps = 2});
  EXPECT_EQ(with_period.latest_checkpoint(), temp / "model/model.ckpt-4");
}

TEST_F(EstimatorTrains, PROSE_41_ADamagedNewestCheckpointIsAnErrorNotStepZero) {
  Estimator estimator(counting, options());
  estimator.train(one, {.steps = 5});
  for (const char* step : {"0", "5"})
    std::filesystem::remove(temp / ("model/model.ckpt-" + std::string(step) + "/index"));
  EXPECT_THAT(error_of([&] { estimator.train(one, {.max_steps = 7}); }), HasSubstr("none can be restored"));
}

TEST_F(EstimatorTrains, WARM_01_TrainableVariablesComeFromAnotherModel) {
  Estimator([](const ModelArgs& m) { return EstimatorSpec(m, pieces(m, 42, 3)); }, options()).train(one, {.steps = 10});
  EstimatorSetup o = options();
  o.model_dir = temp / "second";
  o.warm_start_from = warm_start(temp / "model");
  Estimator second([](const ModelArgs& m) { return EstimatorSpec(m, pieces(m, 36, 3)); }, o);
  second.train(one, {.steps = 5});
  EXPECT_EQ(TensorView(second.variable_value("one")).scalar<float>(), 42);
  EXPECT_EQ(step(second), 5);
}

TEST_F(EstimatorTrains, WARM_03_ACheckpointOfTheModelWinsOverAWarmStart) {
  Estimator([](const ModelArgs& m) { return EstimatorSpec(m, pieces(m, 42, 3)); }, options()).train(one, {.steps = 1});
  EstimatorSetup o = options();
  o.model_dir = temp / "second";
  const ModelFn model = [](const ModelArgs& m) { return EstimatorSpec(m, pieces(m, 36, 3)); };
  Estimator(model, o).train(one, {.steps = 1});
  o.warm_start_from = warm_start(temp / "model");
  Estimator second(model, o);
  second.train(one, {.steps = 1});
  EXPECT_EQ(TensorView(second.variable_value("one")).scalar<float>(), 36);
  EXPECT_EQ(number(second.evaluate(one, {.steps = 1}), "loss"), 36);
}

TEST_F(EstimatorTrains, WARM_05_ANameThatIsNeverUsedIsAnError) {
  Estimator(counting, options()).train(one, {.steps = 1});
  EstimatorSetup o = options();
  o.model_dir = temp / "second";
  o.warm_start_from = warm_start(temp / "model", {}, {{"ones", "one"}});
  EXPECT_THAT(error_of([&] { Estimator(counting, o).train(one, {.steps = 1}); }), HasSubstr("'ones'"));
  o.warm_start_from = warm_start(temp / "model", {"one", "four"});
  EXPECT_THAT(error_of([&] { Estimator(counting, o).train(one, {.steps = 1}); }), HasSubstr("four"));
}

}  // namespace
}  // namespace belay::runtime::testing
