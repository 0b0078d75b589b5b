// SPDX-License-Identifier: Apache-2.0
#include <belay/runtime/checkpoint.h>
#include <belay/runtime/supervisor.h>

#include "tests/api/program.h"
#include "tests/monitored/event_files.h"

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
  EXPECT_THAT(error_of([&] { Supervisor(graph, o); }), HasSubstr("INVALID_ARGUMENT: [B5052] on_save_error is kPause"));
}

TEST_F(SupervisorTest, ItsSummaryWriterAddsToTheEventFile) {
  line(graph);
  Supervisor supervisor(graph, supervisor_options("run"));
  const SummaryWriter events = supervisor.summary_writer();
  ASSERT_TRUE(events);
  supervisor.managed_session([&](Session&) {
    events.add_scalar("my rate", 3, 0.5);
    events.add_summary("", 4);
    EXPECT_THAT(error_of([&] { events.add_summary("\xff", 4); }), HasSubstr("is no Summary message"));
    events.add_run_metadata("step 3", "", 3);
    EXPECT_THAT(error_of([&] { events.add_run_metadata("step 3", "", 3); }), HasSubstr("a tag is for one run"));
    events.flush();
    const auto read = runtime::testing::read_event_files(temp / "run");
    EXPECT_EQ(read.steps.at("my_rate"), std::vector<std::int64_t>{3});
    EXPECT_EQ(read.values.at("my_rate"), std::vector<float>{0.5f});
  });
  events.add_scalar("my rate", 5, 0.5);  // a warning
  EXPECT_EQ(runtime::testing::read_event_files(temp / "run").steps.at("my_rate"), std::vector<std::int64_t>{3});
}

TEST_F(SupervisorTest, WithoutALogdirItsSummaryWriterIsEmpty) {
  line(graph);
  const Supervisor supervisor(graph, supervisor_options());
  const SummaryWriter events = supervisor.summary_writer();
  EXPECT_FALSE(events);
  EXPECT_THAT(error_of([&] { events.add_scalar("x", 1, 1); }), HasSubstr("keeps no events"));
}

TEST_F(SupervisorTest, APreparedSessionIsRunAndStopped) {
  const Output train = line(graph);
  SupervisorOptions o = supervisor_options();
  o.init_fn = [](Session& session) { session.assign("bias", Tensor(2.0f).view()); };
  Supervisor supervisor(graph, o);
  EXPECT_THAT(error_of([&] { supervisor.start_queue_runners(); }), HasSubstr("[B5089] no session was prepared"));
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
