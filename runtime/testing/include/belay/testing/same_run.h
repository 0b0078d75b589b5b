// SPDX-License-Identifier: Apache-2.0
// That two runs came to the same bits, for tests of a plugin that must change none: a hook that watches, another way to
// compute the same, a run that was killed and went on. Link belay::testing_runtime.
//
//   run("a", {});
//   run("b", {"hooks=[{plugin = \"my_watching_hook\"}]"});   // by ManifestRun, or the program belay
//   expect_same_run("a", "b");
//
// The runs leave their checkpoints (set checkpoint.save_steps and max_to_keep, so that both leave those of the same
// steps) or the digests of the hook state_digest; variables are compared by these, and nothing else is. `belay bisect a
// b` then finds the step and the operation.
#pragma once

#include <string>

namespace belay {
inline namespace v0 {
namespace testing {

// DATA_LOSS, with both directories, the last equal step, the first that differs and the variables that do, where they
// have not come to the same bits, or not equally far, or left nothing to compare: so a test fails in any framework.
// NOT_FOUND where one of them is no run's directory. Only reads. Any thread.
void expect_same_run(const std::string& a, const std::string& b);

}  // namespace testing
}  // namespace v0
}  // namespace belay
