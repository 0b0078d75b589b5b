// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/killed_saver.h"

namespace belay::runtime {
namespace {

// F1
TEST(SaveCrashLong, ARunKilledAThousandTimesLosesNothingThatItAnnounced) { kill_at_random_moments(1000, 2); }

// F2
TEST(SaveCrashLong, NoSystemCallIsTheWrongMomentToDie) { kill_at_every_system_call(); }

}  // namespace
}  // namespace belay::runtime
