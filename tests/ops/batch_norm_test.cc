// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "belay/ops/math.h"
#include "belay/ops/normalization.h"
#include "tests/ops/kernel_check.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

// Output `index` of a batch norm of in[0], scaled by in[1], offset by in[2], with mean and variance after them if not
// training.
Build batch_norm(bool training, const char* data_format = "NHWC", std::uint32_t index = 0) {
  return [=](const Inputs& in) {
    return in[0]
        .graph()
        .node("FusedBatchNorm", "norm")
        .in(in)
        .attr("is_training", training)
        .attr("epsilon", 0.01)
        .attr("data_format", data_format)
        .output(index);
  };
}
std::vector<Operand> operands(const Dims& x, std::int64_t channels, bool training) {
  std::vector<Operand> all = {{x}, {{channels}}, {{channels}}};
  if (training) return all;
  all.push_back({{channels}});
  all.push_back({{channels}, 0.5, 2});
  return all;
}

// A given mean or variance has no gradient: it must not be asked for.
Build with_constant_moments(const char* data_format) {
  return [=](const Inputs& in) {
    const Output mean = in[1] * 0.5, variance = ops::square(in[2]) + 0.1;
    return batch_norm(false,
                      data_format)({in[0], in[1], in[2], ops::stop_gradient(mean), ops::stop_gradient(variance)});
  };
}

struct BatchNormCase {
  const char* format;
  Dims x;
  std::int64_t channels;
};
const std::vector<BatchNormCase> kSmallInputs = {
    {"NHWC", {2, 3, 2, 3}, 3}, {"NCHW", {2, 3, 2, 2}, 3}, {"NHWC", {5, 2}, 2}, {"NHWC", {2, 3, 2}, 2}};
const std::vector<BatchNormCase> kLargeInputs = {{"NHWC", {2, 1, 1, 1}, 1},     {"NHWC", {0, 4, 4, 3}, 3},
                                                 {"NHWC", {2, 4, 4, 0}, 0},     {"NHWC", {4, 9, 7, 17}, 17},
                                                 {"NCHW", {4, 17, 9, 7}, 17},   {"NHWC", {8, 14, 14, 32}, 32},
                                                 {"NCHW", {8, 32, 14, 14}, 32}, {"NHWC", {33, 5}, 5}};

TEST(BatchNorm, GradientsAgreeWithFiniteDifferences) {
  for (const BatchNormCase& c : kSmallInputs) {
    SCOPED_TRACE(std::string(c.format) + " " + dims_text(c.x));
    check_gradients(batch_norm(true, c.format), operands(c.x, c.channels, true), 1e-5);
  }
}

TEST(BatchNorm, Float32AgreesWithFloat64) {
  for (const BatchNormCase& c : kLargeInputs) {
    SCOPED_TRACE(std::string(c.format) + " " + dims_text(c.x));
    check_float32(batch_norm(true, c.format), operands(c.x, c.channels, true), 2e-4);
  }
}

TEST(BatchNorm, GivenMomentsAreUsed) {
  const std::vector<float> y = run_op<float>(
      batch_norm(false), {Tensor({2, 2}, std::vector<float>{1, 2, 3, 4}), Tensor({2}, std::vector<float>{1, 2}),
                          Tensor({2}, std::vector<float>{0, 10}), Tensor({2}, std::vector<float>{1, 2}),
                          Tensor({2}, std::vector<float>{0.99f, 3.99f})});
  const std::vector<float> wanted = {0, 10, 2, 12};
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(y[i], wanted[i], 1e-5) << i;
}

TEST(BatchNorm, TheGivenMomentsAreConstantsToTheGradient) {
  for (const BatchNormCase& c : {kSmallInputs[0], kSmallInputs[1]}) {
    // By hand: dx = dy * scale / sqrt(variance + epsilon), with weight(i) arriving.
    const std::vector<Operand> all = operands(c.x, c.channels, true);
    const Evaluated e = Evaluator(with_constant_moments(c.format), all, {}).run(elements_of(all));
    const std::vector<std::vector<double>> in = elements_of(all);
    const std::size_t inner = std::string_view(c.format) == "NCHW" ? 4 : 1;
    for (std::size_t i = 0; i < in[0].size(); ++i) {
      const std::size_t channel = i / inner % 3;
      const double variance = in[2][channel] * in[2][channel] + 0.1;
      EXPECT_NEAR(e.gradients[0][i], Evaluator::weight(i) * in[1][channel] / std::sqrt(variance + 0.01), 1e-9) << i;
    }
    check_float32(with_constant_moments(c.format), all, 1e-4);
  }
}

TEST(BatchNorm, GradientsWithGivenMomentsAgreeWithFiniteDifferences) {
  for (const BatchNormCase& c : kSmallInputs) {
    SCOPED_TRACE(std::string(c.format) + " " + dims_text(c.x));
    const std::vector<double> means = {0.5, -1, 2}, variances = {0.3, 2, 1.25};
    const auto first = [&](const std::vector<double>& of) {
      return Tensor({c.channels}, std::vector<double>(of.begin(), of.begin() + c.channels));
    };
    const Build build = [&](const Inputs& in) {
      const Graph g = in[0].graph();
      const DType dtype = in[0].dtype();
      return batch_norm(false, c.format)({in[0], in[1], in[2], ops::cast(ops::constant(g, first(means)), dtype),
                                          ops::cast(ops::constant(g, first(variances)), dtype)});
    };
    const std::vector<Operand> all = operands(c.x, c.channels, true);
    check_gradients(build, all, 1e-6);
    check_float32(build, all, 1e-5);
  }
}

TEST(BatchNorm, GivesTheMomentsOfTheBatch) {
  const std::vector<Tensor> in = {Tensor({3, 2}, std::vector<double>{1, 10, 2, 10, 6, 10}),
                                  Tensor({2}, std::vector<double>{1, 1}), Tensor({2}, std::vector<double>{0, 0})};
  EXPECT_EQ(run_op<double>(batch_norm(true, "NHWC", 1), in), (std::vector<double>{3, 10}));
  EXPECT_EQ(run_op<double>(batch_norm(true, "NHWC", 2), in), (std::vector<double>{7, 0}));
  EXPECT_NEAR(run_op<double>(batch_norm(true, "NHWC", 3), in)[0], 14.0 / 3, 1e-12);
}

TEST(BatchNorm, BadInputIsNamed) {
  const std::string node = "INVALID_ARGUMENT: node 'norm' (FusedBatchNorm): ";
  const Spec x{DType::kFloat32, {2, 3}}, two{DType::kFloat32, {2}}, three{DType::kFloat32, {3}};
  EXPECT_EQ(build_error(batch_norm(true), {x, three, two}),
            node + "input 2 (float32 [2]) must have one number for each channel of input 0 (float32 [2, 3])");
  EXPECT_EQ(build_error(batch_norm(true), {x, three, three, three}),
            node + "with is_training true it takes 3 inputs (x, scale, offset), not 4");
  EXPECT_EQ(build_error(batch_norm(false), {x, three, three}),
            node + "with is_training false it takes 5 inputs (x, scale, offset, mean, variance), not 3");
  EXPECT_EQ(build_error(batch_norm(true, "NCHW"), {x, three, three}),
            node + "input 0 (float32 [2, 3]) must have 4 dimensions");
  EXPECT_EQ(build_error(batch_norm(true, "NCH"), {x, three, three}),
            node + "attribute 'data_format' is 'NCH', must be NHWC or NCHW");
  EXPECT_EQ(build_error(batch_norm(true), {three, three, three}),
            node + "input 0 (float32 [3]) must have at least two dimensions, the last one being the channels");
  EXPECT_EQ(build_error(batch_norm(true), {x, {DType::kFloat64, {3}}, three}),
            node + "input 0 (float32 [2, 3]) and input 1 (float64 [3]) must have the same dtype");
  EXPECT_EQ(
      build_error([](const Inputs& in) { return ops::batch_norm(in[0], true); }, {three}),
      "INVALID_ARGUMENT: batch_norm 'batch_norm': 'Placeholder:0' (float32 [3]) must have at least two dimensions "
      "and a known number of channels");
}

TEST(BatchNorm, AnEpsilonThatIsNotPositiveIsNamed) {
  const std::pair<double, const char*> cases[] = {{0, "0"}, {-0.5, "-0.5"}, {std::nan(""), "nan"}};
  for (const auto& [number, text] : cases) {
    const double epsilon = number;
    EXPECT_EQ(build_error(
                  [=](const Inputs& in) {
                    return in[0].graph().node("FusedBatchNorm", "norm").in(in).attr("epsilon", epsilon).output();
                  },
                  {{DType::kFloat32, {2, 3}}, {DType::kFloat32, {3}}, {DType::kFloat32, {3}}}),
              std::string("INVALID_ARGUMENT: node 'norm' (FusedBatchNorm): attribute 'epsilon' must be above 0, got ") +
                  text);
  }
}

TEST(BatchNorm, BadInputOfItsGradientIsNamed) {
  const std::string node = "INVALID_ARGUMENT: node 'd' (FusedBatchNormGrad): ";
  const std::vector<Dims> good = {{2, 3}, {3}, {3}, {3}, {2, 3}};  // x, scale, mean, variance, dy
  const auto error_with = [&](std::size_t i, const Dims& dims, DType dtype = DType::kFloat32) {
    std::vector<Spec> specs;
    for (const Dims& d : good) specs.push_back({DType::kFloat32, d});
    specs[i] = {dtype, dims};
    return build_error([](const Inputs& in) { return in[0].graph().node("FusedBatchNormGrad", "d").in(in).output(); },
                       specs);
  };
  EXPECT_EQ(error_with(0, {2, 3}), "no error");
  EXPECT_EQ(error_with(0, {3}),
            node + "input 0 (float32 [3]) must have at least two dimensions, the last one being the channels");
  for (const std::size_t i : {1, 2, 3})
    EXPECT_EQ(error_with(i, {2}), node + "input " + std::to_string(i) +
                                      " (float32 [2]) must have one number for each channel of input 0 (float32 [2, "
                                      "3])");
  EXPECT_EQ(error_with(4, {3, 2}),
            node + "input 4 (float32 [3, 2]), the incoming gradient, must have the shape of input 0 (float32 [2, 3])");
  EXPECT_EQ(error_with(4, {2, 3}, DType::kFloat64),
            node + "input 0 (float32 [2, 3]) and input 4 (float64 [2, 3]) must have the same dtype");
}

TEST(BatchNorm, GivenMomentsHaveNoGradient) {
  for (const std::size_t i : {3, 4})
    EXPECT_EQ(
        build_error([=](const Inputs& in) { return in[0].graph().gradients({batch_norm(false)(in)}, {in[i]})[0]; },
                    {{DType::kFloat32, {2, 3}},
                     {DType::kFloat32, {3}},
                     {DType::kFloat32, {3}},
                     {DType::kFloat32, {3}},
                     {DType::kFloat32, {3}}}),
        "UNIMPLEMENTED: a batch norm cannot be differentiated with respect to a mean or variance that it is given");
}

TEST(BatchNorm, OnlyYCanBeDifferentiated) {
  for (const std::uint32_t moment : {1, 2, 3})
    EXPECT_EQ(
        build_error(
            [=](const Inputs& in) {
              const Output of = batch_norm(true, "NHWC", moment)(in);
              return in[0].graph().gradients({of}, {in[0]})[0];
            },
            {{DType::kFloat32, {2, 3}}, {DType::kFloat32, {3}}, {DType::kFloat32, {3}}}),
        "UNIMPLEMENTED: 'norm:" + std::to_string(moment) + "' cannot be differentiated: of a batch norm only y can");
}

TEST_F(SessionTest, BatchNormMovesItsAveragesBesideTheTrainOperation) {
  const Output x = ops::placeholder(g, DType::kFloat32, {-1, 2}, "x");
  ops::BatchNormOptions options;
  options.momentum = 0.75;
  ops::batch_norm(x, true, options);
  const std::vector<Output> updates = g.collection(collections::kUpdateOps);
  ASSERT_EQ(updates.size(), 2u);
  const Output all = ops::group(g, updates);
  std::vector<std::string> names, trainable;
  for (const Output& v : g.collection(collections::kGlobalVariables)) names.push_back(g.node_name_of(v));
  for (const Output& v : g.collection(collections::kTrainableVariables)) trainable.push_back(g.node_name_of(v));
  EXPECT_EQ(names, (std::vector<std::string>{"batch_norm/scale", "batch_norm/offset", "batch_norm/moving_mean",
                                             "batch_norm/moving_variance"}));
  EXPECT_EQ(trainable, (std::vector<std::string>{"batch_norm/scale", "batch_norm/offset"}));
  open();
  initialize();
  const Tensor batch({2, 2}, std::vector<float>{0, 4, 4, 4});
  session().handle().run({all}, {{x, batch}});
  EXPECT_EQ(values<float>(g.find("batch_norm/moving_mean")), (std::vector<float>{0.5, 1}));
  EXPECT_EQ(values<float>(g.find("batch_norm/moving_variance")), (std::vector<float>{2.75, 0.75}));
}

}  // namespace
}  // namespace belay::runtime::testing
