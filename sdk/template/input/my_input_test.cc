// Drives the input without an engine. It runs twice: with the input linked in, and with the .so.
#include <belay/testing/testing.h>
#include <gtest/gtest.h>

extern "C" const belay_module belay_module_my_input;

namespace {

using namespace belay::testing;

const belay_module& module() { return module_under_test(belay_module_my_input); }

TEST(MyInput, DeliversPointsOfThePlane) {
  InputDriver input(module(), {{"examples", 10}, {"batch_size", 4}, {"epochs", 1}, {"noise", 0.0}});
  input.open();
  const std::vector<InputBatch> batches = input.all_batches();
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_EQ(batches[2].rows(), 2);
  for (const InputBatch& batch : batches) {
    const std::vector<float> x = batch.values<float>("x"), y = batch.values<float>("y");
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_FLOAT_EQ(y[i], 2 * x[2 * i] - x[2 * i + 1]);
  }
}

// The host asks this of an evaluation or a prediction of a model that this input trained.
TEST(MyInput, MatchesWhatATrainingLearned) {
  InputDriver train(module(), {{"examples", 10}}), eval(module(), {{"examples", 4}});
  EXPECT_EQ(train.spec()[0].columns, (std::vector<std::string>{"x0", "x1"}));
  eval.learn(train.schema(), belay::InputUse::kEvaluation);
  EXPECT_EQ(eval.difference_from_learned(), "");
}

TEST(MyInput, KeepsTheLawsOfAnInput) {
  InputDriver input(module(), {{"examples", 10}, {"batch_size", 3}, {"epochs", 2}, {"shuffle", true}});
  input.open();
  EXPECT_EQ(input.difference_after_restart(100), "");
  EXPECT_EQ(input.difference_after_resume(100), "");
  EXPECT_EQ(input.difference_after_end(100), "");
}

TEST(MyInput, ShardsShareTheExamples) {
  std::int64_t examples = 0;
  for (std::int64_t shard = 0; shard < 3; ++shard) {
    InputDriver input(module(), {{"examples", 10}, {"epochs", 1}});
    input.open(shard, 3);
    for (const InputBatch& batch : input.all_batches()) examples += batch.rows();
  }
  EXPECT_EQ(examples, 10);
}

}  // namespace
