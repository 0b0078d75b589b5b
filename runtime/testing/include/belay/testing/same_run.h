// SPDX-License-Identifier: Apache-2.0
// Checks that two runs have the same results, bit for bit. It is for tests of a plugin that must change no bit: a hook
// that only watches, another way to compute the same, a killed run that continued. Link belay::testing_runtime.
//
//   run("a", {});
//   run("b", {"hooks=[{plugin = \"my_watching_hook\"}]"});   // by ManifestRun, or the program belay
//   expect_same_run("a", "b");
//
// The runs leave their checkpoints or the digests of the hook state_digest. Set checkpoint.save_steps and max_to_keep,
// so that both leave checkpoints of the same steps. Variables are compared only by these. `belay bisect a b` then finds
// the step and the operation.
#pragma once

#include <string>

namespace belay {
inline namespace v0 {
namespace testing {

// DATA_LOSS: the runs differ, reached different steps, or left nothing to compare. The message names both directories,
// the last equal step, the first different one and its variables. So a test fails in any framework. NOT_FOUND: a path
// is no run's directory. It only reads. Call it from any thread.
void expect_same_run(const std::string& a, const std::string& b);

}  // namespace testing
}  // namespace v0
}  // namespace belay
