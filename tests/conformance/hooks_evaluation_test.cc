// SPDX-License-Identifier: Apache-2.0
// Users asked listeners for these: evaluating inside training, and saving only a better result.
#include "belay/checkpoint.h"
#include "tests/conformance/hooks_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;

// Evaluates the weights to be saved, in a separate graph and store, and refuses them if they are no better than the
// best so far.
class SaveTheBest final : public Hook {
 public:
  SaveTheBest(const OpRegistry& ops, const RunEnvironment& environment) : environment_(environment), graph_(ops) {
    const belay::Graph g = graph_.handle();
    weight_ = ops::variable(g, "weight", Tensor(0.0f));
    distance_ = ops::square(ops::sub(weight_, ops::constant(g, Tensor(2.0f))));
  }

  void before_save(Session& session, std::int64_t) override {
    const float trained = session.value(Fetch<float>(session.graph().find("weight")));
    const float loss = evaluate(trained);
    losses.push_back(loss);
    if (best_ && loss >= *best_) skip_checkpoint("a loss of " + std::to_string(loss) + " is no better");
    best_ = loss;
  }
  std::vector<float> losses;

 private:
  float evaluate(float trained) {
    ScaffoldOptions pieces;
    pieces.host_init = [&](const SessionScaffold&, DirectSession& made) {
      made.handle().assign("weight", Tensor(trained));
    };
    HookSet none;
    SingularMonitoredSession session(graph_, environment_, none,
                                     {.scaffold = std::make_shared<SessionScaffold>(std::move(pieces))});
    return session.run({distance_})[0].scalar<float>();
  }

  const RunEnvironment& environment_;
  NodeGraph graph_;
  Output weight_, distance_;
  std::optional<float> best_;
};

class EvaluationConformance : public HookConformance {
 protected:
  StoreTargets targets;
  CancellationSource interrupt;
  const RunEnvironment environment{clock,   log,       posix_file_system(),
                                   targets, interrupt, DirectSessionOptions{{1, 42}, {}, &clock}};
};

TEST_F(EvaluationConformance, USER_04_EvaluatingInsideTrainingAndSavingOnlyWhatIsBetter) {
  TrainingSessionSetup o = with("checkpoint_saver", {{"save_steps", n(1)}});
  auto hook = std::make_unique<SaveTheBest>(*ops, environment);
  const SaveTheBest& best = *hook;
  o.hooks.push_back(own_hook("best", std::move(hook)));
  o.hooks.push_back(own_hook("after", probe("after")));
  open(std::move(o));
  run(4);  // the weight goes from 1 over 2 to 3
  EXPECT_THAT(best.losses, ElementsAre(1, 0.25, 0, 0.25, 1));
  EXPECT_EQ((*session)->raw_session()->handle().value(Fetch<float>(program->weight)), 3.0f);
  (*session)->close();
  EXPECT_EQ(saved(), (Steps{0, 1, 2}));
  Timeline saves;
  for (const std::string& call : timeline)
    if (call.starts_with("after.after_save")) saves.push_back(call);
  EXPECT_THAT(saves, ElementsAre("after.after_save 0", "after.after_save 1", "after.after_save 2"));
  EXPECT_THAT(log.of(""),
              ::testing::Contains("no checkpoint of step 3: hook \"best\" in before_save at step 3: a loss of "
                                  "0.250000 is no better"));
}

}  // namespace
}  // namespace belay::runtime::testing
