// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/child_program.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "belay/testing/error_of.h"

namespace belay::runtime {
namespace {

ProgramOutcome shell(const std::string& script, double seconds = 60) {
  return run_program("/bin/sh", {"-c", script}, seconds);
}

TEST(ChildProgram, ReturnsItsStatusAndItsErrors) {
  const ProgramOutcome outcome = shell("echo out; echo one >&2; cat; echo two >&2; exit 7");
  EXPECT_EQ(outcome.status, 7);
  EXPECT_EQ(outcome.errors, "one\ntwo\n");
  EXPECT_FALSE(outcome.timed_out);
}

TEST(ChildProgram, ASignalThatEndsItIsItsStatus) { EXPECT_EQ(shell("kill -SEGV $$").status, 128 + SIGSEGV); }

TEST(ChildProgram, IsEndedWhenItsTimeIsOver) {
  const ProgramOutcome outcome = shell("echo begun >&2; exec sleep 1000", 0.2);
  EXPECT_TRUE(outcome.timed_out);
  EXPECT_EQ(outcome.status, 128 + SIGKILL);
}

TEST(ChildProgram, OnlyTheLastOfManyErrorsIsKept) {
  const ProgramOutcome outcome = shell("head -c 3000000 /dev/zero | tr '\\0' x >&2; echo end >&2");
  EXPECT_EQ(outcome.errors.size(), kMostErrors);
  EXPECT_EQ(outcome.errors.substr(kMostErrors - 4), "end\n");
}

TEST(ChildProgram, SignalsThatThisProcessHasBlockedReachIt) {
  sigset_t term, before;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, &before);
  const ProgramOutcome outcome = shell("kill -TERM $$; exit 3");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(outcome.status, 128 + SIGTERM);
}

TEST(ChildProgram, OneThatIsNotThereIsNamed) {
  EXPECT_EQ(belay::testing::error_of([] { run_program("/no/such", {}, 1); }),
            "NOT_FOUND: the program /no/such cannot be started: No such file or directory");
}

}  // namespace
}  // namespace belay::runtime
