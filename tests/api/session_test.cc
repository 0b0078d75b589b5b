// SPDX-License-Identifier: Apache-2.0
#include <belay/ops/queues.h>
#include <belay/ops/training.h>
#include <belay/runtime/session.h>

#include <atomic>
#include <map>
#include <string>
#include <type_traits>

#include "tests/api/program.h"

namespace belay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

class OwnedSessionTest : public ProgramTest {};

TEST_F(OwnedSessionTest, VariablesHaveTheirInitialValuesBehindTheInitializer) {
  OwnedGraph graph;
  const Output count = ops::variable(graph, "count", Tensor(4.0f));
  const Output more = ops::assign_add(count, ops::constant(graph, Tensor(1.0f)));
  const Output init = graph.global_variables_initializer();
  OwnedSession session(graph);
  EXPECT_THAT(error_of([&] { session.run({more}); }), HasSubstr("count")) << "nothing is initialized by itself";
  session.run({init});
  EXPECT_EQ(session.run({more})[0].scalar<float>(), 5.0f);
  EXPECT_EQ(session.variables().size(), 1u);
}

TEST_F(OwnedSessionTest, T_139_AMapOfFetchesGivesAMapOfValues) {
  OwnedGraph graph;
  const Output one = ops::constant(graph, Tensor(1.0f));
  const Output x = ops::placeholder(graph, DType::kFloat32, {}, "x");
  const Output sum = one + x;
  OwnedSession session(graph);
  const NamedResult values = session.run({{"sum", sum}, {"one", one}, {"ran", one.operation()}}, {{x, Tensor(2.0f)}});
  EXPECT_EQ(values.size(), 3u);
  EXPECT_THAT(values.names(), ElementsAre("one", "ran", "sum"));
  EXPECT_EQ(values["sum"].scalar<float>(), 3.0f);
  EXPECT_EQ(values["one"].scalar<float>(), 1.0f);
  EXPECT_FALSE(values["ran"].has_value());
  EXPECT_THAT(error_of([&] { values["sun"]; }),
              AllOf(HasSubstr("INVALID_ARGUMENT: the run fetched nothing as 'sun'"), HasSubstr("\"sum\"")));

  const std::map<std::string, Output> fetches{{"one", one}};
  EXPECT_EQ(session.run(fetches)["one"].scalar<float>(), 1.0f);
  EXPECT_EQ(session.run({one, sum}, {{x, Tensor(2.0f)}})[1].scalar<float>(), 3.0f) << "a list is one as before";
  static_assert(std::is_same_v<decltype(session.run({})), RunResult>);
}

TEST_F(OwnedSessionTest, RefusesRunsBehindItsClose) {
  OwnedGraph graph;
  const Output one = ops::constant(graph, Tensor(1.0f));
  OwnedSession session(graph);
  session.close();
  EXPECT_TRUE(session.closed());
  EXPECT_NE(error_of([&] { session.run({one}); }), "");
}

TEST_F(OwnedSessionTest, QueueRunnersFillAQueueUntilTheCoordinatorStops) {
  OwnedGraph graph;
  const ops::QueueRef queue = ops::fifo_queue(graph, 2, {{DType::kFloat32, {}}});
  add_queue_runner(graph, {.queue = queue, .enqueue_ops = {ops::enqueue(queue, {ops::constant(graph, Tensor(7.0f))})}});
  const Output next = ops::dequeue(queue)[0];
  OwnedSession session(graph);
  OwnedCoordinator coordinator;
  session.start_queue_runners(coordinator);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(session.run({next})[0].scalar<float>(), 7.0f);
  coordinator.request_stop("enough");
  EXPECT_THAT(coordinator.join(), ElementsAre());
  EXPECT_EQ(coordinator.stop_reason(), "enough");
}

TEST(OwnedCoordinatorTest, JoinThrowsWhatAThreadFailedWith) {
  OwnedCoordinator coordinator;
  coordinator.start_thread("loader", [] { fail(Code::kDataLoss, "torn"); });
  EXPECT_THAT(error_of([&] { coordinator.join(); }), HasSubstr("DATA_LOSS: torn"));
  EXPECT_EQ(coordinator.requested_exception()->code(), Code::kDataLoss);
  coordinator.clear_stop();
  EXPECT_FALSE(coordinator.should_stop());
}

TEST(OwnedCoordinatorTest, AnEndOfInputOnlyStops) {
  OwnedCoordinator coordinator;
  coordinator.stop_on_exception([] { fail(Code::kOutOfRange, "the end"); });
  EXPECT_TRUE(coordinator.should_stop());
  EXPECT_EQ(error_of([&] { coordinator.join(); }), "");
}

TEST(OwnedCoordinatorTest, ALoopIsCalledUntilTheStop) {
  OwnedCoordinator coordinator;
  std::atomic<int> calls = 0;
  coordinator.loop(0, [&] {
    if (++calls == 3) coordinator.request_stop("three");
  });
  coordinator.join();
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace belay
