// SPDX-License-Identifier: Apache-2.0
// A trainer and its evaluator, killed at random in twenty rounds. BELAY_SIGNAL_SEED makes other moments.
#include "tests/e2e/two_processes.h"

namespace belay::runtime::testing {
namespace {

TEST_F(TwoProcesses, TwentyRoundsEndAsAnUndisturbedRun) { expect_the_same_end(20, 6); }

}  // namespace
}  // namespace belay::runtime::testing
