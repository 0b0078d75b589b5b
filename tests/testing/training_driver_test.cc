// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/training_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "belay/testing/error_of.h"

extern "C" const belay_module belay_module_checkpoint_saver;
extern "C" const belay_module belay_module_early_stopping;
extern "C" const belay_module belay_module_gradient_norms;
extern "C" const belay_module belay_module_logging_tensor;
extern "C" const belay_module belay_module_nan_tensor;
extern "C" const belay_module belay_module_reduce_lr_on_plateau;
extern "C" const belay_module belay_module_safetensors;
extern "C" const belay_module belay_module_time_limit;
extern "C" const belay_module belay_module_window;

namespace belay::testing {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(TrainingDriver, AHookSeesALossThatFallsAndTheModelLearns) {
  TrainingDriver training(belay_module_logging_tensor,
                          {{"tensors", std::vector<std::string>{"loss"}}, {"every_n_iter", 100}});
  EXPECT_EQ(training.run(300), 300);
  EXPECT_EQ(training.step(), 300);
  EXPECT_LT(training.loss(), 1e-3);
  EXPECT_NEAR(TensorView(training.variable("weight")).number(0), 3, 0.05);
  EXPECT_NEAR(TensorView(training.variable("bias")).number(0), 2, 0.05);
  EXPECT_THAT(training.logged(), Contains(StartsWith("info logging_tensor: loss = ")).Times(3));
  EXPECT_FALSE(training.stopped());
  training.end();
}

TEST(TrainingDriver, EarlyStoppingStopsWhereTheLossImprovesNoMore) {
  TrainingDriver training(belay_module_early_stopping, {{"patience", 3}, {"every_n_steps", 1}, {"min_delta", 1e-6}});
  const std::int64_t made = training.run(5000);
  EXPECT_GT(made, 20);
  EXPECT_LT(made, 5000);
  EXPECT_TRUE(training.stopped());
  EXPECT_LT(training.loss(), 1e-3);
  training.end();
  EXPECT_THAT(training.stop_reason(), StartsWith("early_stopping: "));
}

TEST(TrainingDriver, ReduceLrOnPlateauScalesTheRateOfTheStepsThatFollow) {
  TrainingDriver training(belay_module_reduce_lr_on_plateau,
                          {{"patience", 1}, {"every_n_steps", 1}, {"factor", 0.5}, {"min_delta", 100.0}});
  training.start();
  EXPECT_EQ(TensorView(training.variable("learning_rate_scale")).number(0), 1);
  training.run(4);
  EXPECT_LT(TensorView(training.variable("learning_rate_scale")).number(0), 1);
  training.end();
}

TEST(TrainingDriver, GradientNormsFallAsTheModelLearns) {
  TrainingDriver training(belay_module_gradient_norms, {{"every_n_steps", 50}});
  training.run(201);
  training.end();
  const std::vector<TrainingDriver::Scalar> all = training.scalars("gradient_norm");
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all.front().step, 1);
  EXPECT_EQ(all.back().step, 201);
  EXPECT_LT(all.back().value, all.front().value / 10);
  const auto weight = training.scalars("gradient_norm/weight"), bias = training.scalars("gradient_norm/bias");
  ASSERT_EQ(weight.size(), 5u);
  ASSERT_EQ(bias.size(), 5u);
  EXPECT_NEAR(all[0].value, std::hypot(weight[0].value, bias[0].value), 1e-4 * all[0].value);
}

TEST(TrainingDriver, NanTensorFailsTheRunOnAVariableThatBecameNaN) {
  TrainingDriver training(belay_module_nan_tensor);
  EXPECT_EQ(training.run(3), 3);
  training.set_variable("weight", Tensor(std::numeric_limits<float>::quiet_NaN()));
  EXPECT_THAT(error_of([&] { training.run(3); }),
              StartsWith("DIVERGED: hook \"nan_tensor\" in after_run at step 4: [B5043] 'loss' is nan"));
}

TEST(TrainingDriver, TheClockMovesByWhatAStepTakes) {
  TrainingDriver training(belay_module_time_limit, {{"seconds", 10.0}});
  training.seconds_per_step(1);
  const std::int64_t made = training.run(100);
  EXPECT_GE(made, 9);
  EXPECT_LE(made, 11);
  EXPECT_TRUE(training.stopped());
}

TEST(TrainingDriver, TheSameSeedGivesTheSameBits) {
  const auto weight_after = [](std::uint64_t seed) {
    TrainingDriver training(belay_module_nan_tensor);
    training.seed(seed);
    training.run(20);
    return training.variable("weight").data<float>()[0];
  };
  EXPECT_EQ(weight_after(1), weight_after(1));
  EXPECT_NE(weight_after(1), weight_after(2));
}

// The results of a training that made 20 steps in one go, and of one that was stopped after 7 and lost 2 more.
void expect_no_difference_after_restart(TrainingDriver& whole, TrainingDriver& stopped) {
  whole.run(20);
  stopped.run(7);
  stopped.save();
  stopped.run(2);
  stopped.restart();
  EXPECT_EQ(stopped.step(), 7);
  stopped.run(13);
  for (const char* name : {"weight", "bias"})
    EXPECT_EQ(stopped.variable(name).data<float>()[0], whole.variable(name).data<float>()[0]) << name;
  EXPECT_EQ(stopped.loss(), whole.loss());
}

TEST(TrainingDriver, T_31a_ATrainingThatWasStoppedGoesOnFromItsCheckpointInMemory) {
  const OptionValues options{{"patience", 1}, {"every_n_steps", 1}, {"factor", 0.5}, {"min_delta", 100.0}};
  TrainingDriver whole(belay_module_reduce_lr_on_plateau, options);
  TrainingDriver stopped(belay_module_reduce_lr_on_plateau, options);
  expect_no_difference_after_restart(whole, stopped);
  EXPECT_EQ(TensorView(stopped.variable("learning_rate_scale")).number(0),
            TensorView(whole.variable("learning_rate_scale")).number(0));
  EXPECT_THAT(stopped.checkpoint(), EndsWith("/model.ckpt-7"));
  EXPECT_FALSE(std::filesystem::exists(stopped.checkpoint() + "/model.safetensors"));
}

// The elements of the hooks' tensors in the newest checkpoint.
std::string saved_tensors(TrainingDriver& training) {
  training.save();
  std::ifstream file(training.checkpoint() + "/state.data", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(TrainingDriver, B_08f_AHooksTensorsComeBackBehindARestart) {
  TrainingDriver whole(belay_module_window, {{"megabytes", 1}}), stopped(belay_module_window, {{"megabytes", 1}});
  expect_no_difference_after_restart(whole, stopped);
  const std::string tensors = saved_tensors(whole);
  EXPECT_EQ(tensors.size(), 1'008'000u);
  EXPECT_TRUE(saved_tensors(stopped) == tensors);
}

TEST(TrainingDriver, T_31a_ALinkedSaverWritesTheCheckpoints) {
  TrainingDriver whole(belay_module_nan_tensor), stopped(belay_module_nan_tensor);
  stopped.saver(belay_module_safetensors);
  expect_no_difference_after_restart(whole, stopped);
  EXPECT_TRUE(std::filesystem::exists(stopped.checkpoint() + "/model.safetensors"));
}

TEST(TrainingDriver, T_31a_AHookThatSavesSavesAndARestartWithoutACheckpointBeginsAnew) {
  TrainingDriver training(belay_module_checkpoint_saver, {{"save_steps", 4}});
  training.run(6);
  EXPECT_THAT(training.checkpoint(), EndsWith("/model.ckpt-4"));
  training.restart();
  EXPECT_EQ(training.step(), 4);
  training.run(1);
  training.end();
  EXPECT_THAT(training.checkpoint(), EndsWith("/model.ckpt-5"));
  training.restart();
  EXPECT_EQ(training.step(), 5);
  TrainingDriver without(belay_module_nan_tensor);
  EXPECT_EQ(error_of([&] { without.restart(); }), "FAILED_PRECONDITION: the training has not begun");
  without.run(3);
  without.restart();
  EXPECT_EQ(without.step(), 0);
  EXPECT_EQ(TensorView(without.variable("weight")).number(0), 0);
}

TEST(TrainingDriver, AHookThatFindsNoTensorFailsInBegin) {
  TrainingDriver training(belay_module_early_stopping, {{"tensor", "lss"}});
  EXPECT_THAT(error_of([&] { training.start(); }), HasSubstr("in begin: "));
}

TEST(TrainingDriver, CallsOutOfOrderAreRefused) {
  TrainingDriver training(belay_module_nan_tensor);
  EXPECT_EQ(error_of([&] { training.end(); }), "FAILED_PRECONDITION: the training has not begun");
  EXPECT_EQ(error_of([&] { training.variable("weight"); }),
            "FAILED_PRECONDITION: variables can be seen between start and end");
  training.start();
  EXPECT_EQ(error_of([&] { training.start(); }), "FAILED_PRECONDITION: the training has begun already");
  EXPECT_EQ(error_of([&] { training.add_hook(belay_module_time_limit); }),
            "FAILED_PRECONDITION: the training has begun: hooks come before start");
  EXPECT_EQ(error_of([&] { training.variable("wait"); }), "NOT_FOUND: the training has no variable 'wait'");
}

}  // namespace
}  // namespace belay::testing
