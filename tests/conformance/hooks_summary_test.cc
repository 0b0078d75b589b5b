// SPDX-License-Identifier: Apache-2.0
// SummarySaverHook and StepCounterHook: sections 17 and 18 of the contract.
#include "belay/events.h"
#include "tests/conformance/hooks_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SummarySaverConformance : public HookConformance {
 protected:
  // The program's summary counts how often it was computed.
  void count_in_summary() {
    const Output counter = ops::variable(program->g, "counter", Tensor(0.0f), ops::VariableKind::kLocal);
    ops::scalar_summary("counted", ops::assign_add(counter, ops::constant(program->g, Tensor(1.0f))));
  }
  void summarize_weight() { ops::scalar_summary("weight", program->weight); }
};

TEST_F(SummarySaverConformance, PROSE_17_WritesTheFirstRunAtItsRealStepAndOneStart) {
  EXPECT_EQ(error_of([&] { open(with("summary_saver", {{"save_steps", n(0)}})); }).substr(0, 17), "INVALID_ARGUMENT:");
  new_program(5);
  summarize_weight();
  open(with("summary_saver", {{"save_steps", n(10)}}));
  run(5);
  end();
  EXPECT_EQ(written("weight"), (Steps{5, 15, 25}));
  EXPECT_EQ(events().sessions[pb::SessionLog::START], (Steps{1}));
  NodeGraph without(*ops);
  EXPECT_THAT(error_of([&] { MonitoredTrainingSession(without, with("summary_saver")); }),
              EndsWith("in begin: the graph has no global step"));
}

// Neither is an error in TensorFlow; here the scaffold's is what one gets without naming another.
TEST_F(SummarySaverConformance, SUMM_01_WithoutNamesItIsTheScaffoldsSummary) {
  summarize_weight();
  ops::scalar_summary("twice", program->weight + program->weight);
  open(with("summary_saver", {{"save_steps", n(1)}}));
  run();
  end();
  EXPECT_EQ(written("weight"), (Steps{1}));
  EXPECT_EQ(written("twice"), (Steps{1}));
}

TEST_F(SummarySaverConformance, SUMM_02_NamesReplaceTheScaffolds) {
  summarize_weight();
  ops::scalar_summary("twice", program->weight + program->weight, "only_this");
  open(with("summary_saver", {{"save_steps", n(1)}, {"summaries", std::vector<std::string>{"only_this"}}}));
  run();
  end();
  EXPECT_EQ(written("twice"), (Steps{1}));
  EXPECT_THAT(written("weight"), IsEmpty());
}

// [weak test] TensorFlow's error comes from the missing summary operation. Here no period is every 100 steps.
TEST_F(SummarySaverConformance, SUMM_04_WithoutAPeriodItIsEveryHundredSteps) {
  summarize_weight();
  open(with("summary_saver"));
  run(250);
  end();
  EXPECT_EQ(written("weight"), (Steps{1, 101, 201}));
}

TEST_F(SummarySaverConformance, SUMM_05_EveryEighthStepAndNoOtherIsComputed) {
  count_in_summary();
  open(with("summary_saver", {{"save_steps", n(8)}}));
  run(30);
  end();
  EXPECT_EQ(written("counted"), (Steps{1, 9, 17, 25}));
  EXPECT_THAT(events().values["counted"], ElementsAre(1, 2, 3, 4));
}

TEST_F(SummarySaverConformance, SUMM_06_AListOfTwo) {
  ops::scalar_summary("a", program->weight, "first");
  ops::scalar_summary("b", program->weight, "second");
  open(with("summary_saver", {{"save_steps", n(8)}, {"summaries", std::vector<std::string>{"first", "second"}}}));
  run(10);
  end();
  EXPECT_EQ(written("a"), (Steps{1, 9}));
  EXPECT_EQ(written("b"), (Steps{1, 9}));
}

TEST_F(SummarySaverConformance, SUMM_07_HalfASecondAndARunEachHalfSecond) {
  summarize_weight();
  open(with("summary_saver", {{"save_secs", 0.5}}));
  run(4, 0.5);
  end();
  EXPECT_EQ(written("weight"), (Steps{1, 2, 3, 4}));
}

TEST_F(SummarySaverConformance, SUMM_08_NineSecondsAndARunEachThree) {
  summarize_weight();
  open(with("summary_saver", {{"save_secs", 9.0}}));
  run(8, 3.1);
  end();
  EXPECT_EQ(written("weight"), (Steps{1, 4, 7}));
}

TEST_F(SummarySaverConformance, SUMM_10_ItIsPartOfTheCallersRunWithItsFeeds) {
  const Output x = ops::placeholder(program->g, DType::kFloat32, {}, "x");
  ops::scalar_summary("x", x);
  open(with("summary_saver", {{"save_steps", n(1)}}));
  (*session)->run({program->train}, {{x, Tensor(4.5f)}});
  EXPECT_THAT(error_of([&] { run(); }), HasSubstr("'x'"));
  EXPECT_EQ(step(), 1);  // the run that lacked it changed nothing
  session.reset();
  EXPECT_THAT(events().values["x"], ElementsAre(4.5f));
}

// [quirk] mended.
TEST_F(SummarySaverConformance, SUMM_11_WithoutADirectoryNothingIsComputed) {
  count_in_summary();
  const Output counter = program->g.find("counter");
  TrainingSessionSetup o = with("summary_saver", {{"save_steps", n(1)}});
  o.checkpoint_dir = "";
  open(std::move(o));
  run(3);
  EXPECT_EQ((*session)->raw_session()->handle().value(Fetch<float>(counter)), 0.0f);
}

TEST_F(SummarySaverConformance, QUIRK_12_WithoutADirectoryNothingIsFetched) {
  summarize_weight();
  TrainingSessionSetup o = with("summary_saver", {{"save_steps", n(1)}});
  o.checkpoint_dir = "";
  open(std::move(o));
  const PlanStats before = (*session)->raw_session()->plan_stats();
  run(3);
  EXPECT_LE((*session)->raw_session()->plan_stats().plans_built, before.plans_built + 1);
  EXPECT_FALSE(posix_file_system().exists(run_directory()));
}

TEST_F(SummarySaverConformance, SUMM_12_TheEndWritesNoSummaryAndAGraphWithoutAnyOnlyStarts) {
  summarize_weight();
  open(with("summary_saver", {{"save_steps", n(10)}}));
  run(3);
  end();
  EXPECT_EQ(written("weight"), (Steps{1}));
  new_program();
  TrainingSessionSetup o = with("summary_saver", {{"save_steps", n(1)}});
  o.checkpoint_dir = temp / "none";
  open(std::move(o));
  run(2);
  end();
  const EventFiles found = read_event_files(temp / "none");
  EXPECT_THAT(found.steps, IsEmpty());
  EXPECT_EQ(found.sessions.at(pb::SessionLog::START), (Steps{1}));
}

class Writer final : public Hook {
 public:
  void after_run(RunContext&, const RunValues&) override { Events(host()).scalar("mine", 7, 0.5); }
};

TEST_F(SummarySaverConformance, USER_19_AllWritersShareOneFileAndSummariesMayBeNamed) {
  summarize_weight();
  TrainingSessionSetup o = with("summary_saver", {{"save_steps", n(1)}});
  o.hooks.push_back(own_hook("writer", std::make_unique<Writer>()));
  o.checkpoint.save_steps = 1;
  o.session.log_step_count_steps = 1;
  open(std::move(o));
  run(2, 1);
  end();
  const EventFiles found = events();
  EXPECT_EQ(found.files, 1);
  EXPECT_EQ(found.steps.at("weight"), (Steps{1, 2}));
  EXPECT_EQ(found.steps.at("mine"), (Steps{7, 7}));
  EXPECT_EQ(found.steps.at("global_step/sec"), (Steps{2}));
  EXPECT_EQ(found.sessions.at(pb::SessionLog::CHECKPOINT), (Steps{0, 1, 2}));
}

TEST_F(SummarySaverConformance, USER_20_TheGraphIsWrittenOnceInBinaryOrNotAtAll) {
  for (const bool wanted : {true, false}) {
    new_program();
    TrainingSessionSetup o = bare();
    o.checkpoint_dir = temp / (wanted ? "with" : "without");
    o.save_graph_def = wanted;
    const std::string directory = o.checkpoint_dir;
    open(std::move(o));
    run(2);
    end();
    EXPECT_EQ(read_event_files(directory).graphs, wanted ? 1 : 0);
    for (const std::string& name : posix_file_system().open_directory(directory)->entries())
      EXPECT_EQ(name.find("graph"), std::string::npos) << name;
  }
}

// Each is a separate section: no summaries does not mean no checkpoints.
TEST_F(SummarySaverConformance, QUIRK_07_SummariesDoNotGateCheckpoints) {
  summarize_weight();
  TrainingSessionSetup o = bare();
  o.checkpoint.save_steps = 1;
  o.session.save_summaries_steps = 0;
  open(std::move(o));
  run();
  end();
  EXPECT_EQ(saved(), (Steps{0, 1}));
  EXPECT_THAT(written("weight"), IsEmpty());
}

class StepCounterConformance : public HookConformance {
 protected:
  TrainingSessionSetup counting(PluginOptions options = {}) { return with("step_counter", std::move(options)); }
  std::vector<std::string> warnings() const { return log.of("step_counter", LogLevel::kWarning); }
};

TEST_F(StepCounterConformance, PROSE_18_EveryHundredStepsUnlessToldOtherwise) {
  EXPECT_EQ(refused("step_counter", {{"every_n_steps", n(5)}, {"every_n_secs", 5.0}}),
            "INVALID_ARGUMENT: give at most one of 'every_n_steps' and 'every_n_secs'; both are given");
  new_program();
  open(counting());
  run(250, 0.5);
  end();
  EXPECT_EQ(written("global_step/sec"), (Steps{101, 201}));
  EXPECT_THAT(events().values["global_step/sec"], Each(2.0f));
  EXPECT_THAT(log.of("step_counter"), IsEmpty()) << "progress has the rate, in lines that say the rest, too";
  NodeGraph without(*ops);
  EXPECT_THAT(error_of([&] { MonitoredTrainingSession(without, counting()); }),
              EndsWith("in begin: the graph has no global step"));
}

TEST_F(StepCounterConformance, CNT_01_EveryTenStepsFromTheFirstRun) {
  open(counting({{"every_n_steps", n(10)}}));
  run(30, 0.1);
  end();
  EXPECT_EQ(written("global_step/sec"), (Steps{11, 21}));
  EXPECT_THAT(events().values["global_step/sec"], Each(Gt(0.0f)));
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(StepCounterConformance, CNT_02_EveryTenthOfASecond) {
  open(counting({{"every_n_secs", 0.1}}));
  run(3, 0.2);
  end();
  EXPECT_EQ(written("global_step/sec"), (Steps{2, 3}));
}

TEST_F(StepCounterConformance, CNT_03_TheTagIsTheStepsName) {
  new_program(1, "bar", "foo");
  open(counting({{"every_n_steps", n(1)}}));
  run(2, 1);
  end();
  EXPECT_EQ(written("bar/foo/sec"), (Steps{2}));
}

TEST_F(StepCounterConformance, CNT_04_AStepThatStandsStillIsWarnedOf) {
  open(counting({{"every_n_steps", n(1)}}));
  (*session)->run({program->weight});
  EXPECT_THAT(warnings(), IsEmpty());
  for (int i = 0; i < 10; ++i) (*session)->run({program->weight});
  EXPECT_EQ(warnings().size(), 5u);
  EXPECT_THAT(warnings(),
              Each("the global step is still 0 after another run, so nothing that counts steps will happen: "
                   "let the train operation advance it"));
}

TEST_F(StepCounterConformance, CNT_05_FiveStepsARunAndEveryTen) {
  new_program(5);
  open(counting({{"every_n_steps", n(10)}}));
  run(5, 1);
  end();
  EXPECT_EQ(written("global_step/sec"), (Steps{15, 25}));
  EXPECT_THAT(events().values["global_step/sec"], Each(5.0f));
}

TEST_F(StepCounterConformance, CNT_06_FiveStepsARunAndEveryFive) {
  new_program(5);
  open(counting({{"every_n_steps", n(5)}}));
  run(5, 1);
  end();
  EXPECT_EQ(written("global_step/sec"), (Steps{10, 15, 20, 25}));
}

// [quirk] mended: without time there is no rate. The steps of other workers count.
TEST_F(StepCounterConformance, CNT_08_TheRateIsThatOfTheGlobalStep) {
  open(counting({{"every_n_steps", n(1)}}));
  run();
  set_step(9);  // others have made eight steps meanwhile
  run(1, 2);
  run();  // no time passes
  end();
  EXPECT_EQ(written("global_step/sec"), (Steps{10}));
  EXPECT_THAT(events().values["global_step/sec"], ElementsAre(4.5f));
}

TEST_F(StepCounterConformance, QUIRK_13_NoTimeIsNoRate) {
  open(counting({{"every_n_steps", n(1)}}));
  run(3);
  run(1, 0.5);
  end();
  EXPECT_EQ(written("global_step/sec"), (Steps{4}));
  EXPECT_THAT(events().values["global_step/sec"], ElementsAre(2.0f));
}

TEST_F(StepCounterConformance, USER_10_AStepThatNobodyAdvancesIsNamedOnceForEachFewRunsAndThenNoMore) {
  TrainingSessionSetup o = bare();
  o.session.log_step_count_steps = 100;  // the default hook logs it
  open(std::move(o));
  for (int i = 0; i < 20; ++i) (*session)->run({program->weight});
  EXPECT_EQ(warnings().size(), 5u);
  run(3);
  EXPECT_EQ(warnings().size(), 5u);
}

}  // namespace
}  // namespace belay::runtime::testing
