// SPDX-License-Identifier: Apache-2.0
// evaluate_repeatedly: section 6b of the catalogue of checkpoints, Estimator and input.
#include "runtime/estimator/evaluation/evaluate_repeatedly.h"

#include <filesystem>

#include "runtime/estimator/evaluation/evaluate_once.h"
#include "runtime/ops/registry.h"
#include "tests/estimator/estimator_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class EvaluatesRepeatedly : public EstimatorTest {
 protected:
  Platform platform() { return {clock, log, posix_file_system()}; }
  std::string model() const { return temp / "model"; }
  // Notes the step of each evaluation of the model on the input; the loss is the batch's sum.
  std::function<bool(const std::string&)> evaluation(const InputFn& input, std::optional<std::int64_t> steps = {}) {
    return [this, input, steps](const std::string& checkpoint) {
      const EvalMetrics metrics =
          estimator.evaluate(input, {.steps = steps, .checkpoint_path = checkpoint, .name = "repeatedly"});
      evaluated.push_back(static_cast<int>(number(metrics, "global_step")));
      loss = number(metrics, "loss");
      return true;
    };
  }
  static EstimatorSpec summing(const ModelArgs& m) {
    EstimatorPieces p = pieces(m, 1, 3);
    p.loss = ops::reduce_sum(m.feature());
    return EstimatorSpec(m, p);
  }

  Estimator estimator{summing, options()};
  std::vector<int> evaluated;
  double loss = 0;
};

TEST_F(EvaluatesRepeatedly, EVAL_07_OneEvaluationIsMadeWhereOneIsAskedFor) {
  estimator.train(one, {.steps = 5});
  EXPECT_EQ(evaluate_repeatedly(platform(), model(), {.max_number_of_evaluations = 1}, evaluation(counted(4, 1))), 1);
  EXPECT_THAT(evaluated, ElementsAre(5));
  EXPECT_EQ(loss, 2.5);
  EXPECT_EQ(
      error_of([&] { evaluate_repeatedly(platform(), model(), {.max_number_of_evaluations = 0}, evaluation(one)); }),
      "INVALID_ARGUMENT: [B5052] max_number_of_evaluations must be above 0, got 0");
}

TEST_F(EvaluatesRepeatedly, EVAL_08_WithoutACheckpointItEndsAtItsTimeout) {
  EXPECT_EQ(evaluate_repeatedly(platform(), model(), {.timeout_secs = 6}, evaluation(one)), 0);
  EXPECT_GT(clock.monotonic_ns(), 4'999'999'999);
  EXPECT_LT(clock.monotonic_ns(), 7'000'000'000);
  EXPECT_THAT(evaluated, IsEmpty());
}

TEST_F(EvaluatesRepeatedly, EVAL_09_WhatIsFedIsFedInEachRun) {
  estimator.train(one, {.steps = 1});
  const auto ops = make_op_registry();
  NodeGraph graph(*ops);
  const Graph g = graph.handle();
  ops::create_global_step(g);
  const Output sum = ops::variable(g, "sum", Tensor(0.0f), ops::VariableKind::kLocal);
  const Output fed = ops::placeholder(g, DType::kFloat32, {}, "fed");
  EvaluateOnce once(
      graph, {.eval_ops = {ops::assign_add(sum, fed).operation()}, .feeds = {{fed, Tensor(3.0f)}}, .final_ops = {sum}});
  RunControl control;
  RunHost run(platform(), control, {.threads = 1});
  SessionHost session(run, {.mode = Mode::kEval});
  const OwnHook five = stop_after(5);
  session.add_hook(five.name, five.make);
  std::vector<float> sums;
  const auto scaffold = std::make_shared<SessionScaffold>(ScaffoldOptions());
  evaluate_repeatedly(platform(), model(), {.max_number_of_evaluations = 1}, [&](const std::string&) {
    sums.push_back(TensorView(once.run(session, scaffold).at(0)).scalar<float>());
    return true;
  });
  EXPECT_THAT(sums, ElementsAre(15));
}

TEST_F(EvaluatesRepeatedly, EVAL_11_AnInputThatEndsEndsTheEvaluationBeforeItsSteps) {
  estimator.train(one, {.steps = 1});
  evaluate_repeatedly(platform(), model(), {.max_number_of_evaluations = 1}, evaluation(counted(3, 1), 10'000));
  EXPECT_THAT(evaluated, ElementsAre(1));
  EXPECT_EQ(loss, 2);
}

TEST_F(EvaluatesRepeatedly, EachNewCheckpointIsEvaluatedUntilTheRunHasFinished) {
  estimator.train(one, {.steps = 5});
  bool finished = false;
  const auto evaluate = evaluation(counted(2, 1));
  EXPECT_EQ(evaluate_repeatedly(platform(), model(), {.start_delay_secs = 2, .finished = [&] { return finished; }},
                                [&](const std::string& checkpoint) {
                                  evaluate(checkpoint);
                                  if (evaluated.size() == 2) finished = true;
                                  estimator.train(one, {.max_steps = evaluated.size() == 1 ? 8 : 9});
                                  return true;
                                }),
            3);
  EXPECT_THAT(evaluated, ElementsAre(5, 8, 9));
  EXPECT_GE(clock.monotonic_ns(), 122'000'000'000);  // eval_interval_secs = 60
}

TEST_F(EvaluatesRepeatedly, ACheckpointThatIsRemovedMeanwhileIsSkippedAndAnotherErrorLeaves) {
  estimator.train(one, {.steps = 5});
  int calls = 0;
  const auto evaluate = [&](const std::string& checkpoint) -> bool {
    if (++calls == 2) fail(Code::kDataLoss, "damaged");
    estimator.train(one, {.steps = 1});
    std::filesystem::remove_all(checkpoint);
    fail(Code::kDataLoss, "a file is missing");
  };
  EXPECT_EQ(error_of([&] { evaluate_repeatedly(platform(), model(), {}, evaluate); }), "DATA_LOSS: damaged");
  EXPECT_EQ(calls, 2);
  EXPECT_THAT(logged(), HasSubstr((temp / "model/model.ckpt-5") + " was removed while it was read: it is skipped"));
}

}  // namespace
}  // namespace belay::runtime::testing
