// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/unreached_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/manifest/parsed.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> unreached(const std::string& text, const std::vector<std::string>& sets = {}) {
  const Parsed result = parsed(text + kRest, sets);
  EXPECT_EQ(result.errors, "");
  return unreached_steps(result.manifest.value());
}

TEST(UnreachedSteps, T_122_AWarmUpThatTheRunDoesNotEndIsNamed) {
  const std::string text =
      "[run]\nmax_steps = 50\n[optimizer]\nname = 'sgd'\nlearning_rate = { schedule = 'constant', warmup_steps = 100 "
      "}\n";
  EXPECT_THAT(unreached(text),
              ElementsAre("train.toml:5: warmup_steps is 100, and the run ends at max_steps = 50: the learning rate "
                          "never comes to its value; lower warmup_steps, or raise max_steps"));
  EXPECT_THAT(unreached(text, {"run.max_steps=100"}), IsEmpty()) << "the last step has the whole rate";
  EXPECT_THAT(unreached("[optimizer]\nlearning_rate = { schedule = 'constant', warmup_steps = 100 }\n"), IsEmpty())
      << "there is no last step";
}

TEST(UnreachedSteps, T_122_AGroupThatIsNeverTrainedIsNamed) {
  const std::string text =
      "[run]\nmax_steps = 50\n[optimizer]\nname = 'sgd'\nlearning_rate = 0.1\n"
      "groups = [{ vars = 'a*', from_step = 49 }, { vars = 'b*', from_step = 50 }]\n";
  EXPECT_THAT(unreached(text),
              ElementsAre("train.toml:6: from_step of the group \"b*\" is 50, and the run ends at max_steps = 50: the "
                          "group is never trained; lower from_step, or set learning_rate_scale = 0"));
}

}  // namespace
}  // namespace belay::runtime
