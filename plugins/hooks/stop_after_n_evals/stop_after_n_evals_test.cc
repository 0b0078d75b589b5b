// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_stop_after_n_evals;

namespace stop_after_n_evals_test {

using namespace belay::testing;

const belay_module& module() { return module_under_test(belay_module_stop_after_n_evals); }

// Evaluates at most `most` batches. The result has the log and the number of batches.
struct Evaluation {
  std::vector<std::string> lines;
  int batches = 0;
  std::string reason;
};
Evaluation evaluate(const OptionValues& options, int most) {
  HookDriver hook(module(), options);
  hook.begin();
  hook.create_session();
  Evaluation e;
  bool stopped = false;
  while (e.batches < most && !stopped) {
    const StepResult result = hook.step();
    ++e.batches;
    stopped = result.stop_asked;
    e.lines.insert(e.lines.end(), result.logged.begin(), result.logged.end());
  }
  e.reason = hook.stop_reason();
  return e;
}

TEST(StopAfterNEvals, RefusesNoBatches) {
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), {{"num_evals", 0}});
            }),
            "INVALID_ARGUMENT: 'num_evals' is 0, must be >= 1");
}

TEST(StopAfterNEvals, StopsAfterTheLastBatchAndCountsEachOfAFew) {
  const Evaluation e = evaluate({{"num_evals", 3}}, 10);
  EXPECT_EQ(e.batches, 3);
  EXPECT_EQ(e.reason, "3/3 batches are evaluated");
  EXPECT_EQ(e.lines,
            (std::vector<std::string>{"info: Evaluation [1/3]", "info: Evaluation [2/3]", "info: Evaluation [3/3]"}));
  EXPECT_EQ(evaluate({{"num_evals", 19}}, 100).lines.size(), 19u);
}

TEST(StopAfterNEvals, OfManyItLogsEachTenthPartAndTheLast) {
  const Evaluation e = evaluate({{"num_evals", 25}}, 100);
  EXPECT_EQ(e.batches, 25);
  ASSERT_EQ(e.lines.size(), 13u);
  EXPECT_EQ(e.lines[0], "info: Evaluation [2/25]");
  EXPECT_EQ(e.lines[11], "info: Evaluation [24/25]");
  EXPECT_EQ(e.lines[12], "info: Evaluation [25/25]");
  EXPECT_EQ(evaluate({{"num_evals", 20}}, 100).lines.size(), 10u);
}

TEST(StopAfterNEvals, T_126_WithoutANumberTheInputsEndIsTheEndAndLinesGetRarer) {
  const Evaluation e = evaluate({}, 30);
  EXPECT_EQ(e.batches, 30);
  ASSERT_EQ(e.lines.size(), 5u);
  EXPECT_EQ(e.lines[2], "info: Evaluation [4]");
  EXPECT_EQ(e.lines[4], "info: Evaluation [16]");
}

TEST(StopAfterNEvals, IsSilentWhereItIsToldSo) {
  const Evaluation e = evaluate({{"num_evals", 3}, {"log_progress", false}}, 10);
  EXPECT_EQ(e.batches, 3);
  EXPECT_TRUE(e.lines.empty());
}

TEST(StopAfterNEvals, EachSessionCountsAnew) {
  HookDriver hook(module(), {{"num_evals", 2}});
  hook.begin();
  hook.create_session();
  EXPECT_FALSE(hook.step().stop_asked);
  hook.recover();
  EXPECT_FALSE(hook.step().stop_asked);
  EXPECT_TRUE(hook.step().stop_asked);
}

}  // namespace stop_after_n_evals_test
