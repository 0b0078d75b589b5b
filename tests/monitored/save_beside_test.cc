// SPDX-License-Identifier: Apache-2.0
// A save while a hook does not return.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "runtime/loader/instance/held_call.h"
#include "tests/monitored/saved_session.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SaveBeside : public SavedSession, public ::testing::WithParamInterface<SaveMode> {
 protected:
  SaveBeside() { mode = GetParam(); }
  // As from the thread that takes signals, while the session's is in a callback.
  void save_beside() {
    std::thread([this] { session().save_beside_hook(); }).join();
  }
};

INSTANTIATE_TEST_SUITE_P(Save, SaveBeside, ::testing::Values(SaveMode::kAsync, SaveMode::kSync),
                         [](const auto& m) { return m.param == SaveMode::kAsync ? "async" : "sync"; });

TEST_P(SaveBeside, T_148_TheVariablesAndTheOtherHooksStatesAreSavedBesideAHookThatDoesNotComeBack) {
  Probe& x = add_probe("x");
  Probe& y = add_probe("y");
  open();
  x.state = 1, y.state = 1;
  train();
  session().save();
  x.state = 2, y.state = 2;
  train();
  y.in["before_run"] = [&] { save_beside(); };
  train();
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-1", "model.ckpt-2"));
  EXPECT_TRUE(
      logged("hook \\\"y\\\" does not come back from before_run: the variables are saved beside it, and of "
             "this hook the state that it had at the last checkpoint\""))
      << log_text;
  EXPECT_EQ(saver().saved_step(), 2);
  y.in.clear();
  open();
  EXPECT_EQ(read(), 2);
  EXPECT_EQ(x.state, 2);
  EXPECT_EQ(y.state, 1);
}

TEST_P(SaveBeside, T_148_InAfterRunTheStepIsSavedAndTheLogSaysWhoHasNotHeardOfIt) {
  Probe& x = add_probe("x");
  open();
  train();
  x.in["after_run"] = [&] { save_beside(); };
  train();
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-2"));
  EXPECT_TRUE(logged("hooks after it have not heard of this step")) << log_text;
  // It came back: the run continues, and what is there is not written again.
  x.in.clear();
  EXPECT_EQ(train(), 3);
  session().close();
  EXPECT_FALSE(logged("error"));
}

TEST_P(SaveBeside, T_148_NothingIsSavedBesideAnythingElse) {
  Probe& x = add_probe("x");
  open();
  x.in["end"] = [&] { save_beside(); };
  session().save_beside_hook();  // no callback is under way
  train();
  session().close();
  EXPECT_THAT(checkpoints(), IsEmpty());
  EXPECT_FALSE(logged("does not come back"));
}

TEST_P(SaveBeside, T_148_WhatALastCheckpointHasIsNotWrittenAgain) {
  Probe& x = add_probe("x");
  open();
  train();
  session().save();
  x.in["before_run"] = [&] { save_beside(); };
  train();
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-1"));
  EXPECT_FALSE(logged("does not come back"));
}

// The thread is in the callback, or waits at its end, as long as it is held.
TEST_P(SaveBeside, T_148_AHeldCallDoesNotComeBack) {
  Probe& x = add_probe("x");
  open();
  std::atomic<bool> held{false}, released{false};
  std::thread other;
  x.in["before_run"] = [&] {
    other = std::thread([&] {
      const HeldCall call(monitor);
      EXPECT_NE(call.instance(), nullptr);
      EXPECT_EQ(call.callback(), "before_run");
      held = true;
      held.notify_all();
      for (int i = 0; i < 1000; ++i) std::this_thread::yield();
      released = true;
    });
    held.wait(false);
  };
  x.in["after_run"] = [&] { EXPECT_TRUE(released); };
  train();
  other.join();
}

}  // namespace
}  // namespace belay::runtime::testing
