// SPDX-License-Identifier: Apache-2.0
// `belay replay --first-non-finite`: the step and the tensor where a divergence began.
#include <string>

#include "tests/e2e/planted_run.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

using FirstNonFiniteTest = PlantedRunTest;

TEST_F(FirstNonFiniteTest, FindsANanInAnActivationAGradientAndAFile) { expect_found(2); }

TEST_F(FirstNonFiniteTest, ARunThatIsFiniteHasNone) {
  ASSERT_EQ(belay({"run", planted("run", "", 10, 4)}).status, 0);
  const ProcessResult r = belay({"replay", run_dir(), "--first-non-finite", "--step", "4", "--out", dir("found")});
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(r.out, StartsWith("every step from 1 to 11 is finite"));
}

TEST_F(FirstNonFiniteTest, OptionsThatNameStepsOrHooksAreRefused) {
  const ProcessResult r = belay({"replay", run_dir(), "--first-non-finite", "--fetch", "loss"});
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(r.err, HasSubstr("leave --fetch out"));
}

}  // namespace
}  // namespace belay::runtime::testing
