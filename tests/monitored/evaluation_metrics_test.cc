// SPDX-License-Identifier: Apache-2.0
// Hooks that watch metrics of the evaluation, in a session of the engine: local variables of the training graph under
// the roles eval/..., which the host writes between two runs.
#include <gmock/gmock.h>

#include <limits>

#include "tests/monitored/saved_session.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;

class EvaluationMetrics : public SavedSession {
 protected:
  EvaluationMetrics() {
    const auto scope = g.scope("eval");
    add_role("eval/loss", Tensor(std::numeric_limits<double>::quiet_NaN()));
    add_role("eval/global_step", Tensor(std::int64_t{-1}));
  }
  void evaluated(std::int64_t at, double loss) {
    write("eval/loss", loss);
    write("eval/global_step", at);
  }
  void train_to(std::int64_t last) {
    while (!session().should_stop() && session().global_step() < last) train();
  }

 private:
  void add_role(const std::string& role, const Tensor& initial) {
    const Output v = ops::variable(g, role.substr(role.find('/') + 1), initial, ops::VariableKind::kLocal);
    graph.set_role(role, graph.resolve(v.raw()));
  }
  template <class T>
  void write(const std::string& role, T value) {
    DirectSession& raw = *session().raw_session();
    Variable& v = raw.variable(graph.node(graph.roles().at(role).node));
    const std::unique_lock gate(raw.store().gate());
    *v.value.data<T>() = value;
    ++v.version;
  }
};

TEST_F(EvaluationMetrics, EarlyStoppingSeesAnEvaluationInTheRunBehindIt) {
  add_plugin("early_stopping", {{"tensor", std::string("eval/loss")}, {"patience", std::int64_t{1}}});
  open();
  train_to(3);
  evaluated(3, .5);
  train_to(6);
  evaluated(6, .4);
  train_to(9);
  EXPECT_FALSE(session().should_stop());
  evaluated(9, .4);
  train_to(20);
  EXPECT_EQ(session().global_step(), 10);
  session().close();
  EXPECT_THAT(session().end_reason().text,
              HasSubstr("early_stopping: 'eval/loss' has not improved for 1 evaluation; best 0.4 at step 6"));
}

TEST_F(EvaluationMetrics, ARunThatIsKilledAndGoesOnStopsAtTheSameStep) {
  add_plugin("early_stopping", {{"tensor", std::string("eval/loss")}, {"patience_steps", std::int64_t{6}}});
  add_plugin("checkpoint_saver", {{"save_steps", std::int64_t{4}}});
  open();
  train_to(3);
  evaluated(3, .5);
  train_to(7);
  drop();  // the newest checkpoint is of step 4, or a later one; the evaluation has been seen
  open();
  evaluated(3, .5);  // the host puts it back
  train_to(9);
  EXPECT_FALSE(session().should_stop());
  evaluated(9, .6);
  train_to(20);
  EXPECT_EQ(session().global_step(), 10);
}

}  // namespace
}  // namespace belay::runtime::testing
