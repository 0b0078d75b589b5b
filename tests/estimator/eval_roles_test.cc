// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/evaluation/eval_roles.h"

#include <cmath>
#include <limits>

#include "runtime/monitored/layers/monitored_session.h"
#include "tests/estimator/evaluation_fixture.h"

namespace belay::runtime::testing {
namespace {

EvalResult result_of(std::int64_t step, double loss, double accuracy) {
  EvalResult result;
  result.global_step = step;
  result.metrics = {{"loss", loss}, {"accuracy", accuracy}};
  return result;
}

class EvalRolesTest : public EvaluationTest {
 protected:
  EvalRolesTest() {
    step = ops::create_global_step(g);
    train = ops::assign_add(step, ops::constant(g, Tensor(std::int64_t{1})));
    roles.add(graph, "eval", {"loss", "accuracy"});
    roles.add(graph, "eval_hard", {"loss", "accuracy"});
    add_made(EvalRoles::kHookName, roles.hook());
    Probe& probe = add_probe("probe");
    probe.ask = [this](RunContext& run) {
      const belay::Graph graph_of_run = run.session().graph();
      return RunArgs({graph_of_run.find("eval/accuracy"), graph_of_run.find("eval/global_step")});
    };
    probe.look = [this](RunContext&, const RunValues& values) {
      accuracies.push_back(values.result(0).scalar<double>());
      steps.push_back(values.result(1).scalar<std::int64_t>());
    };
  }
  double value(DirectSession& session, const std::string& name) {
    return session.handle().run({g.find(name)})[0].scalar<double>();
  }

  EvalRoles roles;
  Output step, train;
  std::vector<double> accuracies;
  std::vector<std::int64_t> steps;
};

TEST_F(EvalRolesTest, AHookFetchesTheValuesOfTheLastEvaluation) {
  SingularMonitoredSession session(graph, environment, hooks);
  session.scope([&] {
    session.run({train});
    roles.set(*session.raw_session(), "eval", result_of(1, 0.5, 0.75));
    roles.set(*session.raw_session(), "eval_hard", result_of(1, 2.5, 0.25));
    session.run({train});
    session.run({train});
    roles.set(*session.raw_session(), "eval", result_of(3, 0.25, 0.875));
    session.run({train});
    EXPECT_EQ(value(*session.raw_session(), "eval/loss"), 0.25);
    EXPECT_EQ(value(*session.raw_session(), "eval_hard/loss"), 2.5);
  });
  ASSERT_EQ(accuracies.size(), 4u);
  EXPECT_TRUE(std::isnan(accuracies[0]));
  EXPECT_EQ((std::vector<double>(accuracies.begin() + 1, accuracies.end())), (std::vector<double>{0.75, 0.75, 0.875}));
  EXPECT_EQ(steps, (std::vector<std::int64_t>{-1, 1, 1, 3}));
  EXPECT_EQ(roles.last_step(), 3);
}

TEST_F(EvalRolesTest, T_111_WhatIsShownForTheEndsOfHooksIsInNoState) {
  SingularMonitoredSession session(graph, environment, hooks);
  session.scope([&] {
    session.run({train});
    roles.set(*session.raw_session(), "eval", result_of(1, 0.5, 0.75));
    roles.show(*session.raw_session(), "eval", result_of(2, 0.25, 0.875));
    EXPECT_EQ(value(*session.raw_session(), "eval/loss"), 0.25);
    EXPECT_EQ(value(*session.raw_session(), "eval/accuracy"), 0.875);
  });
  EXPECT_EQ(roles.last_step(), 1);
}

TEST_F(EvalRolesTest, SettingThemBuildsNoPlan) {
  SingularMonitoredSession session(graph, environment, hooks);
  session.scope([&] {
    for (int i = 0; i < 3; ++i) session.run({train});
    const std::uint64_t plans = session.raw_session()->plan_stats().plans_built;
    roles.set(*session.raw_session(), "eval", result_of(3, 0.5, 0.75));
    session.run({train});
    EXPECT_EQ(session.raw_session()->plan_stats().plans_built, plans);
  });
}

TEST_F(EvalRolesTest, NoCheckpointHasTheVariables) {
  SingularMonitoredSession session(graph, environment, hooks);
  EXPECT_EQ(session.raw_session()->variables().size(), 1u);
  EXPECT_EQ(session.raw_session()->variables()[0]->name, "global_step");
  session.close();
}

TEST_F(EvalRolesTest, TheStateBringsThemIntoTheNextSession) {
  {
    SingularMonitoredSession session(graph, environment, hooks);
    session.scope([&] {
      session.run({train});
      roles.set(*session.raw_session(), "eval", result_of(1, std::numeric_limits<double>::infinity(), NAN));
    });
  }
  const std::map<std::string, HookState> states = hooks.save_states();
  EXPECT_EQ(states.count(EvalRoles::kHookName), 1u);
  hooks.load_states({}, *log);
  EXPECT_EQ(roles.last_step(), -1);
  hooks.load_states(states, *log);
  EXPECT_EQ(roles.last_step(), 1);
  ScaffoldOptions pieces;
  pieces.host_init = [](const SessionScaffold&, DirectSession& s) {
    s.store().assign("global_step", TensorView(Tensor(std::int64_t{1}).view()));
  };
  SingularMonitoredSession session(graph, environment, hooks, {.scaffold = std::make_shared<SessionScaffold>(pieces)});
  session.scope([&] {
    EXPECT_EQ(value(*session.raw_session(), "eval/loss"), std::numeric_limits<double>::infinity());
    EXPECT_TRUE(std::isnan(value(*session.raw_session(), "eval/accuracy")));
    EXPECT_TRUE(std::isnan(value(*session.raw_session(), "eval_hard/loss")));
  });
}

TEST_F(EvalRolesTest, ASessionThatBeginsAnewForgetsThem) {
  {
    SingularMonitoredSession session(graph, environment, hooks);
    session.scope([&] {
      session.run({train});
      roles.set(*session.raw_session(), "eval", result_of(1, 0.5, 0.5));
    });
  }
  SingularMonitoredSession session(graph, environment, hooks);  // at step 0
  EXPECT_EQ(roles.last_step(), -1);
  EXPECT_TRUE(std::isnan(value(*session.raw_session(), "eval/loss")));
  session.close();
}

TEST_F(EvalRolesTest, ARoleThatTheModelHasIsRefused) {
  NodeGraph other(*ops);
  other.set_role("eval/loss", other.resolve(ops::create_global_step(other.handle()).raw()));
  EvalRoles fresh;
  EXPECT_EQ(
      error_of([&] { fresh.add(other, "eval", {"loss"}); }),
      "INVALID_ARGUMENT: [B5039] the model has a role 'eval/loss' already, which is the metric 'loss' of [input.eval]; "
      "give the model's another name");
}

}  // namespace
}  // namespace belay::runtime::testing
