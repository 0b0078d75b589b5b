// SPDX-License-Identifier: Apache-2.0
// Session creators: section 4 of the contract.
#include "runtime/monitored/layers/session_creator.h"

#include <gmock/gmock.h>

#include <type_traits>

#include "tests/monitored/saver_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;

class SessionCreatorConformance : public SaverTest {
 protected:
  SessionCreatorConformance() {
    weight = ops::variable(g, "weight", Tensor(1.0f));
    step = ops::create_global_step(g);
    seen = ops::variable(g, "seen", Tensor(std::int64_t{0}), ops::VariableKind::kLocal);
    see = ops::assign_add(seen, ops::constant(g, Tensor(std::int64_t{1})), "see");
  }
  float weight_of(const CreatedSession& created) { return created.session->handle().run({weight})[0].scalar<float>(); }
  void save(DirectSession& session, float w, std::int64_t at_step) {
    session.store().assign("weight", Tensor(w));
    session.store().assign("global_step", Tensor(at_step));
    const auto saver = make_saver();
    saver->request();
    saver->at_boundary(session, hooks);
  }

  Output weight, step, seen, see;
};

TEST_F(SessionCreatorConformance, CHIEF_01_TheNewestCheckpointOrExactlyTheGivenOneIsRestored) {
  int init_calls = 0;
  ScaffoldOptions pieces;
  pieces.saver = make_saver();
  pieces.host_init = [&](const SessionScaffold&, DirectSession&) { ++init_calls; };
  const auto scaffold = std::make_shared<SessionScaffold>(pieces);
  ChiefSessionCreator creator(graph, environment, {.scaffold = scaffold, .checkpoint_dir = run.path()});
  const CreatedSession first = creator.create_session();
  EXPECT_FALSE(first.restored);
  EXPECT_EQ(init_calls, 1);
  save(*first.session, 4.0f, 10);
  save(*first.session, 5.0f, 20);

  const CreatedSession second = creator.create_session();
  ASSERT_TRUE(second.restored);
  EXPECT_EQ(second.restored->state.global_step, 20);
  EXPECT_EQ(weight_of(second), 5.0f);
  EXPECT_EQ(init_calls, 1);
  // Local variables are initialized all the same.
  EXPECT_EQ(second.session->handle().run({seen})[0].scalar<std::int64_t>(), 0);

  ChiefSessionCreator exact(graph, environment,
                            {.scaffold = scaffold, .checkpoint_filename_with_path = run.path() + "/model.ckpt-10"});
  EXPECT_EQ(weight_of(exact.create_session()), 4.0f);
}

TEST_F(SessionCreatorConformance, CHIEF_01_WithoutACheckpointInitOpRunsWithItsFeedThenTheInitFunction) {
  const Output x = ops::placeholder(g, DType::kFloat32, {}, "x");
  std::vector<float> seen_by_init_fn;
  const Output zero = ops::assign(step, ops::constant(g, Tensor(std::int64_t{0})));
  ScaffoldOptions pieces;
  pieces.init_op = ops::group(g, {ops::assign(weight, x), zero}, "init_from_feed");
  pieces.init_feeds = {{x, Tensor(6.0f)}};
  pieces.host_init = [&](const SessionScaffold&, DirectSession& session) {
    seen_by_init_fn.push_back(session.handle().run({weight})[0].scalar<float>());
  };
  ChiefSessionCreator creator(graph, environment, {.scaffold = std::make_shared<SessionScaffold>(pieces)});
  EXPECT_EQ(weight_of(creator.create_session()), 6.0f);
  EXPECT_THAT(seen_by_init_fn, ElementsAre(6.0f));
}

TEST_F(SessionCreatorConformance, CHIEF_02_BothPathsAreAnErrorWhenItCreatesNotBefore) {
  ChiefSessionCreator creator(graph, environment,
                              {.checkpoint_dir = "/runs/a", .checkpoint_filename_with_path = "/runs/a/model.ckpt-1"});
  EXPECT_EQ(
      error_of([&] { creator.create_session(); }),
      "INVALID_ARGUMENT: [B5088] Can not provide both checkpoint_dir ('/runs/a') and checkpoint_filename_with_path "
      "('/runs/a/model.ckpt-1')");
}

TEST_F(SessionCreatorConformance, CHIEF_03_ARestoredSessionSkipsInitOpAndInitFunctionButNotLocalInit) {
  int init_fn_calls = 0;
  ScaffoldOptions pieces;
  pieces.saver = make_saver();
  // Not restored, weight would be 100 more than it was.
  pieces.init_op = ops::group(g,
                              {ops::assign(weight, ops::constant(g, Tensor(100.0f))),
                               ops::assign(step, ops::constant(g, Tensor(std::int64_t{0})))},
                              "init_to_100");
  pieces.host_init = [&](const SessionScaffold&, DirectSession&) { ++init_fn_calls; };
  ChiefSessionCreator creator(graph, environment,
                              {.scaffold = std::make_shared<SessionScaffold>(pieces), .checkpoint_dir = run.path()});
  const CreatedSession fresh = creator.create_session();
  EXPECT_EQ(weight_of(fresh), 100.0f);
  EXPECT_EQ(init_fn_calls, 1);
  save(*fresh.session, 3.0f, 10);
  fresh.session->handle().run({see});
  const CreatedSession restored = creator.create_session();
  EXPECT_EQ(weight_of(restored), 3.0f);
  EXPECT_EQ(init_fn_calls, 1);
  EXPECT_EQ(restored.session->handle().run({seen})[0].scalar<std::int64_t>(), 0);
}

TEST_F(SessionCreatorConformance, CHIEF_04_AnInitFunctionLoadsAChosenCheckpointOverTheFreshValues) {
  const std::shared_ptr<RunSaver> saver = make_saver();
  ChiefSessionCreator writer(graph, environment, {});
  const CreatedSession earlier = writer.create_session();
  save(*earlier.session, 4.0f, 10);
  save(*earlier.session, 5.0f, 20);

  std::vector<float> before;
  ScaffoldOptions pieces;
  pieces.host_init = [&](const SessionScaffold&, DirectSession& session) {
    before.push_back(session.handle().run({weight})[0].scalar<float>());
    saver->restore_exactly(session, run.path() + "/model.ckpt-10");
  };
  ChiefSessionCreator creator(graph, environment, {.scaffold = std::make_shared<SessionScaffold>(pieces)});
  const CreatedSession created = creator.create_session();
  EXPECT_FALSE(created.restored);
  EXPECT_THAT(before, ElementsAre(1.0f));
  EXPECT_EQ(weight_of(created), 4.0f);
}

TEST_F(SessionCreatorConformance, CHIEF_05_AChiefWaitsForNoCheckpoint) {
  ScaffoldOptions pieces;
  pieces.saver = make_saver();
  ChiefSessionCreator creator(
      graph, environment,
      {.scaffold = std::make_shared<SessionScaffold>(pieces), .checkpoint_dir = temp / "nothing_there"});
  EXPECT_FALSE(creator.create_session().restored);
  EXPECT_TRUE(clock.new_waits_ms().empty());
}

TEST_F(SessionCreatorConformance, WORK_01_AWorkerTakesWhatTheChiefInitializedAndRunsLocalInit) {
  ChiefSessionCreator chief(graph, environment, {.target = "local:job"});
  const CreatedSession of_chief = chief.create_session();
  of_chief.session->store().assign("weight", Tensor(9.0f));

  NodeGraph other(*ops);
  const Output same = ops::variable(other.handle(), "weight", Tensor(1.0f));
  ops::create_global_step(other.handle());
  const Output own = ops::variable(other.handle(), "seen", Tensor(std::int64_t{3}), ops::VariableKind::kLocal);
  WorkerSessionCreator worker(other, environment, {.target = "local:job"});
  EXPECT_EQ(&worker.graph(), &other);
  const CreatedSession of_worker = worker.create_session();
  EXPECT_TRUE(other.finalized());
  EXPECT_FALSE(of_worker.restored);
  EXPECT_EQ(of_worker.session->handle().run({same})[0].scalar<float>(), 9.0f);
  EXPECT_EQ(of_worker.session->handle().run({own})[0].scalar<std::int64_t>(), 3);
}

TEST_F(SessionCreatorConformance, CLU_07_SessionsOfOneTargetShareVariablesAndNoOthersDo) {
  ChiefSessionCreator chief(graph, environment, {.target = "local:job"});
  const CreatedSession first = chief.create_session(), second = chief.create_session();
  first.session->store().assign("weight", Tensor(9.0f));
  EXPECT_EQ(weight_of(second), 9.0f);
  for (const char* target : {"local:other", ""}) {
    WorkerSessionCreator apart(graph, environment, {.target = target, .max_wait_secs = 0});
    EXPECT_THAT(error_of([&] { apart.create_session(); }), ::testing::HasSubstr("Variables not initialized"));
  }
}

TEST_F(SessionCreatorConformance, WORK_01_AWorkerRunsNeitherInitOperationNorInitFunction) {
  bool called = false;
  ScaffoldOptions pieces;
  pieces.host_init = [&](const SessionScaffold&, DirectSession&) { called = true; };
  WorkerSessionCreator worker(
      graph, environment,
      {.scaffold = std::make_shared<SessionScaffold>(pieces), .target = "local:job", .max_wait_secs = 1});
  EXPECT_THAT(error_of([&] { worker.create_session(); }), ::testing::StartsWith("DEADLINE_EXCEEDED: "));
  EXPECT_FALSE(called);
}

TEST_F(SessionCreatorConformance, WORK_01_AWorkerLooksEvery30SecondsForHalfAnHour) {
  const auto kept_alive = targets.open("local:job");
  WorkerSessionCreator worker(graph, environment, {.target = "local:job"});
  EXPECT_EQ(
      error_of([&] { worker.create_session(); }),
      "DEADLINE_EXCEEDED: [B5073] Session was not ready after waiting 1800 secs. Variables not initialized (for local "
      "init): weight, global_step");
  const std::vector<std::int64_t> waits = clock.new_waits_ms();
  EXPECT_EQ(waits, std::vector<std::int64_t>(60, 30000));
}

TEST_F(SessionCreatorConformance, WORK_01_BothTimesCanBeSet) {
  const auto kept_alive = targets.open("local:job");
  WorkerSessionCreator worker(graph, environment,
                              {.target = "local:job", .max_wait_secs = 10, .recovery_wait_secs = 4});
  EXPECT_EQ(error_of([&] { worker.create_session(); }),
            "DEADLINE_EXCEEDED: [B5073] Session was not ready after waiting 10 secs. Variables not initialized (for "
            "local init): "
            "weight, global_step");
  EXPECT_THAT(clock.new_waits_ms(), ElementsAre(4000, 4000));
}

TEST_F(SessionCreatorConformance, WORK_02_AWorkerFinalizesItsGraph) {
  ChiefSessionCreator chief(graph, environment, {.target = "local:job"});
  const CreatedSession of_chief = chief.create_session();
  NodeGraph other(*ops);
  ops::variable(other.handle(), "weight", Tensor(1.0f));
  WorkerSessionCreator worker(other, environment, {.target = "local:job"});
  EXPECT_FALSE(other.finalized());
  worker.create_session();
  EXPECT_TRUE(other.finalized());
}

TEST_F(SessionCreatorConformance, CREATE_01_ACreatorMustSayHowItCreates) {
  static_assert(std::is_abstract_v<SessionCreator>);
  class WithoutCreateSession : public SessionCreator {
    NodeGraph& graph() override;
  };
  static_assert(std::is_abstract_v<WithoutCreateSession>);
}

TEST_F(SessionCreatorConformance, PROSE_04_ADefaultChiefHasADefaultScaffoldAndInitializes) {
  ChiefSessionCreator creator(graph, environment, {});
  EXPECT_EQ(&creator.graph(), &graph);
  EXPECT_FALSE(graph.finalized());
  const CreatedSession created = creator.create_session();
  EXPECT_TRUE(graph.finalized());
  EXPECT_FALSE(created.restored);
  EXPECT_EQ(weight_of(created), 1.0f);
  EXPECT_EQ(created.session->handle().run({seen})[0].scalar<std::int64_t>(), 0);
}

TEST_F(SessionCreatorConformance, PROSE_04_EachSessionIsANewOneOnAStoreOfItsOwn) {
  ChiefSessionCreator creator(graph, environment, {});
  const CreatedSession first = creator.create_session();
  first.session->store().assign("weight", Tensor(5.0f));
  const CreatedSession second = creator.create_session();
  EXPECT_NE(first.session, second.session);
  EXPECT_EQ(weight_of(second), 1.0f);
}

TEST_F(SessionCreatorConformance, PROSE_04_TheDefaultsAreTensorFlows) {
  const ChiefSessionCreator::Options chief;
  EXPECT_EQ(chief.scaffold, nullptr);
  EXPECT_EQ(chief.target, "");
  EXPECT_EQ(chief.checkpoint_dir, "");
  EXPECT_EQ(chief.checkpoint_filename_with_path, "");
  const WorkerSessionCreator::Options worker;
  EXPECT_EQ(worker.scaffold, nullptr);
  EXPECT_EQ(worker.target, "");
  EXPECT_EQ(worker.max_wait_secs, 1800);
  EXPECT_EQ(worker.recovery_wait_secs, 30);
}

}  // namespace
}  // namespace belay::runtime::testing
