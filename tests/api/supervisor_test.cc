// SPDX-License-Identifier: Apache-2.0
#include <belay/runtime/checkpoint.h>
#include <belay/runtime/supervisor.h>

#include "tests/api/program.h"

namespace belay {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

class SupervisorTest : public ProgramTest {
 protected:
  SupervisorOptions supervisor_options(const std::string& folder = {}) {
    SupervisorOptions o{.logdir = folder.empty() ? "" : temp / folder, .threads = 1};
    o.log = log_options();
    return o;
  }
  OwnedGraph graph{default_plugins()};
};

TEST_F(SupervisorTest, TrainsAndGoesOnFromItsCheckpoint) {
  train_to("run", 4);
  const Output train = line(graph);
  Supervisor supervisor(graph, supervisor_options("run"));
  std::int64_t step = 0;
  supervisor.managed_session([&](Session& session) {
    session.run({train});
    step = session.global_step().value();
    supervisor.request_stop("enough");
  });
  EXPECT_EQ(step, 5);
  EXPECT_TRUE(supervisor.should_stop());
}

TEST_F(SupervisorTest, WhatTheBodyThrowsComesOut) {
  line(graph);
  Supervisor supervisor(graph, supervisor_options());
  EXPECT_THAT(error_of([&] { supervisor.managed_session([](Session&) { fail(Code::kInternal, "broken"); }); }),
              HasSubstr("broken"));
}

TEST_F(SupervisorTest, ItsTrainingIsNotItsOwnToPause) {
  line(graph);
  SupervisorOptions o = supervisor_options("run");
  o.checkpoint.on_save_error = runtime::OnSaveError::kPause;
  EXPECT_THAT(error_of([&] { Supervisor(graph, o); }), HasSubstr("INVALID_ARGUMENT: on_save_error is kPause"));
}

TEST_F(SupervisorTest, APreparedSessionIsRunAndStopped) {
  const Output train = line(graph);
  SupervisorOptions o = supervisor_options();
  o.init_fn = [](Session& session) { session.assign("bias", Tensor(2.0f).view()); };
  Supervisor supervisor(graph, o);
  EXPECT_THAT(error_of([&] { supervisor.start_queue_runners(); }), HasSubstr("no session was prepared"));
  Session session = supervisor.prepare_or_wait_for_session();
  EXPECT_EQ(session.run({graph.find("bias")})[0].scalar<float>(), 2.0f);
  session.run({train});
  supervisor.coordinator().request_stop("enough");
  supervisor.stop();
  EXPECT_TRUE(supervisor.wait_for_stop(std::chrono::seconds(0)));
  EXPECT_TRUE(supervisor.is_chief());
  EXPECT_TRUE(supervisor.init_op());
}

}  // namespace
}  // namespace belay
