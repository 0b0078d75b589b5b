// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/killed_saver.h"

namespace belay::runtime {
namespace {

// F1
TEST(SaveCrashLong, ARunKilledAThousandTimesLosesNothingThatItAnnounced) {
  kill_at_random_moments("safetensors", 1000, 2);
}
TEST(SaveCrashLong, AForeignSaverKilledAThousandTimesLosesNothingEither) {
  kill_at_random_moments("stdio_saver", 1000, 5);
}

// F2
TEST(SaveCrashLong, NoSystemCallIsTheWrongMomentToDie) { kill_at_every_system_call("safetensors"); }
TEST(SaveCrashLong, NorIsOneOfAForeignSaver) { kill_at_every_system_call("stdio_saver"); }
TEST(SaveCrashLong, NorIsOneOfASaverOfSeveralFiles) { kill_at_every_system_call("tf_bundle"); }

}  // namespace
}  // namespace belay::runtime
