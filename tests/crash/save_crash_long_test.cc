// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/killed_saver.h"

namespace belay::runtime {
namespace {

// F1
TEST(SaveCrashLong, ARunKilledAThousandTimesLosesNothingThatItAnnounced) {
  EXPECT_GE(kill_at_random_moments("safetensors", 1000, 2), 300);
}
TEST(SaveCrashLong, AForeignSaverKilledAThousandTimesLosesNothingEither) {
  EXPECT_GE(kill_at_random_moments("stdio_saver", 1000, 5), 300);
}

// F2
TEST(SaveCrashLong, NoSystemCallIsTheWrongMomentToDie) { kill_at_every_system_call("safetensors"); }
TEST(SaveCrashLong, NorIsOneOfAForeignSaver) { kill_at_every_system_call("stdio_saver"); }
TEST(SaveCrashLong, NorIsOneOfASaverOfSeveralFiles) { kill_at_every_system_call("tf_bundle"); }

// F4, F7, F11
TEST(SaveCrashLong, NoErrorOfAnySystemCallCostsMoreThanItsSave) { disturb_every_system_call("safetensors", true); }
TEST(SaveCrashLong, NorDoesOneOfAForeignSaver) { disturb_every_system_call("stdio_saver", true); }
TEST(SaveCrashLong, NorDoesOneOfASaverOfSeveralFiles) { disturb_every_system_call("tf_bundle", true); }

}  // namespace
}  // namespace belay::runtime
