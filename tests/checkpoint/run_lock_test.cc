// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/directory/run_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/checkpoint/checkpoint_fixture.h"

namespace belay::runtime {
namespace {

class RunLocking : public ::testing::Test {
 protected:
  TempDir dir_;
  FakeClock clock_;
  std::unique_ptr<OpenDirectory> run_ = posix_file_system().open_directory(dir_.path());
};

// F39
TEST_F(RunLocking, TheSecondTakerLearnsWhoHoldsIt) {
  const RunLock lock = RunLock::take(*run_, clock_, {"node-1", 4711});
  EXPECT_EQ(read_file(dir_ / "lock"), "host node-1, pid 4711, since 2024-01-01T00:00:00Z\n");
  try {
    RunLock::take(*run_, clock_, {"node-2", 1});
    FAIL();
  } catch (const RunInUse& e) {
    EXPECT_EQ(e.code(), Code::kFailedPrecondition);
    EXPECT_EQ(
        std::string(e.what()),
        "[B5112] the run directory '" + dir_.path() +
            "' is in use by another run (host node-1, pid 4711, since 2024-01-01T00:00:00Z): stop that one, or give "
            "this one another run.dir");
  }
  EXPECT_EQ(read_file(dir_ / "lock"), "host node-1, pid 4711, since 2024-01-01T00:00:00Z\n");
}

TEST_F(RunLocking, ALockEndsWithItsObject) {
  { const RunLock lock = RunLock::take(*run_, clock_, {"node-1", 4711}); }
  const RunLock lock = RunLock::take(*run_, clock_, {"node-2", 1});
  EXPECT_EQ(read_file(dir_ / "lock"), "host node-2, pid 1, since 2024-01-01T00:00:00Z\n");
}

TEST_F(RunLocking, ThisProcessIsTheDefaultHolder) {
  EXPECT_EQ(this_process().pid, getpid());
  EXPECT_FALSE(this_process().host.empty());
}

TEST_F(RunLocking, AKilledHolderLeavesNoLock) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const RunLock lock = RunLock::take(*run_, clock_);
    char taken = 1;
    if (write(ready[1], &taken, 1) != 1) _exit(1);
    for (;;) pause();
  }
  char taken = 0;
  ASSERT_EQ(read(ready[0], &taken, 1), 1);
  EXPECT_THROW(RunLock::take(*run_, clock_), RunInUse);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  RunLock::take(*run_, clock_);
  close(ready[0]), close(ready[1]);
}

}  // namespace
}  // namespace belay::runtime
