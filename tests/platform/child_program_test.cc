// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/process/child_program.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <fstream>
#include <sstream>

#include "belay/testing/error_of.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

class ChildProgramTest : public ::testing::Test {
 protected:
  ChildProgram shell(const std::string& script, const std::string& log = "log") const {
    return {"sh", {"-c", script}, temp / log};
  }
  std::string written(const std::string& log = "log") const {
    std::ostringstream text;
    text << std::ifstream(temp / log).rdbuf();
    return text.str();
  }
  TempDir temp;
};

TEST_F(ChildProgramTest, EndsWithItsStatusAndAllThatItWroteIsInItsLog) {
  const ProgramEnd end = run_programs({shell("echo out; echo one >&2; cat; echo two >&2; exit 7")})[0];
  EXPECT_EQ(end.status, 7);
  EXPECT_FALSE(end.timed_out);
  EXPECT_EQ(written(), "out\none\ntwo\n");
}

TEST_F(ChildProgramTest, ASignalThatEndsItIsItsStatus) {
  EXPECT_EQ(run_programs({shell("kill -SEGV $$")})[0].status, 128 + SIGSEGV);
}

TEST_F(ChildProgramTest, ASignalEndsWhatRuns) {
  const std::atomic<int> signal{SIGTERM};
  const ProgramEnd end = run_programs({shell("exec sleep 1000")}, kNoTimeLimit, &signal)[0];
  EXPECT_TRUE(end.timed_out);
  EXPECT_EQ(end.status, 128 + SIGKILL);
}

TEST_F(ChildProgramTest, OneThatTakesTooLongIsKilled) {
  const std::vector<ProgramEnd> ends = run_programs({shell("exec sleep 1000"), shell("exit 2", "other")}, 0.3);
  EXPECT_TRUE(ends[0].timed_out);
  EXPECT_EQ(ends[0].status, 128 + SIGKILL);
  EXPECT_FALSE(ends[1].timed_out);
  EXPECT_EQ(ends[1].status, 2);
}

// Each waits for the other one's file.
TEST_F(ChildProgramTest, SeveralRunAtTheSameTime) {
  const std::string a = temp / "a", b = temp / "b";
  const auto meets = [](const std::string& mine, const std::string& other) {
    return "touch " + mine + "; while [ ! -e " + other + " ]; do sleep 0.01; done";
  };
  const std::vector<ProgramEnd> ends = run_programs({shell(meets(a, b)), shell(meets(b, a), "other")}, 60);
  EXPECT_EQ(ends[0].status, 0);
  EXPECT_EQ(ends[1].status, 0);
}

TEST_F(ChildProgramTest, SignalsThatThisProcessHasBlockedReachIt) {
  sigset_t term, before;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, &before);
  const ProgramEnd end = run_programs({shell("kill -TERM $$; exit 3")})[0];
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(end.status, 128 + SIGTERM);
}

TEST_F(ChildProgramTest, OneThatIsNotThereIsNamed) {
  EXPECT_EQ(belay::testing::error_of([&] {
              run_programs({{"/no/such", {}, temp / "log"}});
            }),
            "NOT_FOUND: '/no/such' cannot be started: No such file or directory");
}

}  // namespace
}  // namespace belay::runtime
