// SPDX-License-Identifier: Apache-2.0
// [checkpoint] save_on_exception: what a run that ends by an error leaves.
#include <gmock/gmock.h>

#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>

#include "tests/monitored/saved_session.h"

namespace belay::runtime::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class SaveOnException : public SavedSession, public ::testing::WithParamInterface<SaveMode> {
 protected:
  SaveOnException() {
    mode = GetParam();
    saving.checkpoint.save_on_exception = true;
  }
  // The exception that leaves a scope of three runs and then this.
  std::string end_by(const std::function<void()>& f) {
    return error_of([&] {
      session().scope([&] {
        for (int i = 0; i < 3; ++i) train();
        f();
      });
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Save, SaveOnException, ::testing::Values(SaveMode::kAsync, SaveMode::kSync),
                         [](const auto& m) { return m.param == SaveMode::kAsync ? "async" : "sync"; });

TEST_P(SaveOnException, ARunThatEndsByAnErrorSavesItsLastWholeStep) {
  Probe& x = add_probe("x");
  x.state = 7;
  open();
  new_events();
  EXPECT_THROW(end_by([] { throw std::runtime_error("the program's own"); }), std::runtime_error);
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-3"));
  EXPECT_EQ(saver().saved_step(), 3);
  // It hears of the error, and of no checkpoint.
  EXPECT_THAT(timeline, Contains("x.on_error"));
  EXPECT_THAT(timeline, Not(Contains(HasSubstr("_save "))));
  x.state = 0;
  open();
  EXPECT_EQ(read(), 3);
  EXPECT_EQ(x.state, 7);
}

TEST_P(SaveOnException, IsOffByDefault) {
  EXPECT_FALSE(CheckpointSettings().save_on_exception);
  saving.checkpoint.save_on_exception = false;
  open();
  end_by([] { fail(Code::kDataLoss, "no"); });
  EXPECT_THAT(checkpoints(), IsEmpty());
}

TEST_P(SaveOnException, AStepThatFailedBeforeItsHooksHeardOfItIsNoneAndTheOneBeforeIsWhole) {
  Probe& x = add_probe("x");
  open();
  EXPECT_THAT(end_by([&] {
                x.in["before_run"] = [] { fail(Code::kInternal, "before the step"); };
                train();
              }),
              HasSubstr("before the step"));
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-3"));
}

// Its values, and those of the hooks after it, are a step older than the variables.
TEST_P(SaveOnException, AnErrorInAfterRunLeavesNoWholeStep) {
  Probe& x = add_probe("x");
  open();
  end_by([&] {
    x.in["after_run"] = [] { fail(Code::kInternal, "behind the step"); };
    train();
  });
  EXPECT_THAT(checkpoints(), IsEmpty());
  EXPECT_TRUE(logged("is not saved (save_on_exception): the step is not whole, since not every hook has heard of it"));
}

TEST_P(SaveOnException, ADivergedRunIsNotSaved) {
  open();
  end_by([] { fail(Code::kDiverged, "the loss is NaN"); });
  EXPECT_THAT(checkpoints(), IsEmpty());
}

TEST_P(SaveOnException, AStateThatIsNotFiniteIsNotSaved) {
  ops::variable(g, "w", Tensor(std::numeric_limits<float>::infinity()));
  open();
  EXPECT_EQ(end_by([] { fail(Code::kDataLoss, "no"); }), "DATA_LOSS: no");
  EXPECT_THAT(checkpoints(), IsEmpty());
  EXPECT_TRUE(logged("is not saved (save_on_exception): cannot save "));
}

TEST_P(SaveOnException, WhatTheLastCheckpointHasIsNotWrittenAgain) {
  open();
  end_by([&] {
    session().save();
    log_text.clear();
    fail(Code::kDataLoss, "no");
  });
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-3"));
  EXPECT_FALSE(logged("saved "));
}

TEST_P(SaveOnException, AHookThatFailsInItsEndDoesNotLoseTheSteps) {
  add_probe("x").in["end"] = [] { fail(Code::kInternal, "no"); };
  open();
  EXPECT_THAT(end_by([] {}), HasSubstr("in end"));
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-3"));
}

class Forgetful final : public Hook {
 public:
  bool forgets = false;
  void save_state(StateWriter&) const override {
    if (forgets) fail(Code::kInternal, "I forgot");
  }
};

TEST_P(SaveOnException, AHookWithoutAStateForItLeavesTheErrorAsItIs) {
  Forgetful& hook = add_hook("forgetful", std::make_unique<Forgetful>());
  open();
  EXPECT_EQ(end_by([&] {
              hook.forgets = true;
              fail(Code::kDataLoss, "no");
            }),
            "DATA_LOSS: no");
  EXPECT_THAT(checkpoints(), IsEmpty());
  EXPECT_TRUE(logged("I forgot"));
}

}  // namespace
}  // namespace belay::runtime::testing
