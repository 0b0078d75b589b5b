// SPDX-License-Identifier: Apache-2.0
// Calls of a session from inside it: from a step function, a hook, an init function, another thread of either. Some of
// them are allowed.
#include <gmock/gmock.h>

#include <any>
#include <thread>

#include "tests/monitored/counting_session.h"
#include "tests/monitored/saved_session.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class InsideSession : public CountingSessionTest {
 protected:
  void thread_fails(Code code) {
    coordinator().start_thread("loader", [code] { fail(code, "of a thread"); });
    coordinator().wait_for_stop(-1);
  }
  std::int64_t hooked(StepFnContext& context) {
    FetchSet set({train_op});
    RunCall call;
    call.fetches = &set;
    const auto run = context.run_with_hooks(call);
    return TensorView(run.result(set, 0)).scalar<std::int64_t>();
  }
};

// ---- should_stop

TEST_F(InsideSession, T_03a_ShouldStopInAStepFunctionOnlyLooksAndTheLoopRecovers) {
  open();
  const std::shared_ptr<DirectSession> raw = session().raw_session();
  const std::any result = session().run_step_fn([&](StepFnContext& context) -> std::any {
    thread_fails(Code::kAborted);
    EXPECT_FALSE(session().should_stop());
    EXPECT_EQ(session().recoveries(), 0);
    EXPECT_FALSE(context.session().closed());
    return hooked(context);
  });
  EXPECT_EQ(std::any_cast<std::int64_t>(result), 1);
  EXPECT_EQ(session().raw_session(), raw);
  EXPECT_FALSE(session().should_stop());
  EXPECT_EQ(session().recoveries(), 1);
  EXPECT_TRUE(raw->closed());
}

TEST_F(InsideSession, T_03a_ShouldStopInAHookOnlyLooks) {
  for (const char* callback : {"before_run", "after_run"}) {
    hooks = HookSet();
    Probe& x = add_probe(std::string("x_in_") + callback);
    open();
    x.in[callback] = [&, called = false]() mutable {
      if (std::exchange(called, true)) return;
      thread_fails(Code::kUnavailable);
      EXPECT_FALSE(session().should_stop());
      EXPECT_EQ(session().recoveries(), 0);
    };
    EXPECT_EQ(train(), 1);
    EXPECT_EQ(session().recoveries(), 0);
    EXPECT_FALSE(session().should_stop());
    EXPECT_EQ(session().recoveries(), 1);
  }
}

TEST_F(InsideSession, T_03a_ALookSeesWhatStopsTheLoop) {
  Probe& x = add_probe("x");
  open();
  session().run_step_fn([&](StepFnContext& context) -> std::any {
    EXPECT_FALSE(session().should_stop());
    x.look = [](RunContext& run, const RunValues&) { run.request_stop("enough"); };
    hooked(context);
    EXPECT_TRUE(session().should_stop());
    return {};
  });
  open();
  session().run_step_fn([&](StepFnContext&) -> std::any {
    thread_fails(Code::kInternal);
    EXPECT_TRUE(session().should_stop());
    return {};
  });
  EXPECT_EQ(error_of([&] { session().close(); }), "INTERNAL: of a thread");
}

TEST_F(InsideSession, T_03a_WhileASessionIsMadeAnewShouldStopKnowsOfRequestsOnly) {
  Probe& x = add_probe("x");
  std::vector<bool> seen;
  scaffold.host_init = [&](const SessionScaffold&, DirectSession&) {
    if (!timeline.empty() && timeline.back() == "x.before_run") seen.push_back(session().should_stop());
  };
  open();
  x.in["after_create_session"] = [&] {
    seen.push_back(session().should_stop());
    session().request_stop("enough");
    seen.push_back(session().should_stop());
  };
  x.in["before_run"] = [lost = false]() mutable {
    if (!std::exchange(lost, true)) fail(Code::kAborted, "lost");
  };
  EXPECT_EQ(train(), 1);
  EXPECT_EQ(seen, (std::vector<bool>{false, false, true}));
}

// ---- runs

TEST_F(InsideSession, T_03b_ThePreemptionOfARunInAStepFunctionIsTheOutermostCalls) {
  Probe& x = add_probe("x");
  open();
  x.in["before_run"] = [&] {
    x.in.clear();
    fail(Code::kAborted, "lost");
  };
  int calls = 0, behind = 0;
  const std::any result = session().run_step_fn([&](StepFnContext& context) -> std::any {
    ++calls;
    EXPECT_FALSE(context.session().closed());
    train();
    ++behind;
    EXPECT_FALSE(context.session().closed());
    return context.session().handle().run({step})[0].scalar<std::int64_t>();
  });
  EXPECT_EQ(std::any_cast<std::int64_t>(result), 1);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(behind, 1);
  EXPECT_EQ(session().recoveries(), 1);
}

TEST_F(InsideSession, T_03b_AStepFunctionInAStepFunctionIsRepeatedWithTheOutermost) {
  open();
  int outer = 0, inner = 0;
  session().run_step_fn([&](StepFnContext&) {
    ++outer;
    return session().run_step_fn([&](StepFnContext& context) -> std::any {
      if (++inner == 1) fail(Code::kUnavailable, "lost");
      return hooked(context);
    });
  });
  EXPECT_EQ(outer, 2);
  EXPECT_EQ(inner, 2);
  EXPECT_EQ(session().recoveries(), 1);
}

TEST_F(InsideSession, T_03b_AThreadOfAStepFunctionCannotTakeItsHookedRuns) {
  open();
  std::string said;
  session().run_step_fn([&](StepFnContext& context) -> std::any {
    std::thread([&] { said = error_of([&] { hooked(context); }); }).join();
    return hooked(context);
  });
  EXPECT_EQ(said, "FAILED_PRECONDITION: [B5071] run_with_hooks called by another thread than the step function's");
}

// The answer to a call from each callback, in a session that recovers once, saves and ends.
class CalledBack : public SavedSession {
 protected:
  // By callback, the last answer; end comes where the scope ends well, on_error otherwise.
  std::map<std::string, std::string> answers(const std::function<void()>& call, bool well = true) {
    hooks = HookSet();
    Probe& x = add_probe("x" + std::to_string(++probes_));
    bool opened = false;
    std::map<std::string, std::string> said;
    for (const char* callback : {"load_state", "after_create_session", "before_run", "after_run", "before_save",
                                 "after_save", "end", "on_error"})
      x.in[callback] = [&, callback] {
        if (opened) said[callback] = error_of(call);
      };
    scaffold.host_init = [&](const SessionScaffold&, DirectSession&) {
      if (opened) said["init_fn"] = error_of(call);
    };
    open();
    opened = true;
    error_of([&] {
      session().scope([&] {
        train();
        session().interrupt(Error(Code::kAborted, "lost"));
        train();
        session().save();
        if (!well) fail(Code::kInternal, "of the body");
      });
    });
    EXPECT_EQ(session().recoveries(), 1);
    EXPECT_TRUE(session().closed());
    EXPECT_FALSE(graph.finalized());
    return said;
  }
  void expect_refused(const std::string& call, const std::function<void()>& f) {
    for (const bool well : {true, false})
      for (const auto& [callback, said] : answers(f, well))
        EXPECT_THAT(said, StartsWith("FAILED_PRECONDITION: [B5071] " + call + " called inside ")) << callback;
  }

 private:
  int probes_ = 0;
};

TEST_F(CalledBack, T_03c_ARunInAHookIsRefusedWhereverItIsCalled) {
  const auto fresh = answers([&] { train(); });
  const auto restored = answers([&] { train(); });
  EXPECT_THAT(fresh, SizeIs(7));  // with init_fn, without load_state and on_error
  EXPECT_THAT(restored, SizeIs(7));
  EXPECT_THAT(fresh.at("init_fn"), StartsWith("FAILED_PRECONDITION: [B5071] Run called inside "));
  EXPECT_THAT(restored.at("load_state"), StartsWith("FAILED_PRECONDITION: [B5071] Run called inside "));
  expect_refused("Run", [&] { train(); });
  expect_refused("Run", [&] { session().run_step_fn([](StepFnContext&) { return std::any(); }); });
  EXPECT_EQ(fresh.at("after_run"),
            "FAILED_PRECONDITION: [B5071] Run called inside a run of the same session: a hook's own runs go through "
            "its context's "
            "session");
}

// ---- the end

TEST_F(CalledBack, T_04a_CloseInAHookIsRefusedWhereverItIsCalled) {
  expect_refused("Close", [&] { session().close(); });
  expect_refused("Leave", [&] { session().leave(Error(Code::kInternal, "left")); });
  bool entered = false;
  expect_refused("Scope", [&] { session().scope([&] { entered = true; }); });
  EXPECT_FALSE(entered);
}

TEST_F(InsideSession, T_04a_CloseInAStepFunctionIsRefusedAndTheSessionGoesOn) {
  add_probe("x");
  open();
  const std::shared_ptr<DirectSession> raw = session().raw_session();
  session().run_step_fn([&](StepFnContext& context) -> std::any {
    EXPECT_EQ(error_of([&] { session().close(); }),
              "FAILED_PRECONDITION: [B5071] Close called inside a step function of the same session: request_stop ends "
              "the loop");
    EXPECT_THAT(error_of([&] { session().scope([] {}); }),
                StartsWith("FAILED_PRECONDITION: [B5071] Scope called inside"));
    return hooked(context);
  });
  EXPECT_FALSE(raw->closed());
  EXPECT_EQ(train(), 2);
}

TEST_F(InsideSession, T_04b_CloseInEndFailsThatHookOnce) {
  add_probe("x").in["end"] = [&] { session().close(); };
  add_probe("y");
  open();
  new_events();
  EXPECT_THAT(error_of([&] { session().scope([&] { train(); }); }),
              HasSubstr("Close called inside the end of the same session"));
  EXPECT_EQ(new_events(), (Timeline{"x.before_run", "y.before_run", "x.after_run", "y.after_run", "x.end"}));
  EXPECT_TRUE(session().closed());
}

TEST_F(InsideSession, T_04c_CloseInOnErrorCallsNoEndAndTheErrorLeaves) {
  add_probe("x").in["on_error"] = [&] { session().close(); };
  add_probe("y");
  open();
  new_events();
  EXPECT_EQ(error_of([&] { session().scope([] { fail(Code::kInternal, "of the body"); }); }), "INTERNAL: of the body");
  EXPECT_EQ(new_events(), (Timeline{"x.on_error", "y.on_error"}));
}

TEST_F(InsideSession, T_04d_StopNowDuringTheEndInterruptsNothing) {
  Probe& x = add_probe("x");
  std::vector<std::int64_t> at_end;
  x.in["end"] = [&] { session().stop_now("SIGTERM"); };
  x.in_session = [&](Session& s) {
    if (timeline.back() == "x.end") at_end.push_back(s.value(Fetch<std::int64_t>(step)));
  };
  open();
  EXPECT_EQ(error_of([&] { session().scope([&] { train(); }); }), "no error");
  EXPECT_EQ(at_end, (std::vector<std::int64_t>{1}));
}

// ---- saves

TEST_F(CalledBack, T_13_SaveInAHookIsRefusedWhereverItIsCalled) {
  expect_refused("Save", [&] { session().save(); });
}

TEST_F(CalledBack, T_13_BetweenTheRunsOfAStepFunctionSaveWritesACheckpointAndInsideOfOneItIsRefused) {
  Probe& x = add_probe("x");
  open();
  std::string in_hook;
  x.in["after_run"] = [&] { in_hook = error_of([&] { session().save(); }); };
  session().run_step_fn([&](StepFnContext& context) -> std::any {
    FetchSet set({train_op});
    RunCall call;
    call.fetches = &set;
    context.run_with_hooks(call);
    EXPECT_EQ(session().save(), run.path() + "/model.ckpt-1");
    return {};
  });
  EXPECT_EQ(
      in_hook,
      "FAILED_PRECONDITION: [B5071] Save called inside a run of the same session: a hook asks for a checkpoint with "
      "save_checkpoint");
  EXPECT_THAT(checkpoints(), ::testing::ElementsAre("model.ckpt-1"));
}

TEST_F(CalledBack, WhatIsAskedForBehindARunIsSavedAsAtItsBoundary) {
  open();
  train();
  session().save_if_asked();
  EXPECT_THAT(checkpoints(), ::testing::IsEmpty());
  saver().request();
  session().save_if_asked();
  EXPECT_THAT(checkpoints(), ::testing::ElementsAre("model.ckpt-1"));
  train();
  run.directory().make_directory("model.ckpt-2");  // no checkpoint, so it is not replaced
  saver().request();
  session().save_if_asked();
  EXPECT_NE(saver().save_error(), "");
  EXPECT_EQ(train(), 3) << "on_save_error is \"continue\"";
}

}  // namespace
}  // namespace belay::runtime::testing
