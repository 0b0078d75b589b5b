// SPDX-License-Identifier: Apache-2.0
// Savers that never yield, throw or crash in the thread that writes beside the training. (That one which hangs is named
// when the run waits for it is in run_faults_test.cc.)
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/e2e/ends_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class BackgroundFaults : public RunTest {
 protected:
  // Its second write, of step 5, does `how`.
  std::string faulty(const std::string& how, const std::string& checkpoint = "", const std::string& more = "",
                     int max_steps = 20) {
    return regression("delay_secs = 0.002",
                      "[checkpoint]\nsave_steps = 5\n" + checkpoint +
                          "[scaffold]\nsaver = { plugin = \"faulty_saver\", in = \"write\", at_call = 2, how = \"" +
                          how + "\" }\n" + more,
                      max_steps);
  }
  // The next start, whose saver works.
  ProcessResult next_start(int max_steps) {
    return belay(
        {"run", regression("", "[checkpoint]\nsave_steps = 5\n[scaffold]\nsaver = { plugin = \"faulty_saver\" }\n",
                           max_steps)});
  }
  static constexpr const char* kNamed = "saver \"faulty_saver\" (faulty.so 1.0.0, train.toml:";
};

TEST_F(BackgroundFaults, ASaverThatNeverYieldsDoesNotOutliveASignalsGrace) {
  BelayProcess run({"run", faulty("hang", "", "[session]\nsignal_grace_secs = 0.5\n", 1'000'000)});
  ASSERT_TRUE(run.wait_until([&] {
    const std::vector<std::string> names = listing(run_dir());
    return std::any_of(names.begin(), names.end(),
                       [](const std::string& n) { return n.starts_with("model.ckpt-5.tmp-"); });
  })) << run.wait().err;
  run.kill(SIGTERM);
  const ProcessResult r = run.wait();
  EXPECT_EQ(r.signal, SIGTERM) << r.err;
  EXPECT_THAT(told(r), HasSubstr("saved is DIR/run/model.ckpt-0, from which the next start continues"));
  const ProcessResult next = next_start(20);
  EXPECT_EQ(next.status, 0) << next.err;
  EXPECT_THAT(lines_with(next.err, "restored step 0"), SizeIs(1)) << next.err;
  EXPECT_THAT(listing(run_dir()), Not(Contains(HasSubstr(".tmp-"))));
}

TEST_F(BackgroundFaults, OneThatThrowsIsNamedAndTheRunGoesOn) {
  const ProcessResult r = belay({"run", faulty("resource_exhausted")});
  EXPECT_EQ(r.status, 0) << r.err;
  const std::vector<std::string> said = lines_with(r.err, "was not written");
  ASSERT_THAT(said, SizeIs(1)) << r.err;
  EXPECT_THAT(said[0], HasSubstr("the checkpoint of step 5 was not written (on_save_error = \"continue\")"));
  EXPECT_THAT(said[0], HasSubstr(kNamed));
  EXPECT_THAT(said[0], HasSubstr("in write at step 5: no more room"));
  EXPECT_THAT(listing(run_dir()), Contains("model.ckpt-20"));
  EXPECT_THAT(listing(run_dir()), Not(Contains("model.ckpt-5")));
}

TEST_F(BackgroundFaults, OneThatThrowsEndsTheRunWhereItIsTo) {
  const ProcessResult r = belay({"run", faulty("runtime_error", "on_save_error = \"stop\"\nsave_failures = 1\n")});
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(lines_with(r.err, std::string("error[B4002]: training ended with an error: ")), SizeIs(1)) << r.err;
  EXPECT_THAT(r.err, HasSubstr(kNamed));
  EXPECT_THAT(listing(run_dir()), Contains("model.ckpt-0"));
  EXPECT_THAT(listing(run_dir()), Not(Contains(HasSubstr(".tmp-"))));
  const ProcessResult next = next_start(20);
  EXPECT_EQ(next.status, 0) << next.err;
}

TEST_F(BackgroundFaults, OneThatThrowsIsWaitedForWhereItIsTo) {
  const ProcessResult r = belay({"run", faulty("string", "on_save_error = \"pause\"\nsave_failures = 1\n")});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("the training waits until a checkpoint can be written"));
  EXPECT_THAT(r.err, HasSubstr("the training continues"));
  EXPECT_THAT(listing(run_dir()), Contains("model.ckpt-20"));
}

// The third write, of step 8.
TEST_F(PluginEnds, ACrashInTheWritingThreadIsNamedAndTheNextStartGoesOnFromTheCheckpointBefore) {
  if (sanitized()) GTEST_SKIP() << "a sanitizer reports the crash in its own way";
  for (const char* how : {"segv", "abort", "terminate"}) {
    start_over();
    const ProcessResult r = run("saver.write", how, "3");
    EXPECT_NE(r.signal, 0) << how << r.err;
    EXPECT_THAT(r.err, HasSubstr("in saver \"ends_saver\" (ends.so 1.0.0, train.toml:")) << how;
    EXPECT_THAT(r.err, HasSubstr("in write at step 8")) << how;
    const ProcessResult next = belay({"run", manifest()});
    EXPECT_EQ(next.status, 0) << how << next.err;
    EXPECT_THAT(lines_with(next.err, "info restored step 4"), SizeIs(1)) << how << next.err;
    EXPECT_THAT(lines_with(next.err, kWithoutAWord), IsEmpty()) << how << next.err;
    EXPECT_THAT(listing(dir()), Not(Contains(HasSubstr(".tmp-")))) << how;
  }
}

}  // namespace
}  // namespace belay::runtime::testing
