// SPDX-License-Identifier: Apache-2.0
// Section 26: sessions that are ready to run.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/conformance/session_manager_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(SessionManagerConformance, SM_01_TheInitOperationInitializes) {
  args.init_op = init;
  const CreatedSession created = full_manager().prepare_session(args);
  EXPECT_FALSE(created.restored);
  EXPECT_EQ(value<float>(created, weight), 1.0f);
  EXPECT_EQ(value<std::int64_t>(created, seen), 0);
}

TEST_F(SessionManagerConformance, SM_02_TheInitOperationGetsItsFeeds) {
  const Output x = ops::placeholder(g, DType::kFloat32, {}, "x");
  const Output set = ops::assign(weight, x);
  args.init_op = ops::group(g, {set}, "init_from_feed");
  args.init_feeds = {{x, Tensor(7.0f)}};
  EXPECT_EQ(value<float>(manager().prepare_session(args), weight), 7.0f);
}

TEST_F(SessionManagerConformance, SM_03_AnInitFunctionAloneSuffices) {
  args.init_fn = [](DirectSession& session) {
    session.store().assign("weight", Tensor(3.0f));
    session.store().assign("global_step", Tensor(std::int64_t{0}));
  };
  EXPECT_EQ(value<float>(full_manager().prepare_session(args), weight), 3.0f);
}

TEST_F(SessionManagerConformance, PROSE_26_TheInitFunctionComesAfterTheInitOperation) {
  float before = 0;
  args.init_op = init;
  args.init_fn = [&](DirectSession& session) {
    before = session.handle().run({weight})[0].scalar<float>();
    session.store().assign("weight", Tensor(3.0f));
  };
  EXPECT_EQ(value<float>(full_manager().prepare_session(args), weight), 3.0f);
  EXPECT_EQ(before, 1.0f);
}

TEST_F(SessionManagerConformance, SM_04_LocalInitAloneSufficesAndGetsItsFeeds) {
  const Output x = ops::placeholder(g, DType::kInt64, {}, "x");
  options.local_init_op = ops::group(g, {ops::assign(seen, x)}, "local_init_from_feed");
  options.local_init_feeds = {{x, Tensor(std::int64_t{9})}};
  options.ready_op = ops::report_uninitialized_variables(g, {seen}, "seen_ready");
  EXPECT_EQ(value<std::int64_t>(manager().prepare_session(args), seen), 9);
}

TEST_F(SessionManagerConformance, SM_05_WithNothingToInitializeWithACheckpointIsNeeded) {
  const std::string expected =
      "FAILED_PRECONDITION: [B5073] Model is not initialized and no init_op or init_fn or local_init_op was given";
  SessionManager bare = manager();
  EXPECT_EQ(error_of([&] { bare.prepare_session(args); }), expected);
  EXPECT_THAT(clock.new_waits_ms(), IsEmpty());
  // It is looked for every period; one is always waited for.
  args.saver = make_saver();
  args.checkpoint_dir = run.path();
  args.wait_for_checkpoint = true;
  args.max_wait_secs = 2;
  EXPECT_EQ(error_of([&] { bare.prepare_session(args); }), expected);
  EXPECT_THAT(clock.new_waits_ms(), ElementsAre(30000));
  save(5.0f, 20);
  EXPECT_EQ(value<float>(bare.prepare_session(args), weight), 5.0f);
  EXPECT_THAT(clock.new_waits_ms(), IsEmpty());
}

TEST_F(SessionManagerConformance, SM_08_AGuardNeedsWhatItGuards) {
  options.ready_for_local_init_op = globals_ready;
  EXPECT_EQ(error_of([&] { manager(); }),
            "INVALID_ARGUMENT: [B5088] ready_for_local_init_op is given without a local_init_op");
}

TEST_F(SessionManagerConformance, PROSE_26_WhatInitLeavesOutIsNamed) {
  args.init_op = ops::group(g, {ops::assign(weight, ops::constant(g, Tensor(2.0f)))}, "init_weight_only");
  EXPECT_EQ(error_of([&] { full_manager().prepare_session(args); }),
            "FAILED_PRECONDITION: [B5073] Init operations did not make model ready for local_init. Variables not "
            "initialized (for "
            "local init): global_step");
}

TEST_F(SessionManagerConformance, SM_19_ALocalVariableThatNobodyInitializesIsNamed) {
  options.ready_op = all_ready;
  args.init_op = init;
  EXPECT_EQ(error_of([&] { manager().prepare_session(args); }),
            "FAILED_PRECONDITION: [B5073] Init operations did not make model ready. Variables not initialized (of the "
            "model): seen");
}

TEST_F(SessionManagerConformance, SM_17_WithoutAReadyOperationNothingIsChecked) {
  options.local_init_op = local_init;
  const CreatedSession created = manager().prepare_session(args);
  EXPECT_EQ(value<std::int64_t>(created, seen), 0);
  EXPECT_EQ(error_of([&] { value<float>(created, weight); }),
            "FAILED_PRECONDITION: [B5073] Attempting to use uninitialized value weight");
}

// The older kind of ready operation: one that fails instead of listing names.
TEST_F(SessionManagerConformance, SM_23_AReadyOperationMayFailOnWhatIsNotInitialized) {
  options.ready_op = ops::identity(weight, "read_weight");
  options.local_init_op = local_init;
  EXPECT_EQ(error_of([&] { manager().prepare_session(args); }),
            "FAILED_PRECONDITION: [B5073] Init operations did not make model ready. Attempting to use uninitialized "
            "value weight");
  args.init_op = init;
  EXPECT_EQ(value<float>(manager().prepare_session(args), weight), 1.0f);
}

TEST_F(SessionManagerConformance, SM_23_AnotherErrorOfTheReadyOperationIsThrown) {
  options.ready_op = ops::check_numerics(weight, "weight is bad", "check");
  args.init_fn = [](DirectSession& session) { session.store().assign("weight", Tensor(std::nanf(""))); };
  EXPECT_THAT(error_of([&] { manager().prepare_session(args); }), ::testing::StartsWith("DIVERGED: "));
}

TEST_F(SessionManagerConformance, PROSE_26_ACheckpointTakesThePlaceOfInitialization) {
  SessionManager full = full_manager();
  save(5.0f, 20);
  bool called = false;
  args.init_op = init;
  args.init_fn = [&](DirectSession&) { called = true; };
  args.saver = make_saver();
  args.checkpoint_dir = run.path();
  const CreatedSession created = full.prepare_session(args);
  ASSERT_TRUE(created.restored);
  EXPECT_EQ(created.restored->path, run.path() + "/model.ckpt-20");
  EXPECT_EQ(created.restored->state.global_step, 20);
  EXPECT_EQ(value<float>(created, weight), 5.0f);
  EXPECT_EQ(value<std::int64_t>(created, seen), 0);  // local init runs all the same
  EXPECT_FALSE(called);
}

TEST_F(SessionManagerConformance, PROSE_26_ExactlyTheGivenCheckpointIsRestored) {
  SessionManager full = full_manager();
  const std::string older = save(5.0f, 20);
  save(6.0f, 30);
  args.saver = make_saver();
  args.checkpoint_filename_with_path = older;
  EXPECT_EQ(value<float>(full.prepare_session(args), weight), 5.0f);
}

TEST_F(SessionManagerConformance, SM_06_ADirectoryAndAnExactCheckpointAreTooMuch) {
  args.saver = make_saver();
  args.checkpoint_dir = "/runs/a";
  args.checkpoint_filename_with_path = "/runs/a/model.ckpt-1";
  const std::string expected =
      "INVALID_ARGUMENT: [B5088] Can not provide both checkpoint_dir ('/runs/a') and checkpoint_filename_with_path "
      "('/runs/a/model.ckpt-1')";
  EXPECT_EQ(error_of([&] { full_manager().prepare_session(args); }), expected);
  EXPECT_EQ(error_of([&] { full_manager().recover_session(args); }), expected);
}

TEST_F(SessionManagerConformance, PROSE_26_ADirectoryWithoutCheckpointsMeansInitialization) {
  args.init_op = init;
  args.saver = make_saver();
  for (const std::string& directory : {run.path(), temp / "missing"}) {
    args.checkpoint_dir = directory;
    EXPECT_FALSE(full_manager().prepare_session(args).restored) << directory;
  }
  EXPECT_THAT(clock.new_waits_ms(), IsEmpty());
}

TEST_F(SessionManagerConformance, PROSE_26_ACheckpointIsWaitedForWhereTheCallerWantsIt) {
  args.init_op = init;
  args.saver = make_saver();
  args.checkpoint_dir = run.path();
  args.wait_for_checkpoint = true;
  args.max_wait_secs = 60;
  EXPECT_FALSE(full_manager().prepare_session(args).restored);
  EXPECT_THAT(clock.new_waits_ms(), ElementsAre(30000, 30000));
}

TEST_F(SessionManagerConformance, SM_06_RecoveryWithoutACheckpointIsNotReadyAndInitializesNothing) {
  args.init_op = init;
  args.saver = make_saver();
  args.checkpoint_dir = run.path();
  const SessionManager::Recovered recovered = full_manager().recover_session(args);
  EXPECT_FALSE(recovered.ready);
  EXPECT_FALSE(recovered.created.restored);
  EXPECT_EQ(error_of([&] { value<float>(recovered.created, weight); }),
            "FAILED_PRECONDITION: [B5073] Attempting to use uninitialized value weight");
}

TEST_F(SessionManagerConformance, SM_06_RecoveryFromACheckpointIsReady) {
  SessionManager full = full_manager();
  const std::string path = save(5.0f, 20);
  args.saver = make_saver();
  args.checkpoint_dir = run.path();
  const SessionManager::Recovered newest = full.recover_session(args);
  EXPECT_TRUE(newest.ready);
  EXPECT_EQ(value<float>(newest.created, weight), 5.0f);
  EXPECT_EQ(value<std::int64_t>(newest.created, seen), 0);
  args.checkpoint_dir = "";
  args.checkpoint_filename_with_path = path;
  EXPECT_TRUE(full.recover_session(args).ready);
}

TEST_F(SessionManagerConformance, PROSE_26_RecoveryThatLeavesAVariableWithoutAValueIsNotReady) {
  options.ready_op = all_ready;  // and no local init
  SessionManager without_local_init = manager();
  save(5.0f, 20);
  args.saver = make_saver();
  args.checkpoint_dir = run.path();
  const SessionManager::Recovered recovered = without_local_init.recover_session(args);
  EXPECT_TRUE(recovered.created.restored);
  EXPECT_FALSE(recovered.ready);
  EXPECT_TRUE(logged("restored, but not ready: Variables not initialized (of the model): seen"));
}

TEST_F(SessionManagerConformance, SM_13_AWaiterFindsWhatAnotherSessionInitialized) {
  args.init_op = init;
  args.target = "local:shared";
  SessionManager full = full_manager();
  const CreatedSession chief = full.prepare_session(args);
  chief.session->store().assign("weight", Tensor(8.0f));
  const CreatedSession worker = full.wait_for_session("local:shared", 3);
  EXPECT_EQ(value<float>(worker, weight), 8.0f);
  EXPECT_EQ(value<std::int64_t>(worker, seen), 0);  // its own
  EXPECT_THAT(clock.new_waits_ms(), IsEmpty());
}

TEST_F(SessionManagerConformance, SM_14_AWaiterLooksEveryPeriodUntilItIsTooLate) {
  const auto kept_alive = targets.open("local:shared");
  EXPECT_EQ(error_of([&] { full_manager().wait_for_session("local:shared", 100); }),
            "DEADLINE_EXCEEDED: [B5073] Session was not ready after waiting 100 secs. Variables not initialized (for "
            "local init): "
            "weight, global_step");
  EXPECT_THAT(clock.new_waits_ms(), ElementsAre(30000, 30000, 30000));
}

TEST_F(SessionManagerConformance, SM_24_AWaiterWithLessThanOnePeriodLooksOnce) {
  EXPECT_EQ(error_of([&] { full_manager().wait_for_session("local:shared", 3); }),
            "DEADLINE_EXCEEDED: [B5073] Session was not ready after waiting 3 secs. Variables not initialized (for "
            "local init): "
            "weight, global_step");
  EXPECT_THAT(clock.new_waits_ms(), IsEmpty());
}

TEST_F(SessionManagerConformance, SM_15_AWaiterWithoutAGuardWaitsForTheModelToBeReady) {
  options.local_init_op = local_init;
  options.ready_op = all_ready;
  options.recovery_wait_secs = 1;
  EXPECT_EQ(error_of([&] { manager().wait_for_session("local:shared", 2); }),
            "DEADLINE_EXCEEDED: [B5073] Session was not ready after waiting 2 secs. Variables not initialized (of the "
            "model): "
            "weight, global_step");
  EXPECT_THAT(clock.new_waits_ms(), ElementsAre(1000, 1000));
}

TEST_F(SessionManagerConformance, PROSE_26_AnInterruptEndsTheWait) {
  interrupt.cancel(Error(Code::kCancelled, "interrupted by SIGTERM"));
  EXPECT_EQ(error_of([&] { full_manager().wait_for_session("local:shared", 100); }),
            "CANCELLED: interrupted by SIGTERM");
}

TEST_F(SessionManagerConformance, PROSE_26_ATargetOfAnotherFormIsRefused) {
  args.target = "grpc://somewhere:2222";
  args.init_op = init;
  EXPECT_EQ(error_of([&] { full_manager().prepare_session(args); }),
            "INVALID_ARGUMENT: [B5080] 'grpc://somewhere:2222' is no session target: use \"\" (a store for this "
            "session alone) or "
            "\"local:NAME\"");
}

}  // namespace
}  // namespace belay::runtime::testing
