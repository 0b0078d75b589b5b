// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/library/load_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::ExitedWithCode;
using ::testing::IsEmpty;

TEST(ProcessStateGuard, LeavesWhatDidNotChange) {
  ProcessStateGuard guard;
  EXPECT_THAT(guard.restore(), IsEmpty());
}

TEST(ProcessStateGuard, PutsTheRoundingModeBack) {
#if defined(__x86_64__)
  const std::string expected = "the floating-point mode (rounding, x87 control word)";
#else
  const std::string expected = "the floating-point mode (rounding)";
#endif
  ProcessStateGuard guard;
  std::fesetround(FE_UPWARD);
  EXPECT_THAT(guard.restore(), ElementsAre(expected));
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

#if defined(__x86_64__)
TEST(ProcessStateGuard, PutsFlushToZeroBack) {
  const unsigned before = _mm_getcsr();
  ProcessStateGuard guard;
  _mm_setcsr(before | 0x8040);
  EXPECT_THAT(guard.restore(), ElementsAre("the floating-point mode (flush-to-zero)"));
  EXPECT_EQ(_mm_getcsr(), before);
}

TEST(ProcessStateGuard, TheStickyFlagsOfACalculationAreNoChange) {
  ProcessStateGuard guard;
  volatile double zero = 0, one = 1;
  volatile double infinite = one / zero;
  (void)infinite;
  EXPECT_THAT(guard.restore(), IsEmpty());
}
#endif

TEST(ProcessStateGuard, PutsTheLocaleBack) {
  ProcessStateGuard guard;
  if (std::setlocale(LC_ALL, "C.UTF-8") == nullptr) GTEST_SKIP() << "this system has no locale C.UTF-8";
  EXPECT_THAT(guard.restore(), ElementsAre("the locale"));
  EXPECT_STREQ(std::setlocale(LC_ALL, nullptr), "C");
}

TEST(ProcessStateGuard, PutsTheCxxLocaleBack) {
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
  };
  ProcessStateGuard guard;
  const std::locale before = std::locale::global(std::locale(std::locale(), new Comma));
  EXPECT_THAT(guard.restore(), ElementsAre("the locale"));
  EXPECT_EQ(std::locale(), before);
}

TEST(LoadingScope, NamesTheLibraryWhenSomethingTerminates) {
  EXPECT_EXIT(
      {
        LoadingWatch watch;
        const LoadingScope scope("/a/b\n.so", watch);
        std::thread([] { throw std::runtime_error("no\ntable"); }).join();
      },
      ExitedWithCode(3),
      "^error\\[B2040\\]: plugin '/a/b\\\\n.so' failed in its own initializers while it was loaded: it threw "
      "std::runtime_error: "
      "no\\\\ntable\n  help: initializers of global objects must not throw\n$");
}

TEST(LoadingScope, MakesAnExitWithSuccessAFailure) {
  EXPECT_EXIT(
      {
        LoadingWatch watch;
        const LoadingScope scope("/a/b.so", watch);
        std::exit(0);
      },
      ExitedWithCode(3),
      "^error\\[B2040\\]: plugin '/a/b.so' ended the process \\(exit status 0\\) while it was loaded\n"
      "  help: initializers of global objects must not call exit\n$");
}

TEST(LoadingScope, MakesAnotherExitStatusThreeToo) {
  EXPECT_EXIT(
      {
        LoadingWatch watch;
        const LoadingScope scope("/a/b.so", watch);
        std::exit(9);
      },
      ExitedWithCode(3), "ended the process \\(exit status 9\\)");
}

TEST(LoadingScope, SaysWhenItTakesLong) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const int before = ::dup(STDERR_FILENO);
  ::dup2(ends[1], STDERR_FILENO);
  std::vector<std::string> told;
  {
    LoadingWatch watch(std::chrono::milliseconds(0));
    for (const char* path : {"/a/b.so", "/a/c.so"}) {
      const LoadingScope scope(path, watch);
      char text[512];
      told.emplace_back(text, static_cast<std::size_t>(std::max<ssize_t>(::read(ends[0], text, sizeof(text)), 0)));
    }
  }
  ::dup2(before, STDERR_FILENO);
  for (const int descriptor : {ends[0], ends[1], before}) ::close(descriptor);
  const std::string rest =
      "' is still being loaded after 0 s\n"
      "  help: initializers of global objects must not wait for a thread; SIGQUIT shows where it is\n";
  EXPECT_THAT(told, ElementsAre("warning: plugin '/a/b.so" + rest, "warning: plugin '/a/c.so" + rest));
}

TEST(LoadingWatch, HasNoThreadBeforeTheFirstLibraryNorAfterItRests) {
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task"), end;
    return std::distance(tasks, end);
  };
  const auto before = threads();
  LoadingWatch watch;
  EXPECT_EQ(threads(), before);
  for (int i = 0; i < 2; ++i) {
    { const LoadingScope scope("/a/b.so", watch); }
    { const LoadingScope scope("/a/c.so", watch); }
    EXPECT_EQ(threads(), before + 1);
    watch.rest();
    // A thread that was joined leaves /proc a moment later.
    for (int k = 0; k < 1000 && threads() != before; ++k) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(threads(), before);
  }
}

TEST(LoadingScope, IsOverWhenItEnds) {
  EXPECT_EXIT(
      {
        LoadingWatch watch;
        { const LoadingScope scope("/a/b.so", watch); }
        std::exit(0);
      },
      ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace belay::runtime
