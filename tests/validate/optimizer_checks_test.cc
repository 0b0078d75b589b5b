// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/validate/validate.h"

namespace belay::runtime {
namespace {

using ::testing::StartsWith;

// The checks of one plugin that did not pass.
std::vector<std::string> flaws_found(const std::string& plugin, const std::string& flaw) {
  std::vector<std::string> found;
  validate(BELAY_FLAWED_OPTIMIZER, {.sets = {"flaw=" + flaw}}, [&](const CheckResult& r) {
    if (r.verdict != Verdict::kPassed && (r.plugin.empty() || r.plugin == plugin))
      found.push_back(r.check + ": " + verdict_name(r.verdict) + ": " + r.text);
  });
  return found;
}

TEST(ValidateOptimizers, B_18k_OneWithoutAFlawPasses) {
  EXPECT_EQ(flaws_found("optimizer \"flawed_optimizer\"", "none"), std::vector<std::string>());
  EXPECT_EQ(flaws_found("schedule \"flawed_schedule\"", "none"), std::vector<std::string>());
}

TEST(ValidateOptimizers, B_18k_EachFlawOfAnOptimizerFailsItsCheck) {
  const struct {
    const char* flaw;
    const char* expected;
  } cases[] = {
      {"refuses float64", "drive.builds: failed: building for float64 variables failed: UNIMPLEMENTED: optimizer "},
      {"slots too late", "drive.names_its_slots: failed: its variable train/synthetic/kernel/Sum is made in prepare"},
      {"climbs", "drive.lowers_a_loss: failed: twenty steps did not lower a sum of squares: "},
      {"keeps something else", "drive.resumes: failed: restored from its variables after 5 steps it makes another "},
      {"sparse forgets the sum",
       "drive.sparse_gradients: failed: apply_sparse makes another row 0 of synthetic/table than apply does for the "
       "same gradient: "},
      {"sparse moves all rows",
       "drive.sparse_gradients: failed: apply_sparse changes row 0 of synthetic/table, which has no gradient in the "
       "step; it must write the rows of its indices alone"},
      {"divides by the gradient", "faults.zero_gradients: failed: gradients of 0 make synthetic/kernel"},
  };
  for (const auto& c : cases) {
    const std::vector<std::string> found = flaws_found("optimizer \"flawed_optimizer\"", c.flaw);
    bool there = false;
    for (const std::string& text : found) there = there || text.rfind(c.expected, 0) == 0;
    EXPECT_TRUE(there) << c.flaw << ": " << ::testing::PrintToString(found);
  }
}

TEST(ValidateOptimizers, B_18k_AnOptionWithTheNameOfAHostsKeyCanNeverBeGiven) {
  EXPECT_EQ(flaws_found("optimizer \"unreachable\"", "none"),
            std::vector<std::string>{"create.host_keys: failed: its option 'clip_norm' can never be given: in "
                                     "[optimizer] that key is the host's; name it otherwise"});
}

TEST(ValidateOptimizers, B_18k_EachFlawOfAScheduleFailsItsCheck) {
  const struct {
    const char* flaw;
    const char* expected;
  } cases[] = {
      {"falls below 0", "drive.rates: failed: at step 1001 the rate is "},
      {"divides by the step", "drive.rates: failed: at step 0 the rate is inf; it must be finite and at least 0"},
      {"counts runs",
       "drive.of_the_step_alone: failed: the rate of a step depends on which steps were asked for before"},
  };
  for (const auto& c : cases) {
    const std::vector<std::string> found = flaws_found("schedule \"flawed_schedule\"", c.flaw);
    ASSERT_EQ(found.size(), 1u) << c.flaw << ": " << ::testing::PrintToString(found);
    EXPECT_THAT(found[0], StartsWith(c.expected));
  }
}

}  // namespace
}  // namespace belay::runtime
