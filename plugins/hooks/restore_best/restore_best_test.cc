// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "belay/testing/temporary_folder.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_restore_best;

namespace restore_best_test {

using namespace belay::testing;
using belay::Code;
using belay::Error;
using belay::Tensor;

const belay_module& module() { return module_under_test(belay_module_restore_best); }

class RestoreBest : public ::testing::Test {
 protected:
  // Makes a run at that step. A file `best` lists its best checkpoints.
  HookDriver& run(std::int64_t step) {
    std::ofstream(folder.path() + "/best") << "{}";
    DriverSetup setup;
    setup.run_directory = folder.path();
    driver = std::make_unique<HookDriver>(module(), OptionValues{}, setup);
    driver->global_step(step);
    driver->session().variable("global_step", Tensor(step), false);
    driver->session().variable("weight", Tensor(1.0f));
    driver->session().variable("weight/adam_m", Tensor(2.0f), false);
    driver->begin();
    return *driver;
  }
  void add_best(std::int64_t step) {
    driver->checkpoints().add(
        folder.path() + "/best",
        {{"global_step", Tensor(step)}, {"weight", Tensor(10.0f)}, {"weight/adam_m", Tensor(20.0f)}});
  }
  float value(const char* name) {
    return belay::TensorView(driver->session().variable_value(name).view()).scalar<float>();
  }

  TemporaryFolder folder;
  std::unique_ptr<HookDriver> driver;
};

TEST_F(RestoreBest, EndsWithTheVariablesOfTheBestAndTheLastStepAndSavesThem) {
  HookDriver& hook = run(700);
  add_best(400);
  hook.create_session();
  hook.step();
  EXPECT_EQ(value("weight"), 1);
  hook.end();
  EXPECT_EQ(value("weight"), 10);
  EXPECT_EQ(value("weight/adam_m"), 20);
  EXPECT_EQ(hook.session().assigned(), (std::vector<std::string>{"weight", "weight/adam_m"}));
  EXPECT_EQ(hook.saves(), (std::vector<std::int64_t>{701}));
  EXPECT_EQ(hook.logged(), (std::vector<std::string>{"info: the weights are now those of step 400, the best "
                                                     "evaluation; step 701 is saved with them"}));
  hook.destroy();
}

TEST_F(RestoreBest, WhereTheLastStepIsTheBestNothingIsDone) {
  HookDriver& hook = run(700);
  add_best(701);
  hook.create_session();
  hook.step();
  hook.end();
  EXPECT_TRUE(hook.session().assigned().empty());
  EXPECT_TRUE(hook.saves().empty());
  EXPECT_EQ(hook.logged(), (std::vector<std::string>{"info: the last step, 701, is the best one"}));
}

TEST_F(RestoreBest, ARunThatKeepsNoBestIsRefusedBeforeItsFirstStep) {
  HookDriver& hook = run(0);
  std::remove((folder.path() + "/best").c_str());
  EXPECT_EQ(error_of([&] { hook.create_session(); }),
            "FAILED_PRECONDITION: restore_best has nothing to restore: give the run a directory (run.dir) and set "
            "[checkpoint] keep_best = 1");
  HookDriver without(module(), {});
  without.global_step(0);
  without.begin();
  EXPECT_NE(error_of([&] { without.create_session(); }), "");
}

TEST_F(RestoreBest, ABestThatCannotBeReadIsAWarningAndTheLastWeightsStay) {
  HookDriver& hook = run(700);
  hook.checkpoints().add_damaged(folder.path() + "/best", Error(Code::kDataLoss, "none of them is whole"));
  hook.create_session();
  hook.end();
  EXPECT_EQ(value("weight"), 1);
  EXPECT_TRUE(hook.saves().empty());
  EXPECT_EQ(hook.logged(),
            (std::vector<std::string>{"warning: the weights stay those of the last step: none of them is whole"}));
}

TEST_F(RestoreBest, WhereTheRunWasAskedToStopTheNextStartGoesOnWithTheLastWeights) {
  HookDriver& hook = run(700);
  add_best(400);
  hook.create_session();
  hook.step();
  hook.host().stopping = true;
  hook.end();
  EXPECT_TRUE(hook.session().assigned().empty());
  EXPECT_TRUE(hook.saves().empty());
  EXPECT_EQ(hook.logged(),
            (std::vector<std::string>{"info: the weights stay those of step 701, and the next start continues with "
                                      "them; the best ones are restored when the training ends"}));
}

TEST_F(RestoreBest, AfterAnErrorNothingIsRestored) {
  HookDriver& hook = run(700);
  add_best(400);
  hook.create_session();
  hook.error(Error(Code::kInternal, "x"));
  EXPECT_TRUE(hook.session().assigned().empty());
}

}  // namespace restore_best_test
