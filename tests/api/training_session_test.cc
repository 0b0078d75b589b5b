// SPDX-License-Identifier: Apache-2.0
#include <belay/ops/training.h>
#include <belay/plugin.h>

#include <filesystem>
#include <memory>
#include <utility>

#include "tests/api/program.h"

// The dynamic linker's memory for threads that have ended is not looked at. After tests with many threads and plugins
// the leak checker of g++ 12 itself crashes there.  [LeakSanitizer]
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_options() {  // NOLINT
  return "use_ld_allocations=0";
}

namespace belay {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;

// Counts its calls in the program.
class Counter final : public Hook {
 public:
  explicit Counter(int& runs) : runs_(runs) {}
  void after_run(RunContext&, const RunValues&) override { ++runs_; }

 private:
  int& runs_;
};

class TrainingSession : public ProgramTest {
 protected:
  OwnedGraph graph{default_plugins()};
};

TEST_F(TrainingSession, GoesOnFromTheCheckpointOfTheProgramBefore) {
  EXPECT_EQ(train_to("run", 5), 5);
  EXPECT_EQ(train_to("run", 8), 8);
  EXPECT_THAT(log, HasSubstr("restored step 5"));

  line(graph);
  MonitoredTrainingSession session(graph, options("run"));
  EXPECT_TRUE(session.restored());
  EXPECT_THAT(session.checkpoint(), HasSubstr("model.ckpt-8"));
  session.close();
}

TEST_F(TrainingSession, T_139_ASessionBeginsWithExactlyTheCheckpointThatItIsGiven) {
  train_to("run", 3);
  train_to("run", 5);
  const Output train = line(graph);
  const std::string exact = temp / "run/model.ckpt-3";
  TrainingSessionOptions o = options();
  o.checkpoint_filename_with_path = exact;
  MonitoredTrainingSession session(graph, o);
  EXPECT_TRUE(session.restored());
  EXPECT_EQ(session.global_step(), 3) << "not the newest";
  EXPECT_EQ(session.checkpoint(), exact);
  session.run({train});
  EXPECT_EQ(session.global_step(), 4);
  EXPECT_THAT(error_of([&] { session.save(); }), HasSubstr("FAILED_PRECONDITION"));
  session.close();
  EXPECT_FALSE(std::filesystem::exists(temp / "run/model.ckpt-4")) << "nothing is saved";
}

TEST_F(TrainingSession, T_139_SoDoesASingularSessionAlsoFromOneFile) {
  train_to("run", 3);
  line(graph);
  for (const char* exact : {"run/model.ckpt-3", "run/model.ckpt-3/model.safetensors"}) {
    SingularSessionOptions o{.checkpoint_filename_with_path = temp / exact, .threads = 1};
    o.log = log_options();
    SingularMonitoredSession session(graph, o);
    EXPECT_TRUE(session.restored()) << exact;
    EXPECT_EQ(session.global_step(), 3) << exact;
    session.close();
  }
}

TEST_F(TrainingSession, T_139_ARecoveryBeginsWithTheExactCheckpointAgain) {
  train_to("run", 3);
  const Output train = line(graph);
  TrainingSessionOptions o = options();
  o.checkpoint_filename_with_path = temp / "run/model.ckpt-3";
  o.session.recovery_backoff_secs = 0;
  MonitoredTrainingSession session(graph, o);
  session.run({train});
  int calls = 0;
  session.run_step_fn([&](StepContext& context) {
    if (++calls == 1) fail(Code::kAborted, "a worker went away");
    EXPECT_EQ(context.session().global_step(), 3);
  });
  EXPECT_EQ(calls, 2);
  session.close();
}

TEST_F(TrainingSession, T_139_ADirectoryAndAnExactCheckpointTogetherAreAnErrorBeforeAnythingIsMade) {
  line(graph);
  TrainingSessionOptions o = options("new");
  o.checkpoint_filename_with_path = temp / "run/model.ckpt-3";
  EXPECT_EQ(error_of([&] { MonitoredTrainingSession(graph, o); }),
            "INVALID_ARGUMENT: [B5088] Can not provide both checkpoint_dir ('" + (temp / "new") +
                "') and checkpoint_filename_with_path ('" + (temp / "run/model.ckpt-3") + "')");
  EXPECT_FALSE(std::filesystem::exists(temp / "new"));
}

TEST_F(TrainingSession, T_139_AnExactCheckpointThatIsNotThereOrDoesNotFitIsNamed) {
  train_to("run", 3);
  line(graph);
  ops::variable(graph, "other", Tensor(0.0f));
  TrainingSessionOptions o = options();
  o.checkpoint_filename_with_path = temp / "run/model.ckpt-4";
  EXPECT_THAT(error_of([&] { MonitoredTrainingSession(graph, o); }),
              AllOf(HasSubstr("NOT_FOUND"), HasSubstr("run/model.ckpt-4")));
  o.checkpoint_filename_with_path = temp / "run/model.ckpt-3";
  EXPECT_THAT(error_of([&] { MonitoredTrainingSession(graph, o); }),
              AllOf(HasSubstr("run/model.ckpt-3"), HasSubstr("missing"), HasSubstr("other")));
}

TEST_F(TrainingSession, ResultsAreReadByPlaceAndByFetch) {
  line(graph);
  const auto loss = graph.fetch<float>("loss");
  const Output weight = graph.find("weight");
  MonitoredTrainingSession session(graph, options());
  const RunResult values = session.run({loss, weight});
  EXPECT_EQ(values.size(), 2u);
  EXPECT_GT(values[loss], 0.0f);
  EXPECT_EQ(values[1].scalar<float>(), 0.0f);
  EXPECT_THAT(error_of([&] { values[2]; }), HasSubstr("[B5074] the run has 2 results, there is no result 2"));
  session.close();
}

TEST_F(TrainingSession, T_139_FetchesOfAllRunsMayHaveNames) {
  int runs = 0;
  const Output train = line(graph);
  const auto loss = graph.fetch<float>("loss");
  const Output weight = graph.find("weight"), doubled = weight * 2.0;
  TrainingSessionOptions o = options();
  o.hooks.push_back(own_hook("counter", std::make_unique<Counter>(runs)));
  MonitoredTrainingSession session(graph, o);
  const NamedResult step = session.run({{"train", train}, {"loss", loss}, {"before", weight}});
  EXPECT_GT(step["loss"].scalar<float>(), 0.0f);
  EXPECT_EQ(step["before"].scalar<float>(), 0.0f);
  EXPECT_FALSE(step["train"].has_value());
  const NamedResult quiet = session.run_without_hooks({{"doubled", doubled}}, {{weight, Tensor(4.0f)}});
  EXPECT_EQ(quiet["doubled"].scalar<float>(), 8.0f);
  EXPECT_EQ(runs, 1);
  session.run_step_fn([&](StepContext& context) {
    EXPECT_GT(context.run_with_hooks({{"loss", loss}})["loss"].scalar<float>(), 0.0f);
  });
  EXPECT_EQ(runs, 2);
  session.close();
}

TEST_F(TrainingSession, RunsWithAndWithoutHooksAndWithFeeds) {
  int runs = 0;
  const Output train = line(graph);
  const Output weight = graph.find("weight"), doubled = weight * 2.0;
  TrainingSessionOptions o = options();
  o.hooks.push_back(own_hook("counter", std::make_unique<Counter>(runs)));
  MonitoredTrainingSession session(graph, o);
  session.run({train});
  session.run_without_hooks({train});
  EXPECT_EQ(session.run({doubled}, {{weight, Tensor(4.0f)}})[0].scalar<float>(), 8.0f);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(session.session().global_step(), 2);
  session.close();
  EXPECT_TRUE(session.closed());
  EXPECT_EQ(session.end_reason().kind, EndReason::Kind::kClosed);
  EXPECT_THAT(error_of([&] { session.session(); }), HasSubstr("FAILED_PRECONDITION"));
}

TEST_F(TrainingSession, AStepFunctionReturnsAValueAndIsRepeatedBehindAPreemption) {
  int runs = 0, calls = 0;
  const Output train = line(graph);
  TrainingSessionOptions o = options("run");
  o.session.recovery_backoff_secs = 0;
  o.hooks.push_back(own_hook("counter", std::make_unique<Counter>(runs)));
  MonitoredTrainingSession session(graph, o);
  const std::int64_t step = session.run_step_fn([&](StepContext& context) -> std::int64_t {
    context.run_with_hooks({train});
    if (++calls == 1) fail(Code::kAborted, "a worker went away");
    return context.session().global_step().value();
  });
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(session.recoveries(), 1);
  EXPECT_EQ(step, 1) << "the first call's step was lost with its session";
  EXPECT_EQ(runs, 2);

  session.scope([&] { session.run_step_fn([](StepContext& context) { context.request_stop("it is enough"); }); });
  EXPECT_EQ(session.end_reason().text, "it is enough");
}

TEST_F(TrainingSession, TheScaffoldsInitFunctionSetsVariables) {
  line(graph);
  TrainingSessionOptions o = options();
  o.scaffold.init_fn = [](Session& session) { session.assign("weight", Tensor(9.0f).view()); };
  MonitoredTrainingSession session(graph, o);
  EXPECT_EQ(session.run({graph.find("weight")})[0].scalar<float>(), 9.0f);
  session.close();
}

TEST_F(TrainingSession, AnErrorLeavesTheScopeAndNothingIsSaved) {
  const Output train = line(graph);
  MonitoredTrainingSession session(graph, options("run"));
  EXPECT_EQ(error_of([&] {
              session.scope([&] {
                session.run({train});
                fail(Code::kInternal, "broken");
              });
            }),
            "INTERNAL: broken");
  EXPECT_EQ(session.end_reason().kind, EndReason::Kind::kError);
  EXPECT_THAT(session.checkpoint(), HasSubstr("model.ckpt-0")) << "that of the start";
}

TEST_F(TrainingSession, SavesWhenItIsAsked) {
  const Output train = line(graph);
  MonitoredTrainingSession session(graph, options("run"));
  session.run({train});
  EXPECT_EQ(session.save(), temp / "run/model.ckpt-1");
  session.close();
}

TEST_F(TrainingSession, ASingularSessionHasTheProgramsHooksAloneAndDoesNotRecover) {
  train_to("run", 3);
  int runs = 0;
  const Output train = line(graph);
  SingularSessionOptions o{.checkpoint_dir = temp / "run", .threads = 1};
  o.log = log_options();
  log.clear();
  o.hooks.push_back(own_hook("counter", std::make_unique<Counter>(runs)));
  SingularMonitoredSession session(graph, o);
  EXPECT_TRUE(session.restored());
  EXPECT_EQ(error_of([&] {
              session.scope([&] {
                session.run({train});
                session.run_step_fn([](StepContext&) { fail(Code::kAborted, "a worker went away"); });
              });
            }),
            "ABORTED: a worker went away");
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(session.recoveries(), 0);
  EXPECT_THAT(session.checkpoint(), HasSubstr("model.ckpt-3")) << "nothing was saved";
  EXPECT_THAT(log, ::testing::Not(HasSubstr("global_step/sec")));
}

TEST_F(TrainingSession, SessionsOfOneTargetShareTheChiefsVariables) {
  OwnedGraph workers_graph(default_plugins());
  const Output train = line(graph);
  line(workers_graph);
  TrainingSessionOptions o = options();
  o.target = "local:api_test";
  MonitoredTrainingSession chief(graph, o);
  o.is_chief = false;
  MonitoredTrainingSession worker(workers_graph, o);
  chief.run({train});
  EXPECT_EQ(worker.session().global_step(), 1);
  worker.close();
  chief.close();
}

}  // namespace
}  // namespace belay
