// SPDX-License-Identifier: Apache-2.0
// Events that end the making of a session that waits for something.
#include "runtime/monitored/saving/session_manager.h"

#include <gmock/gmock.h>

#include "tests/monitored/monitored_fixture.h"

namespace belay::runtime::testing {
namespace {

// Before the operation begins or while it waits.
const auto kStopped = ::testing::AllOf(::testing::StartsWith("CANCELLED: "), ::testing::EndsWith("stopped by SIGINT"));

class SessionCreation : public MonitoredTest {
 protected:
  // An operation that waits for an element of a queue that nothing fills.
  Output waits() {
    const ops::QueueRef queue = ops::fifo_queue(g, 1, {{DType::kFloat32, {}}}, "q");
    return ops::group(g, {ops::dequeue(queue)[0]}, "waits");
  }
  std::string error_with(SessionManagerOptions options, const PrepareArgs& args) {
    graph.finalize();
    SessionManager manager(graph, environment, std::move(options));
    return error_of([&] { manager.prepare_session(args); });
  }
};

TEST_F(SessionCreation, AnInterruptEndsAnInitOperationThatWaits) {
  PrepareArgs args;
  args.init_op = waits();
  interrupt.cancel(Error(Code::kCancelled, "stopped by SIGINT"));
  EXPECT_THAT(error_with({}, args), kStopped);
}

TEST_F(SessionCreation, AnInterruptEndsALocalInitThatWaits) {
  interrupt.cancel(Error(Code::kCancelled, "stopped by SIGINT"));
  EXPECT_THAT(error_with({.local_init_op = waits()}, {}), kStopped);
}

TEST_F(SessionCreation, ASessionThatIsMadeIsNotInterrupted) {
  const Output weight = ops::variable(g, "weight", Tensor(1.0f));
  PrepareArgs args;
  args.init_fn = [&](DirectSession& session) {
    session.store().assign("weight", Tensor(2.0f));
    interrupt.cancel(Error(Code::kCancelled, "stopped by SIGINT"));
  };
  graph.finalize();
  const CreatedSession created = SessionManager(graph, environment, {}).prepare_session(args);
  EXPECT_EQ(created.session->handle().run({weight})[0].scalar<float>(), 2.0f);
}

}  // namespace
}  // namespace belay::runtime::testing
