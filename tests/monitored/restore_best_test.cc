// SPDX-License-Identifier: Apache-2.0
// The plugin restore_best in a session that saves: the content of the last checkpoint then, and a run that continues
// from it.
#include <gmock/gmock.h>

#include "tests/monitored/saved_session.h"

extern "C" const belay_module belay_module_restore_best;

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;

// A host that knows the run's directory; the instances that use it are the session's.
struct HostOfTheRun {
  std::unique_ptr<HostServices> host;
};

// Each step adds 1 to the weight.
class RestoreBestSession : HostOfTheRun, public SavedSession {
 protected:
  RestoreBestSession() {
    add_plugin("checkpoint_saver", {{"save_steps", std::int64_t{1000}}});
    host = std::make_unique<HostServices>(*log, clock, run.path(), 42);
    add_session_services(*host);
    host->set_context(&environment);
    registry.add_linked(&belay_module_restore_best);
    const RegisteredPlugin* plugin = registry.find(PluginKind::kHook, "restore_best", "");
    ResolvedPlugin resolved;
    resolved.info = plugin->info;
    resolved.instance_name = "restore_best";
    hooks.add(SessionHook(instances.create(*plugin, resolved, *host, monitor), *log));
    saving.checkpoint.max_to_keep = 1;
    saving.checkpoint.keep_best = 2;
  }
  void begin() {
    open();
    host->set_context(&saver());
    host->set_context(&reading);
  }
  void train_to(std::int64_t last) {
    while (session().global_step() < last) session().run({add_, train_op});
  }
  void evaluate(std::int64_t at, double value) {
    saver().note_evaluation(at, value);
    saver().at_boundary(*session().raw_session(), hooks);
  }
  float weight() { return session().run({weight_})[0].scalar<float>(); }
  std::vector<std::int64_t> best() {
    std::vector<std::int64_t> steps;
    for (const BestCheckpoint& c : best_checkpoints(run.directory())) steps.push_back(c.step);
    return steps;
  }

 private:
  const Output weight_ = ops::variable(g, "weight", Tensor(0.0f));
  const Output add_ = ops::assign_add(weight_, ops::constant(g, Tensor(1.0f), "a_step"), "add");
};

TEST_F(RestoreBestSession, TheLastCheckpointHasTheBestWeightsAndTheLastStep) {
  begin();
  train_to(2);
  evaluate(2, .1);
  train_to(4);
  evaluate(4, .3);
  train_to(5);
  session().close();
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-2", "model.ckpt-4", "model.ckpt-5"));
  EXPECT_EQ(saver().saved_step(), 5);
  begin();
  EXPECT_EQ(session().global_step(), 5);
  EXPECT_EQ(weight(), 2);
  EXPECT_THAT(best(), ElementsAre(2, 4));
}

TEST_F(RestoreBestSession, AStepThatWasEvaluatedAndIsSavedWithTheBestWeightsIsNoLongerListed) {
  begin();
  train_to(2);
  evaluate(2, .1);
  train_to(4);
  evaluate(4, .3);
  EXPECT_THAT(best(), ElementsAre(2, 4));
  session().close();
  EXPECT_THAT(best(), ElementsAre(2));
  begin();
  EXPECT_EQ(session().global_step(), 4);
  EXPECT_EQ(weight(), 2);
}

TEST_F(RestoreBestSession, ARunThatWasKilledAndGoesOnRestoresTheSame) {
  begin();
  train_to(2);
  evaluate(2, .1);
  train_to(3);
  drop();  // killed
  begin();
  EXPECT_EQ(session().global_step(), 2);
  train_to(4);
  evaluate(4, .3);
  session().close();
  begin();
  EXPECT_EQ(weight(), 2);
  EXPECT_EQ(session().global_step(), 4);
}

}  // namespace
}  // namespace belay::runtime::testing
