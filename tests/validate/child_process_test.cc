// SPDX-License-Identifier: Apache-2.0
#include "runtime/validate/child_process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>

namespace belay::runtime {
namespace {

constexpr double kLong = 60;

TEST(ChildProcess, BringsBackWhatItsWorkReturns) {
  const std::string large(300'000, 'x');  // more than a pipe holds
  const ChildOutcome outcome = run_in_child([&] { return large; }, kLong);
  EXPECT_EQ(outcome.report, large);
  EXPECT_EQ(outcome.ending, "");
}

TEST(ChildProcess, WhatItDoesToItsProcessStaysThere) {
  static int touched = 0;
  run_in_child(
      [] {
        touched = 1;
        return std::string("done");
      },
      kLong);
  EXPECT_EQ(touched, 0);
}

TEST(ChildProcess, TellsHowItEnded) {
  struct Case {
    void (*work)();
    const char* ending;
  };
  for (const Case& c : {
           Case{[] {
                  std::signal(SIGSEGV, SIG_DFL);  // a sanitizer has its own handler
                  raise(SIGSEGV);
                },
                "crashed with signal 11 (Segmentation fault)"},
           Case{[] { ::_exit(0); }, "ended the process with status 0"},
           Case{[] { ::_exit(7); }, "ended the process with status 7"},
       }) {
    const ChildOutcome outcome = run_in_child(
        [&] {
          c.work();
          return std::string("not reached");
        },
        kLong);
    EXPECT_EQ(outcome.ending, c.ending);
    EXPECT_EQ(outcome.report, "");
  }
}

TEST(ChildProcess, T_26e_ACopyThatItForksAndThatComesBackIsTold) {
  const ChildOutcome outcome = run_in_child(
      [] {
        if (const pid_t child = ::fork(); child != 0) ::waitpid(child, nullptr, 0);
        return std::string("done");
      },
      kLong);
  EXPECT_EQ(outcome.ending,
            "forked the process, and the copy came back from a callback; a copy must call exec or _exit there");
  EXPECT_EQ(outcome.report, "done") << "the copy does not report";
  const ChildOutcome exits = run_in_child(
      [] {
        const pid_t child = ::fork();
        if (child == 0) ::_exit(0);
        ::waitpid(child, nullptr, 0);
        return std::string("done");
      },
      kLong);
  EXPECT_EQ(exits.ending, "");
}

TEST(ChildProcess, IsKilledWhenItsTimeIsOver) {
  const ChildOutcome outcome = run_in_child(
      [] {
        for (;;) ::pause();
        return std::string();
      },
      0.05);
  EXPECT_EQ(outcome.ending, "did not end within 0.05 s");
}

TEST(ChildProcess, KeepsWhatItWrites) {
  const ChildOutcome outcome = run_in_child(
      [] {
        std::printf("to stdout");
        std::cout << ", twice";
        std::fprintf(stderr, "to stderr");
        return std::string("done");
      },
      kLong);
  EXPECT_EQ(outcome.output.size(), std::string("to stdout, twice").size());
  EXPECT_EQ(outcome.errors, "to stderr");
}

}  // namespace
}  // namespace belay::runtime
