// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_assign;

namespace assign_test {

using namespace belay::testing;
using belay::DType;
using belay::Tensor;

using Names = std::vector<std::string>;

OptionValues both(OptionValues all, const OptionValues& more) {
  for (const belay::OptionValue& value : more.all()) all = all.with(value);
  return all;
}

const belay_module& assign_module() { return module_under_test(belay_module_assign); }

std::unique_ptr<InitFnDriver> driver(const OptionValues& options) {
  auto init = std::make_unique<InitFnDriver>(assign_module(), options);
  init->variable("dense/kernel", Tensor(DType::kFloat32, {40, 50}));
  init->variable("dense/bias", Tensor(DType::kFloat32, {3}));
  init->variable("head/bias", Tensor(DType::kFloat64, {2}));
  init->variable("count", Tensor(DType::kInt64, {2}), false);
  init->variable("small", Tensor(DType::kUInt8, {2}), false);
  init->variable("flag", Tensor(DType::kBool, {}), false);
  return init;
}

std::string error_with(const OptionValues& options) {
  return error_of([&] { driver(options)->run(); });
}

OptionValues of(const std::string& initializer, const std::string& variable = "dense/kernel") {
  return {{"vars", Names{variable}}, {"initializer", initializer}};
}

std::vector<float> kernel_of(const OptionValues& options, std::uint64_t seed = 42) {
  const auto init = driver(options);
  init->host().seed = seed;
  init->run();
  const float* x = belay::TensorView(init->value("dense/kernel")).data<const float>();
  return {x, x + 2000};
}

TEST(Assign, ANumberGoesIntoAllElementsOfTheVariablesThatMatch) {
  const auto init = driver({{"vars", Names{"dense/b", ".*/bias"}}, {"constant", 0.1}});
  init->run();
  EXPECT_EQ(init->text_of("dense/bias"), "[0.1, 0.1, 0.1]");
  EXPECT_EQ(init->text_of("head/bias"), "[0.1, 0.1]");
  EXPECT_EQ(init->session().assigned(), (Names{"dense/bias", "head/bias"}));
  EXPECT_EQ(init->logged(), Names{"info: set to 0.1: dense/bias, head/bias"});
}

TEST(Assign, AWholeNumberFitsIntegers) {
  const auto init = driver({{"vars", Names{"count", "small", "flag"}}, {"constant", 1.0}});
  init->run();
  EXPECT_EQ(init->text_of("count"), "[1, 1]");
  EXPECT_EQ(init->text_of("small"), "[1, 1]");
  EXPECT_EQ(init->text_of("flag"), "true");
  for (const double wrong : {0.5, 256.0, -1.0, std::nan("")})
    EXPECT_THAT(error_with({{"vars", Names{"small"}}, {"constant", wrong}}),
                ::testing::EndsWith("is no value for variable 'small', which is uint8; leave it out of 'vars'"))
        << wrong;
}

TEST(Assign, WhatTheVariablesAreSetToIsSaidOnce) {
  const std::string one = "the value of the variables; give one of 'constant', 'npy' and 'initializer'";
  EXPECT_EQ(error_with({{"vars", Names{"flag"}}}), "INVALID_ARGUMENT: no option sets " + one);
  EXPECT_EQ(error_with(both(of("he_normal"), {{"constant", 1.0}})),
            "INVALID_ARGUMENT: more than one option sets " + one);
  EXPECT_EQ(error_with({{"vars", Names{"flag"}}, {"constant", 1.0}, {"stddev", 1.0}}),
            "INVALID_ARGUMENT: 'low', 'high', 'mean' and 'stddev' are for an 'initializer'; take them out");
  EXPECT_EQ(error_with({{"constant", 1.0}}), "INVALID_ARGUMENT: 'vars' is required");
  EXPECT_EQ(error_with({{"vars", Names{}}, {"constant", 1.0}}),
            "INVALID_ARGUMENT: 'vars' has no regular expression; \".*\" is all variables");
}

TEST(Assign, APatternThatMatchesNothingIsAnError) {
  EXPECT_EQ(error_with({{"vars", Names{"dense/bias", "bias"}}, {"constant", 1.0}}),
            "NOT_FOUND: \"bias\" in 'vars' matches no variable; there are: dense/kernel, dense/bias, head/bias, count, "
            "small, flag");
}

TEST(Assign, RandomNumbersDependOnSeedAndNameAlone) {
  const std::vector<float> one = kernel_of(of("truncated_normal"));
  EXPECT_EQ(kernel_of(of("truncated_normal")), one);
  EXPECT_EQ(kernel_of(of("truncated_normal", ".*kernel")), one);
  EXPECT_NE(kernel_of(of("truncated_normal"), 43), one);

  const auto init = driver({{"vars", Names{"dense/bias", "head/bias"}}, {"initializer", "random_uniform"}});
  init->run();
  const auto* bias = belay::TensorView(init->value("dense/bias")).data<const float>();
  const auto* other = belay::TensorView(init->value("head/bias")).data<const double>();
  EXPECT_NE(bias[0], static_cast<float>(other[0]));
}

TEST(Assign, EachDistributionHasItsMomentsAndLimits) {
  struct Case {
    OptionValues options;
    double mean, deviation, most;
  };
  const double glorot = std::sqrt(6.0 / 90), he = std::sqrt(2.0 / 40);
  const Case cases[] = {{of("random_uniform"), 0.5, std::sqrt(1.0 / 12), 1},
                        {both(of("random_uniform"), {{"low", -3.0}, {"high", 3.0}}), 0, std::sqrt(3.0), 3},
                        {both(of("random_normal"), {{"mean", 2.0}, {"stddev", 0.5}}), 2, 0.5, 1e9},
                        {both(of("truncated_normal"), {{"stddev", 2.0}}), 0, 0.87962566 * 2, 4},
                        {of("glorot_uniform"), 0, glorot / std::sqrt(3.0), glorot},
                        {of("he_normal"), 0, 0.87962566 * he, 2 * he}};
  for (const Case& c : cases) {
    double sum = 0, squares = 0, most = 0;
    for (const float x : kernel_of(c.options)) {
      sum += x;
      squares += static_cast<double>(x) * x;
      most = std::max(most, std::abs(static_cast<double>(x)));
    }
    const double mean = sum / 2000, deviation = std::sqrt(squares / 2000 - mean * mean);
    EXPECT_NEAR(mean, c.mean, 5 * c.deviation / std::sqrt(2000.0));
    EXPECT_NEAR(deviation / c.deviation, 1, 0.1);
    EXPECT_LE(most, c.most * (1 + 1e-6));
    EXPECT_GT(most, 0.9 * std::min(c.most, c.mean + 2 * c.deviation));
  }
}

TEST(Assign, ADeviationOf0IsTheMeanAndLowMayBeHigh) {
  for (const float x : kernel_of(both(of("random_normal"), {{"mean", 3.0}, {"stddev", 0.0}}))) ASSERT_EQ(x, 3.f);
  for (const float x : kernel_of(both(of("random_uniform"), {{"low", 2.0}, {"high", 2.0}}))) ASSERT_EQ(x, 2.f);
}

TEST(Assign, TheLogSaysWhatWasDrawn) {
  const auto init = driver(both(of("truncated_normal"), {{"stddev", 0.02}}));
  init->run();
  EXPECT_EQ(init->logged(), Names{"info: set to truncated_normal(0, 0.02): dense/kernel"});
}

TEST(Assign, AParameterOfAnotherDistributionIsRefused) {
  EXPECT_EQ(error_with(both(of("random_uniform"), {{"stddev", 0.02}})),
            "INVALID_ARGUMENT: 'stddev' is no parameter of random_uniform, but of random_normal and truncated_normal; "
            "take it out");
  EXPECT_EQ(error_with(both(of("he_normal"), {{"high", 1.0}})),
            "INVALID_ARGUMENT: 'high' is no parameter of he_normal, but of random_uniform; take it out");
  EXPECT_EQ(error_with(both(of("random_uniform"), {{"low", 2.0}})),
            "INVALID_ARGUMENT: 'low' is 2, which must not be above 'high', 1");
}

TEST(Assign, RandomNumbersAreForFloatsAndSomeForMatrices) {
  EXPECT_EQ(
      error_with(of("random_normal", "count")),
      "INVALID_ARGUMENT: random_normal makes float32 and float64 numbers, variable 'count' is int64; leave it out "
      "of 'vars', or give a constant");
  EXPECT_EQ(error_with(of("glorot_uniform", "dense/bias")),
            "INVALID_ARGUMENT: glorot_uniform needs a matrix, variable 'dense/bias' has the shape [3]; leave it out of "
            "'vars'");
}

}  // namespace assign_test
