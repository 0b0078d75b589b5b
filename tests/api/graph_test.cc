// SPDX-License-Identifier: Apache-2.0
#include <belay/runtime/session.h>

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

}  // namespace
}  // namespace belay
