// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/watch/time_box.h"

#include <gtest/gtest.h>

#include <future>

#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/run/run_command.h"
#include "tests/platform/fake_clock.h"

namespace belay::runtime {
namespace {

TEST(TimeBox, AsksOnceToStopAndThenWakesUntilItEnds) {
  FakeClock clock;
  std::promise<void> stopped;
  std::atomic<int> stops{0}, wakes{0};
  std::promise<void> woken_twice;
  TimeBox box(
      60, clock,
      [&] {
        ++stops;
        stopped.set_value();
      },
      [&] {
        if (++wakes == 2) woken_twice.set_value();
      });
  clock.await_waiters(1);
  clock.advance(59 * FakeClock::kSecond);
  EXPECT_FALSE(box.over());
  clock.advance(FakeClock::kSecond);
  stopped.get_future().wait();
  EXPECT_TRUE(box.over());
  for (int i = 0; i < 2; ++i) {
    clock.await_waiters(1);
    EXPECT_EQ(wakes, i);
    clock.advance(FakeClock::kSecond / 2);
    while (wakes == i) std::this_thread::yield();
  }
  woken_twice.get_future().wait();
  EXPECT_EQ(stops, 1);
}

TEST(TimeBox, WithoutALimitItDoesNothing) {
  FakeClock clock;
  const TimeBox box(
      0, clock, [] { FAIL(); }, [] { FAIL(); });
  clock.advance(1'000'000 * FakeClock::kSecond);
  EXPECT_FALSE(box.over());
}

RunArguments arguments_of_run(const std::vector<std::string>& args) {
  return run_arguments(Given(declare_run(), args));
}

TEST(CommandLine, TheOptionsOfALogAreRead) {
  const RunArguments plain = arguments_of_run({"a.toml"});
  EXPECT_EQ(plain.log_level, LogLevel::kInfo);
  EXPECT_EQ(plain.colour, Colour::kAuto);
  EXPECT_EQ(arguments_of_run({"a.toml", "-q"}).log_level, LogLevel::kWarning);
  EXPECT_EQ(arguments_of_run({"-v", "a.toml"}).log_level, LogLevel::kDebug);
  EXPECT_EQ(arguments_of_run({"--color", "never", "a.toml"}).colour, Colour::kNever);
  const Given evaluate(declare_evaluate(), {"--color=always", "--quiet", "a.toml"});
  EXPECT_EQ(mode_arguments(evaluate).colour, Colour::kAlways);
}

TEST(CommandLine, WhatCannotBeMeantIsRefused) {
  const struct {
    std::vector<std::string> args;
    const char* error;
  } cases[] = {
      {{"-q", "-v", "a"}, "[B5006] belay run: --quiet and --verbose contradict each other; take one of them away"},
      {{"--color=red", "a"}, "[B5004] belay run: --color is \"red\", must be auto, always or never"},
      {{"--max-time=soon", "a"},
       "[B5004] belay run: --max-time is \"soon\", must be a time such as 90s, 15m, 2h or 1h30m, at most ten years"},
      {{"--requeue-status=75", "a"}, "[B5006] belay run: --requeue-status is the status of --max-time; give that, too"},
      {{"--max-time=1h", "--requeue-status=256", "a"}, "[B5004] belay run: --requeue-status must be from 0 to 255"},
      {{"--short=0", "a"}, "[B5004] belay run: --short must be at least 1"},
      {{"--short=5", "--from-scratch", "a"},
       "[B5006] belay run: --short works in a temporary directory, which --dry-run, --from-scratch, --resume and "
       "--exact "
       "cannot be about; take them away"},
  };
  for (const auto& c : cases) {
    try {
      arguments_of_run(c.args);
      ADD_FAILURE() << c.error;
    } catch (const UsageError& e) {
      EXPECT_EQ(e.message(), c.error);
    }
  }
}

}  // namespace
}  // namespace belay::runtime
