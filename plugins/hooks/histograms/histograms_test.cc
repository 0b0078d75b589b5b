// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "belay/testing/allocations.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_histograms;

namespace histograms_test {

using namespace belay::testing;
using belay::Tensor;
using ::testing::HasSubstr;
using ::testing::Not;

using Texts = std::vector<std::string>;

const belay_module& module() { return module_under_test(belay_module_histograms); }

std::unique_ptr<HookDriver> driver(const OptionValues& options, std::int64_t step = 0) {
  auto hook = std::make_unique<HookDriver>(module(), options);
  hook->global_step(step);
  hook->tensor<float>("w");
  hook->tensor<float>("gradients/w");
  hook->tensor<float>("hidden");
  hook->graph().collect("trainable_variables", "w");
  hook->graph().collect("gradients", "gradients/w");
  hook->graph().collect("gradient_variables", "w");
  for (const char* op : {"HistogramSummary", "MergeSummary"})
    hook->graph().op(op, belay::DType::kString, belay::Dims{});
  return hook;
}

std::unique_ptr<HookDriver> started(const OptionValues& options, const StoredState* state = nullptr,
                                    std::int64_t step = 0) {
  auto hook = driver(options, step);
  hook->begin();
  if (state != nullptr) hook->load_state(*state);
  hook->create_session();
  hook->session().set_value("histograms/all", Tensor(std::string_view("summary")));
  return hook;
}

TEST(Histograms, WritesTheMergedSummaryRegularly) {
  const auto hook = started({{"every_n_steps", 2}});
  for (int i = 0; i < 4; ++i) hook->step();
  const auto& written = hook->events().summaries();
  ASSERT_EQ(written.size(), 2u);
  EXPECT_EQ(written[0].bytes, "summary");
  EXPECT_EQ(written[0].step, 1);
  EXPECT_EQ(written[1].step, 3);
}

TEST(Histograms, OfWhatIsAskedForAndNotAmongTheModelsSummaries) {
  const std::string all = started({{"tensors", Texts{"hidden"}}})->graph().text();
  for (const char* tag : {"\"weights/w\"", "\"gradients/w\"", "\"tensors/hidden\""}) EXPECT_THAT(all, HasSubstr(tag));
  EXPECT_THAT(all, Not(HasSubstr("collection summaries")));
  const std::string weights = started({{"gradients", false}})->graph().text();
  EXPECT_THAT(weights, Not(HasSubstr("\"gradients/w\"")));
  EXPECT_EQ(error_of([] {
              driver({{"gradients", false}, {"weights", false}});
            }),
            "INVALID_ARGUMENT: nothing to write: leave 'weights' or 'gradients' true, or name 'tensors'");
}

TEST(Histograms, AResumedRunKeepsTheRhythm) {
  const auto before = started({{"every_n_steps", 4}});
  for (int i = 0; i < 3; ++i) before->step();
  const StoredState state = before->save_state();
  const auto after = started({{"every_n_steps", 4}}, &state, 3);
  for (int i = 0; i < 3; ++i) after->step();
  ASSERT_EQ(after->events().summaries().size(), 1u);
  EXPECT_EQ(after->events().summaries()[0].step, 5);
}

TEST(Histograms, ASecondBeginAddsNothing) {
  const auto hook = driver({});
  hook->begin();
  hook->begin_again();
}

TEST(Histograms, BetweenTwoLooksItAllocatesNothing) {
  const auto hook = started({});
  hook->step();
  hook->step();
  hook->probe_with(allocations);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(hook->step().probed, 0u);
}

}  // namespace histograms_test
