// SPDX-License-Identifier: Apache-2.0
// Two runs compared from C++: by a program, and by the test of a plugin.
#include "belay/testing/same_run.h"

#include <belay/runtime/compare_runs.h>

#include <filesystem>
#include <string>

#include "belay/testing/error_of.h"
#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::belay::testing::error_of;
using ::belay::testing::expect_same_run;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class SameRunTest : public RunTest {
 protected:
  std::string run(const std::string& name, const std::string& set = "run.threads=1", const std::string& more = "") {
    const std::string manifest =
        regression("shuffle = true\n", "[checkpoint]\nsave_steps = 20\nmax_to_keep = 10\n" + more);
    const ProcessResult r = belay({"run", manifest, "--set", "run.dir=\"" + (temp / name) + "\"", "--set", set});
    EXPECT_EQ(r.status, 0) << r.err;
    return temp / name;
  }
};

TEST_F(SameRunTest, ARunThatIsWatchedIsTheSame) {
  const std::string a = run("a");
  const std::string b = run("b", "run.threads=1", "[[hooks]]\nplugin = \"gradient_norms\"\n");
  EXPECT_EQ(error_of([&] { expect_same_run(a, b); }), "");
  const RunComparison c = compare_runs(a, b);
  EXPECT_TRUE(c.same()) << c.text();
  EXPECT_EQ(c.common_steps, 4u);
  EXPECT_EQ(c.last_equal, 50);
  EXPECT_EQ(c.text(), "they are equal at the 4 steps that both left, up to 50");
  ASSERT_FALSE(c.manifest.empty());
  EXPECT_THAT(c.manifest[0].key, StartsWith("hooks.gradient_norms."));
}

TEST_F(SameRunTest, AnotherRateIsNamedWithTheStepAndTheVariables) {
  const std::string a = run("a"), b = run("b", "optimizer.learning_rate=0.02");
  EXPECT_THAT(
      error_of([&] { expect_same_run(a, b); }),
      AllOf(StartsWith("DATA_LOSS: "), HasSubstr("are not the same run: equal up to step 0, different at step 20 "
                                                 "in linear/bias, linear/kernel; belay bisect ")));
  const RunComparison c = compare_runs(a, b);
  EXPECT_FALSE(c.same());
  EXPECT_EQ(c.first_different, 20);
  EXPECT_THAT(c.variables, ElementsAre("linear/bias", "linear/kernel"));
  EXPECT_EQ(c.text(), "they are equal up to step 0 and differ at step 20, in linear/bias, linear/kernel");
}

TEST_F(SameRunTest, ARunThatCameLessFarIsNotTheSame) {
  const std::string a = run("a"), b = run("b", "run.max_steps=40");
  EXPECT_THAT(error_of([&] { expect_same_run(a, b); }), HasSubstr("one came to step 50, the other to step 40"));
}

TEST_F(SameRunTest, WhatIsNoRunIsNotFound) {
  std::filesystem::create_directory(temp / "empty");
  EXPECT_THAT(error_of([&] { expect_same_run(temp / "empty", temp / "empty"); }),
              AllOf(StartsWith("NOT_FOUND: "), HasSubstr("holds neither checkpoints nor metrics.jsonl")));
}

}  // namespace
}  // namespace belay::runtime::testing
