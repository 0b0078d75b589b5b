// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/killed_saver.h"

namespace belay::runtime {
namespace {

// F1
TEST(SaveCrash, ARunKilledTwoHundredTimesLosesNothingThatItAnnounced) {
  EXPECT_GE(kill_at_random_moments("safetensors", 200, 1), 40);
}

// It writes through fopen and never syncs: all that keeps its checkpoints whole is the host's.
TEST(SaveCrash, AForeignSaverLosesNothingEither) { kill_at_random_moments("stdio_saver", 100, 3); }

TEST(SaveCrash, NorDoesOneOfSeveralFiles) { kill_at_random_moments("tf_bundle", 100, 4); }

// F7, F11
TEST(SaveCrash, NoFailedOrShortSystemCallCostsMoreThanItsSave) { disturb_every_system_call("safetensors", false); }
TEST(SaveCrash, NorDoesOneOfAForeignSaver) { disturb_every_system_call("stdio_saver", false); }

}  // namespace
}  // namespace belay::runtime
