// SPDX-License-Identifier: Apache-2.0
// Nine hooks, eight layers, and a NaN in the data of a late step, at ten places.
#include <filesystem>

#include "tests/e2e/reduce_fixture.h"

namespace belay::runtime::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(ReduceTest, TenSeedsComeDownToOneStepAndOneExample) {
  for (unsigned seed = 1; seed <= 10U; ++seed) {
    fs::remove_all(run_dir()), fs::remove_all(small());
    const std::string manifest = noise(4820, 4812, seed, eight_layers_nine_hooks());
    const ProcessResult run = belay({"run", manifest});
    ASSERT_EQ(run.status, 4) << run.err;
    const ProcessResult r = reduce();
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.out, HasSubstr("1 batch of 1 example")) << seed << r.err;
    EXPECT_THAT(small_manifest(), Not(HasSubstr("hooks")));
    EXPECT_THAT(small_manifest(), Not(HasSubstr("hidden")));
  }
}

}  // namespace
}  // namespace belay::runtime::testing
