// SPDX-License-Identifier: Apache-2.0
// CheckpointSaverHook and its listeners: section 14 of the contract. A listener is a hook with before_save and
// after_save. Each test runs with both ways to save: in the background a test's run is over when what it saved is
// there.
#include "tests/conformance/hooks_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::Not;

class CheckpointSaverConformance : public HookConformance, public ::testing::WithParamInterface<SaveMode> {
 protected:
  CheckpointSaverConformance() { mode = GetParam(); }
  TrainingSessionSetup saving(PluginOptions options) { return with("checkpoint_saver", std::move(options)); }
  // With a listener, whose calls are in the timeline.
  TrainingSessionSetup listened(PluginOptions options) {
    TrainingSessionSetup o = saving(std::move(options));
    o.hooks.push_back(own_hook("a", probe("a")));
    return o;
  }
  // How often a listener was called so.
  int calls(const std::string& what) const {
    int count = 0;
    for (const std::string& call : timeline) count += call == what || call.starts_with(what + " ") ? 1 : 0;
    return count;
  }
  // The steps that it was told.
  Steps told(const std::string& what) const {
    Steps steps;
    for (const std::string& call : timeline)
      if (call.starts_with(what + " ")) steps.push_back(std::stoll(call.substr(what.size() + 1)));
    return steps;
  }
};

INSTANTIATE_TEST_SUITE_P(Save, CheckpointSaverConformance, ::testing::Values(SaveMode::kAsync, SaveMode::kSync),
                         [](const auto& mode) { return mode.param == SaveMode::kAsync ? "async" : "sync"; });

TEST_P(CheckpointSaverConformance, PROSE_14_SavesWhenASessionBeginsThenRegularlyAndAtTheEnd) {
  EXPECT_EQ(refused("checkpoint_saver", {{"save_steps", n(1)}, {"basename", std::string("x")}}).substr(0, 17),
            "INVALID_ARGUMENT:");
  new_program();
  NodeGraph without(*ops);
  EXPECT_THAT(error_of([&] {
                MonitoredTrainingSession(without, saving({{"save_steps", n(1)}}));
              }),
              EndsWith("in begin: the graph has no global step"));
  // Order of one save: before_save of all, the checkpoint, its event, after_save of all.
  TrainingSessionSetup o = listened({{"save_steps", n(2)}});
  auto second = probe("b");
  std::vector<Steps> there;
  second->in["before_save"] = [&] { there.push_back(saved()); };
  second->in["after_save"] = [&] { there.push_back(saved()); };
  o.hooks.push_back(own_hook("b", std::move(second)));
  open(std::move(o));
  run(2);
  end();
  EXPECT_EQ(saved(), (Steps{0, 2}));
  EXPECT_EQ(there, (std::vector<Steps>{{}, {0}, {0}, {0, 2}}));
  Timeline saves;
  for (const std::string& call : timeline)
    if (call.find("_save") != std::string::npos) saves.push_back(call);
  EXPECT_THAT(saves, ElementsAre("a.before_save 0", "b.before_save 0", "a.after_save 0", "b.after_save 0",
                                 "a.before_save 2", "b.before_save 2", "a.after_save 2", "b.after_save 2"));
  EXPECT_EQ(events().sessions[pb::SessionLog::CHECKPOINT], (Steps{0, 2}));
}

TEST_P(CheckpointSaverConformance, CKPT_01_UsesTheSessionsSaver) {
  open(saving({{"save_steps", n(1)}}));
  run();
  EXPECT_EQ(saved(), (Steps{0, 1}));
}

// [weak test] In TensorFlow the error comes from elsewhere. Here there is one saver, the scaffold's, and no way to give
// the hook another.
TEST_P(CheckpointSaverConformance, CKPT_02_AHookHasNoSaverOfItsOwn) {
  const std::string text = error_of([&] { open(saving({{"save_steps", n(1)}, {"saver", std::string("mine")}})); });
  EXPECT_THAT(text, ::testing::HasSubstr("\"saver\" is not an option of hook \"checkpoint_saver\""));
}

// TensorFlow refuses two periods.
TEST_P(CheckpointSaverConformance, CKPT_03_OfTwoPeriodsTheOneThatEndsFirstSaves) {
  open(saving({{"save_steps", n(3)}, {"save_secs", 5.0}}));
  run(3, 1);
  EXPECT_EQ(saved(), (Steps{0, 3}));
  run(1, 10);
  EXPECT_EQ(saved(), (Steps{0, 3, 4}));
}

TEST_P(CheckpointSaverConformance, CKPT_04_NoPeriodIsRefused) {
  EXPECT_EQ(refused("checkpoint_saver"), "INVALID_ARGUMENT: give a period: 'save_secs', 'save_steps', or both");
}

// Without a save at creation TensorFlow's saves after the first run; here every session begins with a save, and the
// first run is saved when the period is over.
TEST_P(CheckpointSaverConformance, CKPT_05_InSecondsTheFirstSaveIsThatOfTheCreation) {
  open(saving({{"save_secs", 2.0}}));
  EXPECT_EQ(saved(), (Steps{0}));
  run();
  EXPECT_EQ(saved(), (Steps{0}));
  run(1, 2);
  EXPECT_EQ(saved(), (Steps{0, 2}));
}

TEST_P(CheckpointSaverConformance, CKPT_07_AListenerIsCalledForEverySaveAndTheEndSavesNothingNew) {
  open(listened({{"save_steps", n(1)}}));
  run(2);
  end();
  EXPECT_EQ(calls("a.begin"), 1);
  EXPECT_EQ(told("a.before_save"), (Steps{0, 1, 2}));
  EXPECT_EQ(told("a.after_save"), (Steps{0, 1, 2}));
  EXPECT_EQ(calls("a.end"), 1);
}

TEST_P(CheckpointSaverConformance, CKPT_08_AListenerStopsTheRun) {
  TrainingSessionSetup o = saving({{"save_steps", n(1)}});
  auto listener = probe("stopper");
  Probe& stopper = *listener;
  stopper.in["after_save"] = [&] { stopper.stop_after_save = timeline.back() == "stopper.after_save 3"; };
  o.hooks.push_back(own_hook("stopper", std::move(listener)));
  MonitoredSession& s = open(std::move(o));
  run(2);
  EXPECT_FALSE(s.should_stop());
  run();
  EXPECT_TRUE(s.should_stop());
  s.close();
  EXPECT_EQ(s.end_reason().text, "stopper: asked to stop after a checkpoint");
}

TEST_P(CheckpointSaverConformance, CKPT_09_AFreshProgramRestoresWhatAListenerSaw) {
  open(listened({{"save_steps", n(1)}}));
  run(2);
  end();
  EXPECT_EQ(told("a.after_save"), (Steps{0, 1, 2}));
  new_program();
  open(bare());
  EXPECT_EQ(step(), 2);
  EXPECT_EQ((*session)->raw_session()->handle().value(Fetch<float>(program->weight)), 2.0f);
}

TEST_P(CheckpointSaverConformance, CKPT_10_TwoListenersAreCalledAlike) {
  TrainingSessionSetup o = listened({{"save_steps", n(1)}});
  o.hooks.push_back(own_hook("b", probe("b")));
  open(std::move(o));
  run(2);
  end();
  for (const char* callback : {"begin", "before_save", "after_save", "end"})
    EXPECT_EQ(calls(std::string("a.") + callback), calls(std::string("b.") + callback)) << callback;
  EXPECT_EQ(told("a.before_save"), told("b.before_save"));
  EXPECT_EQ(calls("b.before_save"), 3);
}

TEST_P(CheckpointSaverConformance, CKPT_11_EveryTwoSecondsSavesTheRunsThatComeAfterThem) {
  open(saving({{"save_secs", 2.0}}));
  const double after[] = {0, 0.5, 2, 0.1, 0.1, 7.3};  // runs at 0, 0.5, 2.5, 2.6, 2.7 and 10 s
  for (const double seconds : after) run(1, seconds);
  EXPECT_EQ(saved(), (Steps{0, 3, 6}));
}

TEST_P(CheckpointSaverConformance, CKPT_12_ListenersAreCalledAtEachOfThem) {
  open(listened({{"save_secs", 2.0}}));
  const double after[] = {0.5, 0, 2.5, 0.5, 0.5, 2.5, 0.5};  // runs at 0.5, 0.5, 3, 3.5, 4, 6.5 and 7 s
  for (const double seconds : after) run(1, seconds);
  clock.advance(500'000'000);
  end();
  EXPECT_EQ(told("a.before_save"), (Steps{0, 3, 6, 7}));  // 0: at creation
  EXPECT_EQ(told("a.after_save"), (Steps{0, 3, 6, 7}));
  EXPECT_EQ(calls("a.begin"), 1);
  EXPECT_EQ(calls("a.end"), 1);
}

TEST_P(CheckpointSaverConformance, CKPT_15_TheEndSavesWhatIsNotSaved) {
  open(saving({{"save_steps", n(10)}}));
  run(2);
  EXPECT_EQ(saved(), (Steps{0}));
  end();
  EXPECT_EQ(saved(), (Steps{0, 2}));
}

TEST_P(CheckpointSaverConformance, CKPT_17_TheCreationsSaveStartsThePeriod) {
  open(saving({{"save_steps", n(2)}}));
  EXPECT_EQ(saved(), (Steps{0}));
  run();
  EXPECT_EQ(saved(), (Steps{0}));
  run();
  EXPECT_EQ(saved(), (Steps{0, 2}));
}

// The graph is for TensorBoard, so it is in the event file alone, once, and binary.
TEST_P(CheckpointSaverConformance, CKPT_18_TheGraphIsInTheEventFile) {
  TrainingSessionSetup o = saving({{"save_steps", n(1)}});
  o.save_graph_def = true;
  open(std::move(o));
  run();
  end();
  EXPECT_EQ(events().graphs, 1);
  for (const std::string& name : posix_file_system().open_directory(run_directory())->entries())
    EXPECT_THAT(name, Not(::testing::AnyOf(EndsWith(".pbtxt"), EndsWith(".meta"))));
}

TEST_P(CheckpointSaverConformance, CKPT_19_OrNowhere) {
  TrainingSessionSetup o = saving({{"save_steps", n(1)}});
  o.save_graph_def = false;
  open(std::move(o));
  run();
  end();
  EXPECT_EQ(events().graphs, 0);
}

// Five steps a run, every ten. TensorFlow's counts are those without the creation's save.
TEST_P(CheckpointSaverConformance, CKPT_20_SeveralStepsPerRunDoNotSaveTooEarly) {
  new_program(5);
  open(saving({{"save_steps", n(10)}}));
  EXPECT_EQ(saved(), (Steps{0}));
  run();
  EXPECT_EQ(saved(), (Steps{0}));
}

TEST_P(CheckpointSaverConformance, CKPT_21_SeveralStepsPerRunSaveAtEveryTenth) {
  new_program(5);
  open(saving({{"save_steps", n(10)}}));
  std::vector<std::int64_t> newest;
  for (int i = 0; i < 6; ++i) {
    run();
    newest.push_back(saved().back());
  }
  EXPECT_THAT(newest, ElementsAre(0, 10, 10, 20, 20, 30));
}

TEST_P(CheckpointSaverConformance, CKPT_22_SeveralStepsPerRunAreSavedAtTheEnd) {
  new_program(5);
  open(saving({{"save_steps", n(100)}}));
  run(2);
  end();
  EXPECT_EQ(saved(), (Steps{0, 10}));
}

// The first save is when the session is made, so that is where it shows.
TEST_P(CheckpointSaverConformance, CKPT_24_WithoutASaverTheFirstSaveFails) {
  TrainingSessionSetup o = saving({{"save_steps", n(1)}});
  o.checkpoint_dir = "";
  EXPECT_THAT(error_of([&] { open(std::move(o)); }),
              EndsWith("in after_create_session: [B5087] there is no run directory to save into: give run.dir, or "
                       "checkpoint_dir in a program"));
}

TEST_P(CheckpointSaverConformance, CKPT_25_ARecoverySavesAgainAtOnce) {
  TrainingSessionSetup o = listened({{"save_steps", n(2)}});
  auto failing = probe("failing");
  int runs = 0;
  failing->in["after_run"] = [&] {
    if (++runs == 4) fail(Code::kAborted, "preempted");
  };
  o.hooks.push_back(own_hook("failing", std::move(failing)));
  open(std::move(o));
  run(4);
  EXPECT_EQ(runs, 5);
  // Creation, step 2, then the recovery from it; the lost fourth run is made again as the third step.
  EXPECT_EQ(told("a.after_save"), (Steps{0, 2, 2}));
  EXPECT_EQ(step(), 3);
}

// [quirk] mended: a request to stop counts whenever it is made.
TEST_P(CheckpointSaverConformance, CKPT_26_AStopFromTheCreationsSaveIsHonoured) {
  TrainingSessionSetup o = saving({{"save_steps", n(1)}});
  auto listener = probe("stopper");
  listener->stop_after_save = true;
  o.hooks.push_back(own_hook("stopper", std::move(listener)));
  MonitoredSession& s = open(std::move(o));
  EXPECT_TRUE(s.should_stop());
  s.close();
  EXPECT_EQ(saved(), (Steps{0}));
}

TEST_P(CheckpointSaverConformance, QUIRK_08_AStopFromAnySaveIsHonoured) {
  TrainingSessionSetup o = saving({{"save_steps", n(2)}});
  auto listener = probe("stopper");
  Probe& stopper = *listener;
  stopper.in["after_save"] = [&] { stopper.stop_after_save = timeline.back() != "stopper.after_save 0"; };
  o.hooks.push_back(own_hook("stopper", std::move(listener)));
  MonitoredSession& s = open(std::move(o));
  EXPECT_FALSE(s.should_stop());
  run(2);
  EXPECT_TRUE(s.should_stop());
  s.close();  // at the end the run stops anyway
  EXPECT_EQ(saved(), (Steps{0, 2}));
}

TEST_P(CheckpointSaverConformance, CKPT_28_TheCheckpointIsThereWhenTheRunReturns) {
  TrainingSessionSetup o = saving({{"save_steps", n(1)}});
  auto after = probe("after");
  std::vector<Steps> in_after_run;
  after->in["after_run"] = [&] { in_after_run.push_back(saved()); };
  o.hooks.push_back(own_hook("after", std::move(after)));
  open(std::move(o));
  (*session)->run({program->train});
  if (mode == SaveMode::kAsync) (*session)->finish_save();
  EXPECT_EQ(saved(), (Steps{0, 1}));
  // At the step's boundary, which is after every hook's after_run.
  EXPECT_EQ(in_after_run, (std::vector<Steps>{{0}}));
}

TEST_P(CheckpointSaverConformance, CKPT_29_TheEventHasThePathWithoutTheStep) {
  open(saving({{"save_steps", n(10)}}));
  run();
  end();
  const std::string path = run_directory() + "/model.ckpt";
  EXPECT_EQ(events().checkpoints, (std::vector<std::string>{path, path}));
  EXPECT_EQ(events().sessions[pb::SessionLog::CHECKPOINT], (Steps{0, 1}));
}

TEST_P(CheckpointSaverConformance, LSTN_01_AListenersErrorIsAHooksErrorAndLaterListenersAreSkipped) {
  struct Case {
    const char* callback;
    Code code;
    std::string error;
  };
  const Case cases[] = {
      {"before_save", Code::kInternal, "INTERNAL: hook \"a\" in before_save at step 1: no"},
      {"after_save", Code::kInternal, "INTERNAL: hook \"a\" in after_save at step 1: no"},
      // Else an evaluation that runs out of input would end the training without a word.
      {"before_save", Code::kOutOfRange,
       "FAILED_PRECONDITION: hook \"a\" in before_save at step 1: no (OUT_OF_RANGE ends no run from here: only an "
       "input's "
       "next ends one with it; a value that is out of its range is INVALID_ARGUMENT)"},
      {"after_save", Code::kStop,
       "FAILED_PRECONDITION: hook \"a\" in after_save at step 1: no (STOP ends no run from here: before_run, after_run "
       "and "
       "an input's next end one with it; after_save can ask to stop)"},
  };
  for (const Case& c : cases) {
    new_program();
    timeline.clear();
    TrainingSessionSetup o = saving({{"save_steps", n(1)}});
    auto listener = probe("a");
    listener->in[c.callback] = [&] {
      if (timeline.back().ends_with(" 1")) fail(c.code, "no");
    };
    o.hooks.push_back(own_hook("a", std::move(listener)));
    o.hooks.push_back(own_hook("b", probe("b")));
    o.checkpoint_dir = temp / std::to_string(&c - cases);
    MonitoredSession& s = open(std::move(o));
    EXPECT_EQ(error_of([&] { s.scope([&] { run(3); }); }), c.error);
    EXPECT_EQ(told(std::string("b.") + c.callback), (Steps{0}));
    EXPECT_EQ(calls("b.end"), 0);
    EXPECT_EQ(calls("b.on_error"), 1);
  }
}

TEST_P(CheckpointSaverConformance, USER_08_BothPeriodsTogetherAndExactly) {
  open(saving({{"save_steps", n(4)}, {"save_secs", 10.0}}));
  run(8, 1);
  EXPECT_EQ(saved(), (Steps{0, 4, 8}));
  run(2, 5);  // ten seconds before four steps
  EXPECT_EQ(saved(), (Steps{0, 4, 8, 10}));
  run(4, 1);  // and the steps count from there
  EXPECT_EQ(saved(), (Steps{0, 4, 8, 10, 14}));
  end();
  EXPECT_EQ(saved(), (Steps{0, 4, 8, 10, 14}));
}

TEST_P(CheckpointSaverConformance, USER_09_TwoSaversOnOneDirectoryWriteNothingTwice) {
  // One that is named replaces the default one.
  TrainingSessionSetup o = listened({{"save_steps", n(2)}});
  o.checkpoint.save_steps = 1;
  open(std::move(o));
  run(2);
  end();
  EXPECT_EQ(told("a.after_save"), (Steps{0, 2}));
  // Two of them with different names save each step once.
  new_program();
  timeline.clear();
  TrainingSessionSetup two = listened({{"save_steps", n(2)}});
  two.hooks.push_back(plugin_hook("checkpoint_saver", {{"save_steps", n(3)}}, "another"));
  two.checkpoint_dir = temp / "two";
  open(std::move(two));
  run(7);
  end();
  EXPECT_EQ(told("a.after_save"), (Steps{0, 2, 3, 4, 6, 7}));
  // And two sessions cannot have one directory.
  new_program();
  open(bare());
  Trained other(*ops);
  EXPECT_THAT(error_of([&] { MonitoredTrainingSession(other.graph, bare()); }), ::testing::HasSubstr("in use"));
}

TEST_P(CheckpointSaverConformance, USER_21_CheckpointsOfAnEarlierAttemptAreAdopted) {
  const auto keeping_two = [&] {
    TrainingSessionSetup o = saving({{"save_steps", n(1)}});
    o.checkpoint.max_to_keep = 2;
    return o;
  };
  open(keeping_two());
  run(3);
  end();
  EXPECT_EQ(saved(), (Steps{2, 3}));
  new_program();
  open(keeping_two());
  run(1);
  EXPECT_EQ(saved(), (Steps{3, 4}));
  end();
  // 0 keeps all.
  new_program();
  TrainingSessionSetup all = saving({{"save_steps", n(1)}});
  all.checkpoint.max_to_keep = 0;
  open(std::move(all));
  run(3);
  end();
  EXPECT_EQ(saved(), (Steps{3, 4, 5, 6, 7}));
}

}  // namespace
}  // namespace belay::runtime::testing
