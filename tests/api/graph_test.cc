// SPDX-License-Identifier: Apache-2.0
#include <belay/ops/matmul.h>
#include <belay/runtime/default_graph.h>
#include <belay/runtime/session.h>

#include <thread>

#include "tests/api/program.h"

extern "C" {
extern const belay_module belay_module_mish;
}

namespace belay {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

class OwnedGraphTest : public ProgramTest {};

TEST_F(OwnedGraphTest, HasTheOperationsOfItsPlugins) {
  OwnedGraph graph({&belay_module_mish});
  const Output y = graph.node("Mish").in(ops::constant(graph, Tensor(0.0f))).output();
  OwnedSession session(graph);
  EXPECT_EQ(session.run({y})[0].scalar<float>(), 0.0f);

  OwnedGraph without;
  EXPECT_THAT(error_of([&] { without.node("Mish").in(ops::constant(without, Tensor(0.0f))).output(); }),
              HasSubstr("Mish"));
}

TEST_F(OwnedGraphTest, MinimizesByAnOptimizerAndAScheduleWithTheirNames) {
  OwnedGraph graph(default_plugins());
  const Output train = line(graph, {.name = "momentum",
                                    .learning_rate = {.schedule = "exponential_decay",
                                                      .learning_rate = 0.1,
                                                      .options = {{"decay_steps", 10}, {"decay_rate", 0.5}}},
                                    .options = {{"momentum", 0.5}}});
  MonitoredTrainingSession session(graph, options());
  session.scope([&] {
    for (int i = 0; i < 3; ++i) session.run({train});
    EXPECT_EQ(session.session().global_step(), 3);
  });
  EXPECT_TRUE(graph.find_if_exists("weight/Momentum")) << "the optimizer's slot";
}

TEST_F(OwnedGraphTest, AnOptimizerThatItsPluginsHaveNotIsNamed) {
  OwnedGraph graph(default_plugins());
  EXPECT_THAT(error_of([&] { line(graph, {.name = "adamm"}); }), HasSubstr("NOT_FOUND"));
  OwnedGraph bare;
  EXPECT_THAT(error_of([&] { line(bare); }), HasSubstr("sgd"));
}

TEST_F(OwnedGraphTest, ARoleIsAnotherNameOfAnOutput) {
  OwnedGraph graph;
  const Output one = ops::constant(graph, Tensor(1.0f), "one");
  graph.set_role("loss", one);
  EXPECT_EQ(graph.find("loss"), one);
}

TEST_F(OwnedGraphTest, IsFrozenAsLongAsASessionLives) {
  OwnedGraph graph;
  const Output one = ops::constant(graph, Tensor(1.0f));
  {
    OwnedSession session(graph);
    EXPECT_THAT(error_of([&] { ops::constant(graph, Tensor(2.0f)); }), HasSubstr("FAILED_PRECONDITION"));
  }
  const Output three = one + 2.0;
  OwnedSession session(graph);
  EXPECT_EQ(session.run({three})[0].scalar<float>(), 3.0f);
}

TEST_F(OwnedGraphTest, T_139_OperationsWithoutAGraphGoToTheInnermostDefaultGraph) {
  OwnedGraph outer(default_plugins()), inner;
  {
    const DefaultGraph scope(outer);
    const Output a = ops::constant(Tensor(1.0f), "a");
    EXPECT_EQ(default_graph().serial(), outer.serial());
    EXPECT_EQ(a.graph().serial(), outer.serial());
    {
      const DefaultGraph nested(inner);
      const Output b = ops::variable("b", Tensor(2.0f));
      EXPECT_EQ(b.graph().serial(), inner.serial());
      const Output named = ops::constant(outer, Tensor(3.0f), "named");
      EXPECT_EQ(named.graph().serial(), outer.serial()) << "a graph that is given wins";
    }
    EXPECT_EQ(ops::zeros({2}).graph().serial(), outer.serial());
  }
  EXPECT_TRUE(outer.find_if_exists("a"));
  EXPECT_TRUE(inner.find_if_exists("b"));
  EXPECT_FALSE(outer.find_if_exists("b"));
}

TEST_F(OwnedGraphTest, T_139_AModelIsBuiltAndTrainedInADefaultGraph) {
  OwnedGraph graph(default_plugins());
  Output loss;
  {
    const DefaultGraph scope(graph);
    const auto name = default_graph().scope("line");
    const Output x = ops::random_uniform({8, 2}, -1, 1);
    const Output y = ops::matmul(x, ops::variable("w", ops::glorot_uniform({2, 1})));
    loss = ops::reduce_mean(ops::square(y - ops::fill({8, 1}, 0.5)));
  }
  EXPECT_TRUE(graph.find_if_exists("line/w"));
  const Output train = graph.minimize(loss);
  MonitoredTrainingSession session(graph, options());
  session.scope([&] { session.run({train}); });
  EXPECT_EQ(session.global_step(), 1);
}

TEST_F(OwnedGraphTest, T_139_AQueueAndItsRunnerAreMadeInADefaultGraph) {
  OwnedGraph graph;
  const DefaultGraph scope(graph);
  const ops::QueueRef queue = ops::fifo_queue(2, {{DType::kFloat32, {}}});
  add_queue_runner({.queue = queue, .enqueue_ops = {ops::enqueue(queue, {ops::constant(Tensor(7.0f))})}});
  const Output next = ops::dequeue(queue)[0];
  OwnedSession session(graph);
  OwnedCoordinator coordinator;
  session.start_queue_runners(coordinator);
  EXPECT_EQ(session.run({next})[0].scalar<float>(), 7.0f);
  coordinator.request_stop("enough");
  coordinator.join();
}

TEST_F(OwnedGraphTest, T_139_WithoutADefaultGraphTheErrorSaysWhatToDo) {
  const std::string none = error_of([] { ops::constant(Tensor(1.0f)); });
  EXPECT_THAT(none, HasSubstr("FAILED_PRECONDITION: this thread has no default graph"));
  EXPECT_THAT(none, HasSubstr("belay::DefaultGraph"));
  EXPECT_THAT(error_of([] { const DefaultGraph scope{Graph()}; }), HasSubstr("INVALID_ARGUMENT"));

  OwnedGraph graph;
  const DefaultGraph scope(graph);
  std::string of_another_thread;
  std::thread([&] { of_another_thread = error_of([] { default_graph(); }); }).join();
  EXPECT_THAT(of_another_thread, HasSubstr("no default graph")) << "a scope is its thread's";
  EXPECT_EQ(default_graph().serial(), graph.serial());
}

}  // namespace
}  // namespace belay
