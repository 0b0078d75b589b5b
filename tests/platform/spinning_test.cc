// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/threads/spinning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace belay::runtime {
namespace {

class Spinning : public ::testing::Test {
 protected:
  static constexpr const char* kVariables[] = {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"};
  Spinning() {
    for (const char* name : kVariables) {
      const char* value = std::getenv(name);
      before_.push_back(value == nullptr ? std::nullopt : std::optional<std::string>(value));
      ::unsetenv(name);
    }
  }
  ~Spinning() override {
    for (std::size_t i = 0; i < before_.size(); ++i)
      before_[i] ? ::setenv(kVariables[i], before_[i]->c_str(), 1) : ::unsetenv(kVariables[i]);
  }
  std::vector<std::optional<std::string>> before_;
};

TEST_F(Spinning, T_40b_AProgramWithATeamThatDidNotBoundItIsToldHow) {
  EXPECT_THAT(
      spinning_warning(2),
      ::testing::ContainsRegex("set GOMP_SPINCOUNT=[1-9][0-9]*00 in the environment; a program that embeds Belay calls "
                               "belay::runtime::bound_spinning first in main"));
  EXPECT_EQ(spinning_warning(2), "") << "T-138: it is said once a process";
  EXPECT_EQ(spinning_warning(1), "");
  for (const char* name : kVariables) {
    ::setenv(name, "passive", 1);
    EXPECT_EQ(spinning_warning(2), "") << name;
    ::unsetenv(name);
  }
}

// Behind the test above, which is to get it.
TEST_F(Spinning, T_138_TheWarningComesOnceAProcess) {
  spinning_warning(2);
  EXPECT_EQ(spinning_warning(2), "");
}

// The program gets here when it was executed once more.
TEST(SpinningAgain, DISABLED_TheVariableIsSet) {
  const char* value = std::getenv("GOMP_SPINCOUNT");
  std::exit(value != nullptr && std::atoi(value) >= 100 ? 42 : 1);
}

TEST_F(Spinning, T_40a_TheProgramIsExecutedOnceMoreWithItsArguments) {
  char program[] = "platform_test", filter[] = "--gtest_filter=SpinningAgain.DISABLED_TheVariableIsSet",
       also[] = "--gtest_also_run_disabled_tests";
  char* argv[] = {program, filter, also, nullptr};
  EXPECT_EXIT(bound_spinning(argv), ::testing::ExitedWithCode(42), "");
}

// The processor decides how many that are: no other bound holds for all.
TEST(Spins, T_40a_AWaitSpinsForSoManyPausesAsTakeTwentyMicroseconds) {
  const int spins = spins_of_a_wait();
  EXPECT_GE(spins, 100);
  EXPECT_LE(spins, 20'000);
  EXPECT_EQ(spins % 100, 0);
}

// Or there would be no end of it.
TEST_F(Spinning, T_40a_TheSecondTimeItReturns) {
  ::setenv("GOMP_SPINCOUNT", "1000", 1);
  char program[] = "platform_test";
  char* argv[] = {program, nullptr};
  EXPECT_EXIT(
      {
        bound_spinning(argv);
        std::exit(7);
      },
      ::testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace belay::runtime
