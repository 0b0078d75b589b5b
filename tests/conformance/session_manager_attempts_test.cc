// SPDX-License-Identifier: Apache-2.0
// Section 26: several sessions, and several attempts to get a ready one.
#include <gmock/gmock.h>

#include "belay/ops/tables.h"
#include "runtime/checkpoint/read/restore_error.h"
#include "runtime/monitored/layers/session_creator.h"
#include "tests/conformance/session_manager_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(SessionManagerConformance, SM_13_AWaiterRunsItsOwnLocalInitOnceTheGlobalsAreReady) {
  // A local variable that is made of what the chief initialized.
  const Output copy = ops::variable(g, "copy", Tensor(0.0f), ops::VariableKind::kLocal);
  options.local_init_op = ops::group(g, {ops::assign(copy, weight)}, "copy_weight");
  options.ready_op = ops::report_uninitialized_variables(g, {weight, copy}, "copy_ready");
  options.ready_for_local_init_op = globals_ready;
  args.init_op = init;
  args.target = "local:shared";
  SessionManager both = manager();
  const CreatedSession chief = both.prepare_session(args);
  chief.session->store().assign("weight", Tensor(8.0f));
  const CreatedSession worker = both.wait_for_session("local:shared", 3);
  EXPECT_EQ(value<float>(worker, copy), 8.0f);
  EXPECT_EQ(value<float>(chief, copy), 1.0f);
}

TEST_F(SessionManagerConformance, SM_16_GlobalsComeFirstThenLocalsMadeOfThem) {
  const Output one = ops::variable(g, "one", Tensor(0.0f), ops::VariableKind::kLocal);
  const Output three = ops::variable(g, "three", Tensor(0.0f), ops::VariableKind::kLocal);
  const Output two = ops::constant(g, Tensor(2.0f));
  // A list of operations is a group.
  options.local_init_op = ops::group(g, {ops::assign(one, weight), ops::assign(three, ops::add(weight, two))});
  options.ready_op = ops::report_uninitialized_variables(g, {weight, one, three}, "three_ready");
  options.ready_for_local_init_op = globals_ready;
  args.init_op = ops::group(g, g.collection("variable_init"));
  const CreatedSession created = manager().prepare_session(args);
  EXPECT_EQ(value<float>(created, weight), 1.0f);
  EXPECT_EQ(value<float>(created, one), 1.0f);
  EXPECT_EQ(value<float>(created, three), 3.0f);
}

TEST_F(SessionManagerConformance, PROSE_26_LocalInitFillsTheTablesOfEachSession) {
  const Output keys = ops::constant(g, names({"cat", "dog"}));
  const Output numbers = ops::constant(g, Tensor({2}, std::vector<std::int64_t>{3, 5}));
  const ops::TableRef ids = ops::hash_table(g, keys, numbers, "ids");
  const Output found = ops::lookup(ids, ops::constant(g, names({"dog"})), ops::constant(g, Tensor(std::int64_t{-1})));
  ChiefSessionCreator chief(graph, environment, {.target = "local:shared"});
  WorkerSessionCreator worker(graph, environment, {.target = "local:shared"});
  const CreatedSession first = chief.create_session();
  const CreatedSession second = worker.create_session();
  for (const CreatedSession* one : {&first, &second}) {
    const RunResult result = one->session->handle().run({found});
    EXPECT_EQ(result[0].number(0), 5.0);
  }
}

TEST_F(SessionManagerConformance, SM_20_AListOfInitOperationsHasNoNameAndTheMessageNeedsNone) {
  options.ready_op = all_ready;
  args.init_op = ops::group(g, {ops::assign(weight, ops::constant(g, Tensor(2.0f))),
                                ops::assign(step, ops::constant(g, Tensor(std::int64_t{0})))});
  EXPECT_EQ(error_of([&] { manager().prepare_session(args); }),
            "FAILED_PRECONDITION: [B5073] Init operations did not make model ready. Variables not initialized (of the "
            "model): seen");
}

TEST_F(SessionManagerConformance, SM_22_WithoutAGuardGlobalsThatNobodyInitializedAreFoundByTheReadyCheck) {
  options.local_init_op = local_init;
  options.ready_op = all_ready;
  EXPECT_EQ(error_of([&] { manager().prepare_session(args); }),
            "FAILED_PRECONDITION: [B5073] Init operations did not make model ready. Variables not initialized (of the "
            "model): "
            "weight, global_step");
}

TEST_F(SessionManagerConformance, SM_23_WhatAReadyOperationMayGive) {
  const struct {
    Output op;
    std::string error;
  } cases[] = {
      {Output(), "no error"},
      {ops::group(g, {}, "nothing"), "no error"},                               // a null result
      {ops::constant(g, Tensor(DType::kString, {0}), "no_names"), "no error"},  // an empty one
      {ops::constant(g, Tensor({2}, std::vector<std::int32_t>{1, 2}), "numbers"), "no error"},
      {ops::constant(g, names({"a", "b"}), "two_names"),
       "FAILED_PRECONDITION: [B5073] Init operations did not make model ready. Variables not initialized (of the "
       "model): a, b"},
  };
  graph.finalize();
  args.init_op = init;
  for (const auto& c : cases) {
    SessionManager one(graph, environment, {.ready_op = c.op});
    EXPECT_EQ(error_of([&] { one.prepare_session(args); }), c.error);
  }
}

TEST_F(SessionManagerConformance, SM_24_EveryLookIsANewSession) {
  int sessions = 0;
  ops::fifo_queue(g, 1, {{DType::kFloat32, {}}}, "queue");  // a session makes its own
  environment.session.queues = [&](const Node& node) {
    ++sessions;
    return make_queue(node);
  };
  EXPECT_THAT(error_of([&] { full_manager().wait_for_session("local:shared", 100); }), HasSubstr("100 secs"));
  EXPECT_EQ(sessions, 4);
  EXPECT_THAT(clock.new_waits_ms(), ElementsAre(30000, 30000, 30000));
}

TEST_F(SessionManagerConformance, SM_25_EarlierCheckpointsAreDeletedInTurnAfterARestart) {
  SessionManager full = full_manager();
  RunSaverOptions two;
  two.checkpoint.max_to_keep = 2;
  for (const std::int64_t at : {10, 20}) save(1.0f, at);
  args.saver = make_saver(two);
  args.checkpoint_dir = run.path();
  const CreatedSession created = full.prepare_session(args);
  created.session->store().assign("global_step", Tensor(std::int64_t{30}));
  args.saver->request();
  args.saver->at_boundary(*created.session, hooks);
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-20", "model.ckpt-30"));
  // TensorFlow forgets them where an exact checkpoint was restored, and they stay for ever.
  args.checkpoint_filename_with_path = run.path() + "/model.ckpt-20";
  args.checkpoint_dir = "";
  args.saver = make_saver(two);
  const CreatedSession again = full.prepare_session(args);
  again.session->store().assign("global_step", Tensor(std::int64_t{40}));
  args.saver->request();
  args.saver->at_boundary(*again.session, hooks);
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-30", "model.ckpt-40"));
}

TEST_F(SessionManagerConformance, SM_26_ASessionThatCouldNotBeMadeReadyIsClosed) {
  args.target = "local:shared";
  std::weak_ptr<DirectSession> opened;
  args.init_fn = [&](DirectSession& session) { opened = session.weak_from_this(); };
  EXPECT_NE(error_of([&] { full_manager().prepare_session(args); }), "no error");
  EXPECT_TRUE(opened.expired());
  EXPECT_EQ(targets.open("local:shared")->find("weight"), nullptr);  // its store is gone with it
}

TEST_F(SessionManagerConformance, SM_26_ACheckpointThatLacksAVariableIsAnErrorNeverNotRestored) {
  save_of_smaller_graph();
  args.init_op = init;
  args.saver = make_saver();
  args.checkpoint_dir = run.path();
  SessionManager full = full_manager();
  for (const auto& create :
       std::vector<std::function<void()>>{[&] { full.prepare_session(args); }, [&] { full.recover_session(args); }}) {
    EXPECT_THROW(create(), RestoreError);
    EXPECT_EQ(error_of(create),
              "FAILED_PRECONDITION: [B4032] the checkpoint '" + run.path() +
                  "/model.ckpt-7' does not fit this model:\n"
                  "  missing   weight  float32 []\n"
                  "to take a part of it, begin in another directory with [scaffold] init_fn = [{ plugin "
                  "= \"warm_start\", from = \"" +
                  run.path() + "/model.ckpt-7\" }]");
  }
}

TEST_F(SessionManagerConformance, USER_11_WhatACheckpointLacksAndWhatIsUnusedInItIsReportedByName) {
  save_of_smaller_graph({{"old_layer/weight", Tensor(5.0f)}, {"momentum", Tensor({2}, {1.0f, 2.0f})}});
  args.init_op = init;
  args.saver = make_saver();
  args.checkpoint_dir = run.path();
  const std::string error = error_of([&] { full_manager().prepare_session(args); });
  EXPECT_EQ(error, "FAILED_PRECONDITION: [B4032] the checkpoint '" + run.path() +
                       "/model.ckpt-7' does not fit this model:\n"
                       "  extra     momentum          float32 [2]\n"
                       "  extra     old_layer/weight  float32 []\n"
                       "  missing   weight            float32 []; saved as 'old_layer/weight'?\n"
                       "to take a part of it, begin in another directory with [scaffold] init_fn = [{ plugin = "
                       "\"warm_start\", from = \"" +
                       run.path() + "/model.ckpt-7\" }]");
}

// The way that the message names: the init operation sets every variable, the init function those that the checkpoint
// has.
TEST_F(SessionManagerConformance, USER_11_AnInitFunctionTakesAPartAndTheInitOperationTheRest) {
  save_of_smaller_graph();
  args.init_op = init;
  const std::shared_ptr<RunSaver> saver = make_saver();
  args.init_fn = [&](DirectSession& session) {
    const std::unique_ptr<StoredTensors> stored =
        open_stored_tensors(environment.files, run.path() + "/model.ckpt-7", saver->options().saver, environment.log);
    std::int64_t read = 0;
    const belay_tensor target = belay::detail::raw_tensor(DType::kInt64, 0, nullptr, &read, sizeof(read));
    stored->read(saver->options().saver, {{"global_step", target}});
    session.store().assign("global_step", Tensor(read));
  };
  const CreatedSession created = full_manager().prepare_session(args);
  EXPECT_EQ(value<std::int64_t>(created, step), 7);
  EXPECT_EQ(value<float>(created, weight), 1.0f);
}

TEST_F(SessionManagerConformance, USER_13_AWorkerLooksOftenAtFirstAndThenEveryPeriod) {
  options.first_wait_secs = 0.5;
  options.recovery_wait_secs = 3;
  EXPECT_EQ(error_of([&] { full_manager().wait_for_session("local:shared", 10); }),
            "DEADLINE_EXCEEDED: [B5073] Session was not ready after waiting 10 secs. Variables not initialized (for "
            "local init): "
            "weight, global_step");
  EXPECT_THAT(clock.new_waits_ms(), ElementsAre(500, 1000, 2000, 3000, 3000));
}

TEST_F(SessionManagerConformance, USER_13_AWorkerOfACreatorMayToo) {
  WorkerSessionCreator worker(
      graph, environment,
      {.target = "local:shared", .max_wait_secs = 4, .recovery_wait_secs = 30, .first_wait_secs = 1});
  EXPECT_THAT(error_of([&] { worker.create_session(); }), HasSubstr("4 secs"));
  EXPECT_THAT(clock.new_waits_ms(), ElementsAre(1000, 2000));
}

TEST_F(SessionManagerConformance, PROSE_26_TheDefaultsAreTensorFlows) {
  EXPECT_EQ(SessionManagerOptions().recovery_wait_secs, 30);
  EXPECT_EQ(PrepareArgs().max_wait_secs, 7200);
  EXPECT_FALSE(PrepareArgs().wait_for_checkpoint);
}

TEST_F(SessionManagerConformance, B_12j_InitialValuesAreAskedBeforeTheInitOperationAndSetBehindIt) {
  std::vector<std::string> asked;
  SessionManager m = full_manager();
  args.init_op = init;
  args.target = "local:values";
  args.initial_values = [&, given = five_for_weight(asked)](const std::string& name, const belay_tensor& value) {
    EXPECT_FALSE(targets.open(args.target)->find("weight")->initialized);
    return given(name, value);
  };
  float at_init_fn = 0;
  args.init_fn = [&](DirectSession& session) {
    at_init_fn = session.handle().run({weight})[0].scalar<float>();
    session.store().assign("weight", Tensor(6.0f));
  };
  const CreatedSession created = m.prepare_session(args);
  EXPECT_EQ(asked, (std::vector<std::string>{"global_step", "weight"})) << "local variables are not asked for";
  EXPECT_EQ(at_init_fn, 5.0f);
  EXPECT_EQ(value<float>(created, weight), 6.0f) << "init functions come behind";
  EXPECT_EQ(value<std::int64_t>(created, step), 0) << "the initializer's";
}

TEST_F(SessionManagerConformance, B_12j_ARestoredSessionAsksForNoInitialValues) {
  graph.finalize();
  save(3, 7);
  std::vector<std::string> asked;
  options.local_init_op = local_init;
  SessionManager m(graph, environment, options);
  args.init_op = init;
  args.saver = make_saver();
  args.checkpoint_dir = run.path();
  args.initial_values = five_for_weight(asked);
  EXPECT_EQ(value<float>(m.prepare_session(args), weight), 3.0f);
  EXPECT_THAT(asked, IsEmpty());
}

}  // namespace
}  // namespace belay::runtime::testing
