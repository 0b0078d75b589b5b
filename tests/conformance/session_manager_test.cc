// SPDX-License-Identifier: Apache-2.0
// Section 26: sessions that are ready to run.
#include "runtime/monitored/session_manager.h"

#include <gmock/gmock.h>

#include <cmath>

#include "belay/ops/tables.h"
#include "runtime/checkpoint/restore_error.h"
#include "runtime/monitored/session_creator.h"
#include "tests/monitored/saver_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two saved variables and a local one, and the operations of a default scaffold.
class SessionManagerConformance : public SaverTest {
 protected:
  SessionManagerConformance() {
    weight = ops::variable(g, "weight", Tensor(1.0f));
    step = ops::create_global_step(g);
    seen = ops::variable(g, "seen", Tensor(std::int64_t{0}), ops::VariableKind::kLocal);
    init = ops::group(g, g.collection("variable_init"), "init");
    local_init = ops::group(g, g.collection("local_variable_init"), "local_init");
    all_ready = ops::report_uninitialized_variables(g, {weight, step, seen}, "all_ready");
    globals_ready = ops::report_uninitialized_variables(g, {weight, step}, "globals_ready");
  }
  SessionManager manager() {
    graph.finalize();
    return SessionManager(graph, environment, options);
  }
  // With all that a default scaffold has.
  SessionManager full_manager() {
    options.local_init_op = local_init;
    options.ready_op = all_ready;
    options.ready_for_local_init_op = globals_ready;
    return manager();
  }
  template <class T>
  T value(const CreatedSession& created, const Output& output) {
    return created.session->handle().run({output})[0].scalar<T>();
  }
  // A checkpoint of the run, with this weight at this step.
  std::string save(float w, std::int64_t at_step) {
    const std::shared_ptr<RunSaver> saver = make_saver();
    const std::shared_ptr<DirectSession> session = open_session();
    session->store().assign("weight", Tensor(w));
    session->store().assign("global_step", Tensor(at_step));
    saver->request();
    saver->at_boundary(*session, hooks);
    return saver->saved_path();
  }

  static Tensor names(const std::vector<std::string>& texts) {
    Tensor t(DType::kString, {static_cast<std::int64_t>(texts.size())});
    for (std::size_t i = 0; i < texts.size(); ++i) t.set_text(i, texts[i]);
    return t;
  }
  // As PrepareArgs takes them: 5 for "weight", and none of the others; `asked` gets the names.
  InitialValues five_for_weight(std::vector<std::string>& asked) {
    return [&asked](const std::string& name, const belay_tensor& value) {
      asked.push_back(name);
      if (name != "weight") return false;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(value.data) % 64, 0u);
      EXPECT_EQ(TensorView(value).scalar<float>(), 0.0f);
      *static_cast<float*>(value.data) = 5.0f;
      return true;
    };
  }
  // A checkpoint of step 7 of a model that has the global step and these variables, and no "weight".
  void save_of_smaller_graph(const std::vector<std::pair<std::string, Tensor>>& variables = {}) {
    NodeGraph smaller(*ops);
    const belay::Graph h = smaller.handle();
    ops::create_global_step(h);
    for (const auto& [name, value] : variables) {
      const std::size_t slash = name.find('/');
      if (slash == std::string::npos) {
        ops::variable(h, name, value);
      } else {
        const auto scope = h.scope(name.substr(0, slash));
        ops::variable(h, name.substr(slash + 1), value);
      }
    }
    smaller.finalize();
    const auto session =
        std::make_shared<DirectSession>(smaller, std::make_shared<VariableStore>(), environment.session);
    session->run_once(smaller.collection("variable_init"));
    session->store().assign("global_step", Tensor(std::int64_t{7}));
    const std::shared_ptr<RunSaver> saver = make_saver();
    saver->request();
    saver->at_boundary(*session, hooks);
  }

  Output weight, step, seen, init, local_init, all_ready, globals_ready;
  SessionManagerOptions options;
  PrepareArgs args;
};

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
      "FAILED_PRECONDITION: Model is not initialized and no init_op or init_fn or local_init_op was given";
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
  EXPECT_EQ(error_of([&] { manager(); }), "INVALID_ARGUMENT: ready_for_local_init_op is given without a local_init_op");
}

TEST_F(SessionManagerConformance, PROSE_26_WhatInitLeavesOutIsNamed) {
  args.init_op = ops::group(g, {ops::assign(weight, ops::constant(g, Tensor(2.0f)))}, "init_weight_only");
  EXPECT_EQ(
      error_of([&] { full_manager().prepare_session(args); }),
      "FAILED_PRECONDITION: Init operations did not make model ready for local_init. Variables not initialized (for "
      "local init): global_step");
}

TEST_F(SessionManagerConformance, SM_19_ALocalVariableThatNobodyInitializesIsNamed) {
  options.ready_op = all_ready;
  args.init_op = init;
  EXPECT_EQ(
      error_of([&] { manager().prepare_session(args); }),
      "FAILED_PRECONDITION: Init operations did not make model ready. Variables not initialized (of the model): seen");
}

TEST_F(SessionManagerConformance, SM_17_WithoutAReadyOperationNothingIsChecked) {
  options.local_init_op = local_init;
  const CreatedSession created = manager().prepare_session(args);
  EXPECT_EQ(value<std::int64_t>(created, seen), 0);
  EXPECT_EQ(error_of([&] { value<float>(created, weight); }),
            "FAILED_PRECONDITION: Attempting to use uninitialized value weight");
}

// The older kind of ready operation: one that fails instead of listing names.
TEST_F(SessionManagerConformance, SM_23_AReadyOperationMayFailOnWhatIsNotInitialized) {
  options.ready_op = ops::identity(weight, "read_weight");
  options.local_init_op = local_init;
  EXPECT_EQ(
      error_of([&] { manager().prepare_session(args); }),
      "FAILED_PRECONDITION: Init operations did not make model ready. Attempting to use uninitialized value weight");
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
      "INVALID_ARGUMENT: Can not provide both checkpoint_dir ('/runs/a') and checkpoint_filename_with_path "
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
            "FAILED_PRECONDITION: Attempting to use uninitialized value weight");
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
  EXPECT_EQ(
      error_of([&] { full_manager().wait_for_session("local:shared", 100); }),
      "DEADLINE_EXCEEDED: Session was not ready after waiting 100 secs. Variables not initialized (for local init): "
      "weight, global_step");
  EXPECT_THAT(clock.new_waits_ms(), ElementsAre(30000, 30000, 30000));
}

TEST_F(SessionManagerConformance, SM_24_AWaiterWithLessThanOnePeriodLooksOnce) {
  EXPECT_EQ(
      error_of([&] { full_manager().wait_for_session("local:shared", 3); }),
      "DEADLINE_EXCEEDED: Session was not ready after waiting 3 secs. Variables not initialized (for local init): "
      "weight, global_step");
  EXPECT_THAT(clock.new_waits_ms(), IsEmpty());
}

TEST_F(SessionManagerConformance, SM_15_AWaiterWithoutAGuardWaitsForTheModelToBeReady) {
  options.local_init_op = local_init;
  options.ready_op = all_ready;
  options.recovery_wait_secs = 1;
  EXPECT_EQ(error_of([&] { manager().wait_for_session("local:shared", 2); }),
            "DEADLINE_EXCEEDED: Session was not ready after waiting 2 secs. Variables not initialized (of the model): "
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
  EXPECT_EQ(
      error_of([&] { full_manager().prepare_session(args); }),
      "INVALID_ARGUMENT: 'grpc://somewhere:2222' is no session target: use \"\" (a store for this session alone) or "
      "\"local:NAME\"");
}

// ---- several sessions, several attempts ----

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
  EXPECT_EQ(
      error_of([&] { manager().prepare_session(args); }),
      "FAILED_PRECONDITION: Init operations did not make model ready. Variables not initialized (of the model): seen");
}

TEST_F(SessionManagerConformance, SM_22_WithoutAGuardGlobalsThatNobodyInitializedAreFoundByTheReadyCheck) {
  options.local_init_op = local_init;
  options.ready_op = all_ready;
  EXPECT_EQ(error_of([&] { manager().prepare_session(args); }),
            "FAILED_PRECONDITION: Init operations did not make model ready. Variables not initialized (of the model): "
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
       "FAILED_PRECONDITION: Init operations did not make model ready. Variables not initialized (of the model): a, b"},
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
              "FAILED_PRECONDITION: the checkpoint '" + run.path() +
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
  EXPECT_EQ(error, "FAILED_PRECONDITION: the checkpoint '" + run.path() +
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
  EXPECT_EQ(
      error_of([&] { full_manager().wait_for_session("local:shared", 10); }),
      "DEADLINE_EXCEEDED: Session was not ready after waiting 10 secs. Variables not initialized (for local init): "
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
