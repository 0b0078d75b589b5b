// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/killed_saver.h"

namespace belay::runtime {
namespace {

// F1
TEST(SaveCrash, ARunKilledTwoHundredTimesLosesNothingThatItAnnounced) { kill_at_random_moments(200, 1); }

}  // namespace
}  // namespace belay::runtime
