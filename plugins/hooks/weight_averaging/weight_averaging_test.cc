// SPDX-License-Identifier: Apache-2.0
// Tests the averages on the real engine, since the graph computes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "belay/testing/testing.h"
#include "belay/testing/training_driver.h"

extern "C" const belay_module belay_module_weight_averaging;
extern "C" const belay_module belay_module_checkpoint_saver;

namespace weight_averaging_test {

using namespace belay::testing;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;

const belay_module& module() { return module_under_test(belay_module_weight_averaging); }

float value(TrainingDriver& training, const std::string& variable) {
  return training.variable(variable).data<float>()[0];
}

// Returns the weight at the start of each step.
std::vector<double> weights(int steps) {
  TrainingDriver training(module(), {{"use_at_end", false}});
  training.start();
  std::vector<double> found;
  for (int i = 0; i < steps; ++i) {
    found.push_back(value(training, "weight"));
    training.run(1);
  }
  return found;
}

TEST(WeightAveraging, SwaIsTheMeanOfTheWeights) {
  double sum = 0;
  for (const double w : weights(10)) sum += w;
  TrainingDriver training(module(), {{"method", std::string("swa")}, {"use_at_end", false}});
  training.run(10);
  EXPECT_NEAR(value(training, "weight_averaging/weight"), sum / 10, 1e-5);
}

TEST(WeightAveraging, EmaKeepsSoMuchOfTheAverage) {
  double average = 0;
  std::int64_t n = 0;
  for (const double w : weights(40)) {
    const double keep = n == 0 ? 0 : std::min(0.7, (1.0 + n) / (10.0 + n));
    average = keep * average + (1 - keep) * w;
    ++n;
  }
  TrainingDriver training(module(), {{"decay", 0.7}, {"use_at_end", false}});
  training.run(40);
  EXPECT_NEAR(value(training, "weight_averaging/weight"), average, 1e-5);
}

TEST(WeightAveraging, BeginsWhereItIsToldAndSkipsSteps) {
  const std::vector<double> all = weights(12);
  TrainingDriver training(
      module(), {{"method", std::string("swa")}, {"start_step", 4}, {"every_n_steps", 3}, {"use_at_end", false}});
  training.run(12);
  EXPECT_NEAR(value(training, "weight_averaging/weight"), (all[4] + all[7] + all[10]) / 3, 1e-5);
}

TEST(WeightAveraging, TheTrainingItselfIsWhatItWas) {
  TrainingDriver plain(belay_module_checkpoint_saver, {{"save_steps", 1000}});
  TrainingDriver averaged(module(), {{"every_n_steps", 2}, {"use_at_end", false}});
  plain.run(20), averaged.run(20);
  EXPECT_EQ(value(averaged, "weight"), value(plain, "weight"));
}

// tests/e2e/hooks_that_train_test.cc tests the content of the checkpoint with the real program.
TEST(WeightAveraging, SavesOnceMoreAtTheEnd) {
  TrainingDriver training(module(), {{"decay", 0.7}});
  training.run(20);
  training.end();
  EXPECT_THAT(training.checkpoint(), EndsWith("model.ckpt-20"));
  EXPECT_THAT(training.logged(), Contains(HasSubstr("the weights are now their averages, of 20 updates; step 20 is")));
}

TEST(WeightAveraging, ARunThatGoesOnBehindItsEndHasLostNothing) {
  TrainingDriver whole(module(), {{"decay", 0.7}});
  TrainingDriver ended(module(), {{"decay", 0.7}});
  whole.run(30);
  ended.run(17);
  ended.end();
  ended.restart();
  ended.run(13);
  for (const char* name : {"weight", "bias", "weight_averaging/weight", "weight_averaging/bias"})
    EXPECT_EQ(value(ended, name), value(whole, name)) << name;
}

TEST(WeightAveraging, AResumeInTheMiddleOfAPeriodComesToTheSameAverages) {
  const OptionValues options{{"method", std::string("swa")}, {"every_n_steps", 4}, {"use_at_end", false}};
  TrainingDriver whole(module(), options), stopped(module(), options);
  whole.run(21);
  stopped.run(6);
  stopped.save();
  stopped.run(2);
  stopped.restart();
  stopped.run(15);
  EXPECT_EQ(value(stopped, "weight_averaging/weight"), value(whole, "weight_averaging/weight"));
}

TEST(WeightAveraging, WithoutAnAverageTheWeightsStay) {
  TrainingDriver training(module(), {{"start_step", 100}});
  training.run(3);
  training.end();
  EXPECT_THAT(training.logged(),
              Contains(HasSubstr("warning weight_averaging: the weights stay as they are: no average "
                                 "was made before step 100 (start_step)")));
}

}  // namespace weight_averaging_test
