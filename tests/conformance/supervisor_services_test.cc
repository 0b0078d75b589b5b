// SPDX-License-Identifier: Apache-2.0
// Section 27: what a supervisor does beside training, on timers.
#include "runtime/monitored/supervisor/supervisor_services.h"

#include "tests/conformance/supervisor_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

TEST_F(SupervisorConformance, SUP_30_ServicesRunOnceEvenIfTheyAreStoppedAtOnce) {
  number("n", 4);
  ops::scalar_summary("c", ops::constant(g, Tensor(3.0f)));
  Supervisor supervisor(graph, timed, with_logdir());
  const auto session = supervisor.prepare_or_wait_for_session();
  supervisor.stop();
  EXPECT_THAT(events(), ElementsAre(ElementsAre("version", "graph", "c=3@0", "STOP")));
  // TensorFlow writes it without a step; a checkpoint here always has one.
  EXPECT_THAT(saved(), ElementsAre("model.ckpt-0"));
}

TEST_F(SupervisorConformance, SUP_31_WithAGlobalStepTheServicesWriteIt) {
  global_step(123);
  Supervisor supervisor(graph, timed, with_logdir());
  supervisor.prepare_or_wait_for_session();
  supervisor.stop();
  const auto files = events();
  ASSERT_THAT(files, SizeIs(1));
  ASSERT_THAT(files[0], SizeIs(6));
  EXPECT_THAT(std::vector<std::string>(files[0].begin(), files[0].begin() + 3),
              ElementsAre("version", "graph", "START@123"));
  EXPECT_THAT(std::vector<std::string>(files[0].begin() + 3, files[0].begin() + 5),
              UnorderedElementsAre("global_step/sec=0@123", "CHECKPOINT@123"));
  EXPECT_EQ(files[0][5], "STOP");
  EXPECT_THAT(saved(), ElementsAre("model.ckpt-123"));
}

TEST_F(SupervisorConformance, SUP_36_NothingIsSavedAtTheEnd) {
  const Output count = ops::assign_add(global_step(0), one());
  Supervisor supervisor(graph, timed, with_logdir());
  supervisor.managed_session([&](DirectSession& session) {
    time.await_rest(2, 2);  // the first checkpoint is written
    for (int i = 0; i < 5; ++i) value(session, count);
  });
  EXPECT_THAT(saved(), ElementsAre("model.ckpt-0"));
}

TEST_F(SupervisorConformance, SUP_38_TheSummaryServiceRunsItsOperationEveryPeriodAndConsumesItsInput) {
  const Output next = add_input("input", 100);
  ops::scalar_summary("next", ops::cast(next, DType::kFloat32));
  SupervisorSetup options;
  options.logdir = logdir;
  options.save_summaries_secs = 120;
  Supervisor supervisor(graph, timed, options);
  supervisor.managed_session([&](DirectSession& session) {
    time.await_rest(1);
    EXPECT_EQ(value(session, next), 2);  // 1 went into the summary
    time.advance_secs(120);
    time.await_rest(2);
  });
  const auto files = events();
  ASSERT_THAT(files, SizeIs(1));
  EXPECT_THAT(files[0], ElementsAre("version", "graph", "next=1@0", "next=3@0", "STOP"));
}

TEST_F(SupervisorConformance, SUP_38_ThePeriodsZeroSwitchServicesOff) {
  global_step(5);
  ops::scalar_summary("c", ops::constant(g, Tensor(3.0f)));
  SupervisorSetup options = with_logdir();
  options.save_summaries_secs = 0;
  options.save_model_secs = 0;
  Supervisor supervisor(graph, timed, options);
  supervisor.managed_session([&](DirectSession& session) {
    EXPECT_THAT(supervisor.start_standard_services(session.shared_from_this()), IsEmpty());
  });
  EXPECT_THAT(saved(), IsEmpty());
  EXPECT_THAT(events(), ElementsAre(ElementsAre("version", "graph", "START@5", "START@5", "STOP")));
}

TEST_F(SupervisorConformance, SUP_38_ASummaryThatNeedsAFeedStopsEverything) {
  ops::scalar_summary("x", ops::placeholder(g, DType::kFloat32, {}, "x"));
  SupervisorSetup options;
  options.logdir = logdir;
  Supervisor supervisor(graph, timed, options);
  const std::string error =
      error_of([&] { supervisor.managed_session([&](DirectSession&) { supervisor.wait_for_stop(); }); });
  EXPECT_THAT(error, HasSubstr("'x'"));
}

TEST_F(SupervisorConformance, SUP_39_TheRateIsThatOfTheLastPeriodAndLoggedAtMostTenTimes) {
  const Output count = ops::assign_add(global_step(0), one());
  SupervisorSetup options = with_logdir();
  options.run_saver = {};
  options.save_summaries_secs = 10;
  Supervisor supervisor(graph, timed, options);
  supervisor.managed_session([&](DirectSession& session) {
    for (int i = 0; i < 12; ++i) {
      time.await_rest(i + 1);
      for (int s = 0; s < 5 * i; ++s) value(session, count);
      time.advance_secs(10);
    }
    time.await_rest(13);
  });
  const auto files = events();
  ASSERT_THAT(files, SizeIs(1));
  ASSERT_THAT(files[0], SizeIs(17));
  // The first value at once, and then one per period of 10 seconds.
  EXPECT_THAT(std::vector<std::string>(files[0].begin(), files[0].begin() + 7),
              ElementsAre("version", "graph", "START@0", "global_step/sec=0@0", "global_step/sec=0@0",
                          "global_step/sec=0.5@5", "global_step/sec=1@15"));
  std::size_t lines = 0;
  for (std::size_t at = log_text.find("global_step/sec: "); at != std::string::npos;
       at = log_text.find("global_step/sec: ", at + 1))
    ++lines;
  EXPECT_EQ(lines, 10u);
}

TEST_F(SupervisorConformance, SUP_39_StepsInNoTimeAreInfinitelyFast) {
  const Output count = ops::assign_add(global_step(0), one());
  graph.finalize();
  const auto session = std::make_shared<DirectSession>(graph, std::make_shared<VariableStore>(), timed.session);
  session->run_once(graph.collection("variable_init"));
  const auto coordinator = std::make_shared<Coordinator>(time);
  const auto directory =
      std::make_shared<RunDirectory>(RunDirectory::open(timed.files, logdir, timed.clock, timed.log));
  const auto beside = std::make_shared<SupervisorServices>(timed, SupervisorServices::Options{.directory = directory});
  beside->open_events(graph);
  // Back to back, while the clock does not move.
  beside->start_step_counter(*coordinator, session, 0);
  // It reads the clock each time: when it has done so often, it has also looked at the steps.
  const auto let_it_count = [&] {
    const int before = time.reads();
    await([&] { return time.reads() > before + 20; });
  };
  let_it_count();
  value(*session, count);
  let_it_count();
  coordinator->request_stop();
  coordinator->join();
  beside->close_events();
  ASSERT_THAT(events(), SizeIs(1));
  EXPECT_THAT(events()[0], ::testing::Contains("global_step/sec=inf@1"));
}

TEST_F(SupervisorConformance, SUMW_13_AllWhoWriteShareTheSessionsFileAndAnotherSessionHasItsOwn) {
  const Output summary = ops::scalar_summary("five", ops::constant(g, Tensor(3.0f)));
  SupervisorSetup options;
  options.logdir = logdir;
  options.summary_op = Output();
  Supervisor supervisor(graph, timed, options);
  for (const std::int64_t step : {1, 10})
    supervisor.managed_session(
        [&](DirectSession& session) {
          const auto first = supervisor.summary_writer(), second = supervisor.summary_writer();
          first->add_own([&](EventWriter& events) { events.add_scalar("one", step, 1); });
          second->add_own([&](EventWriter& events) { events.add_scalar("two", step + 1, 2); });
          supervisor.summary_computed(session, session.handle().run({summary})[0].text(0), step + 2);
        },
        {.start_standard_services = false});
  EXPECT_THAT(events(), ElementsAre(ElementsAre("version", "graph", "one=1@1", "two=2@2", "five=3@3", "STOP"),
                                    ElementsAre("version", "graph", "one=1@10", "two=2@11", "five=3@12", "STOP")));
}

TEST_F(SupervisorConformance, SUMW_06_WhatIsAddedBehindTheCloseIsDroppedWithAWarning) {
  SupervisorSetup options;
  options.logdir = logdir;
  Supervisor supervisor(graph, timed, options);
  supervisor.managed_session([](DirectSession&) {}, {.start_standard_services = false});
  const auto writer = supervisor.summary_writer();
  int added = 0;
  for (int i = 0; i < 3; ++i) {
    log_text.clear();
    writer->add_own([&](EventWriter&) { ++added; });
    EXPECT_TRUE(logged("an event was dropped: the supervisor's event file is closed"));
  }
  writer->flush_events();
  EXPECT_EQ(added, 0);
  EXPECT_THAT(events(), ElementsAre(ElementsAre("version", "graph", "STOP")));
}

TEST_F(SupervisorConformance, SUP_12_AWorkerHasNoSummaryWriter) {
  SupervisorSetup options = with_logdir();
  options.is_chief = false;
  EXPECT_EQ(Supervisor(graph, timed, options).summary_writer(), nullptr);
}

TEST_F(SupervisorConformance, SUP_14_WithoutEventsThereIsNoSummaryWriter) {
  SupervisorSetup options = with_logdir();
  options.writes_events = false;
  EXPECT_EQ(Supervisor(graph, timed, options).summary_writer(), nullptr);
  NodeGraph other(*ops);
  EXPECT_EQ(Supervisor(other, timed).summary_writer(), nullptr) << "nor without a logdir";
}

TEST_F(SupervisorConformance, SUP_41_WithoutALogdirThereAreNoServices) {
  global_step(5);
  ops::scalar_summary("c", ops::constant(g, Tensor(3.0f)));
  Supervisor supervisor(graph, timed);
  const auto session = supervisor.prepare_or_wait_for_session({.start_standard_services = false});
  EXPECT_FALSE(logged("logdir"));
  EXPECT_THAT(supervisor.start_standard_services(session), IsEmpty());
  EXPECT_TRUE(logged("the standard services need a logdir to write to; none is started"));
}

TEST_F(SupervisorConformance, SUP_41_ALoopIsAServiceOfTheCallersAndEndsWithTheSession) {
  number("n", 4);
  Supervisor supervisor(graph, timed);
  std::atomic<int> calls = 0;
  supervisor.managed_session([&](DirectSession&) {
    supervisor.loop(60, [&] { ++calls; });
    time.await_rest(1);
    EXPECT_EQ(calls, 1);
    time.advance_secs(60);
    time.await_rest(2);
    EXPECT_EQ(calls, 2);
  });
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(error_of([&] {
              supervisor.managed_session([&](DirectSession&) {
                supervisor.loop(60, [] { fail(Code::kInternal, "the service failed"); });
                supervisor.wait_for_stop();
              });
            }),
            "INTERNAL: the service failed");
}

TEST_F(SupervisorConformance, PROSE_27_TheNextCheckpointIsOfItsPeriodsEndAndOfOneStep) {
  const Output step = global_step(0);
  const Output twin = number("twin", 0);
  const Output count = ops::group(g, {ops::assign_add(step, one()), ops::assign_add(twin, one())}, "count");
  Supervisor supervisor(graph, timed, with_logdir());
  supervisor.managed_session([&](DirectSession& session) {
    time.await_rest(2, 2);
    for (int i = 0; i < 50; ++i) session.handle().run({count});
    time.advance_secs(600);
    // The service saves while the loop continues.
    while (saved().size() == 1 && !supervisor.should_stop()) session.handle().run({count});
  });
  const std::int64_t at = supervisor.saver()->saved_step();
  EXPECT_GE(at, 50);
  NodeGraph other(*ops);
  const Output other_step = ops::create_global_step(other.handle());
  const Output other_twin = ops::variable(other.handle(), "twin", Tensor(std::int64_t{0}), ops::VariableKind::kGlobal);
  SupervisorSetup options = with_logdir();
  options.logdir = temp / "other";
  posix_file_system().make_directories(options.logdir);
  Supervisor reader(other, timed, options);
  const auto session = reader.prepare_or_wait_for_session({.start_standard_services = false});
  reader.saver()->restore_exactly(*session, logdir + "/model.ckpt-" + std::to_string(at));
  EXPECT_EQ(value(*session, other_step), at);
  EXPECT_EQ(value(*session, other_twin), at);
}

}  // namespace
}  // namespace belay::runtime::testing
