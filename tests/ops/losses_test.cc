// SPDX-License-Identifier: Apache-2.0
#include "belay/ops/losses.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "belay/ops/activations.h"
#include "belay/ops/control.h"
#include "belay/ops/shape.h"
#include "tests/ops/kernel_check.h"

namespace belay::runtime::testing {
namespace {

Operand labels(const Dims& dims, double classes, DType dtype = DType::kInt64) { return {dims, 0, classes, {}, dtype}; }
const Build kSparse = [](const Inputs& in) { return ops::sparse_softmax_cross_entropy_with_logits(in[0], in[1]); };
const Build kDenseLabels = [](const Inputs& in) { return ops::softmax_cross_entropy_with_logits(in[0], in[1]); };
const Build kSigmoid = [](const Inputs& in) { return ops::sigmoid_cross_entropy_with_logits(in[0], in[1]); };

TEST(SparseSoftmaxCrossEntropy, GradientsAgreeWithFiniteDifferences) {
  check_gradients(kSparse, {{{4, 3}}, labels({4}, 3)});
  check_gradients(kSparse, {{{4, 3}}, labels({4}, 3, DType::kInt32)});
  check_gradients(kSparse, {{{2, 3, 5}}, labels({2, 3}, 5)});
  check_gradients(kSparse, {{{6}}, labels({}, 6)});
}

TEST(SparseSoftmaxCrossEntropy, Float32AgreesWithFloat64) {
  for (const Dims& dims : std::vector<Dims>{{1, 1}, {0, 4}, {7, 17}, {64, 10}, {33, 130}, {2001, 3}})
    for (const DType dtype : {DType::kInt32, DType::kInt64}) {
      SCOPED_TRACE(dims_text(dims));
      check_float32(kSparse, {{dims, -10, 10}, labels({dims[0]}, static_cast<double>(dims[1]), dtype)}, 1e-5);
    }
}

TEST(SparseSoftmaxCrossEntropy, GivesItsOwnGradientInOnePass) {
  // softmax - one hot
  const std::vector<float> backprop = run_op<float>(
      [](const Inputs& in) { return ops::sparse_softmax_cross_entropy_with_logits(in[0], in[1]).sibling(1); },
      {Tensor({2, 2}, {0.0f, 0.0f, 1000.0f, 0.0f}), Tensor({2}, {1, 1})});
  EXPECT_EQ(backprop, (std::vector<float>{0.5, -0.5, 1, -1}));
}

TEST(SparseSoftmaxCrossEntropy, NanSpoilsItsRowOnly) {
  const std::vector<float> loss =
      run_op<float>(kSparse, {Tensor({2, 2}, {kNan, 0.0f, 0.0f, 0.0f}), Tensor({2}, {0, 0})});
  EXPECT_TRUE(std::isnan(loss[0]));
  EXPECT_NEAR(loss[1], std::log(2.0), 1e-6);
}

TEST(SparseSoftmaxCrossEntropy, ALabelOutsideIsNamed) {
  const Tensor logits({3, 2}, {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f});
  EXPECT_EQ(
      run_error(kSparse, {logits, Tensor({3}, {0, 1, 2})}),
      "INVALID_ARGUMENT: node 'SparseSoftmaxCrossEntropyWithLogits' (SparseSoftmaxCrossEntropyWithLogits): label 2 of "
      "row 2 is not in [0, 2)");
  EXPECT_EQ(
      run_error(kSparse, {logits, Tensor({3}, {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1}})}),
      "INVALID_ARGUMENT: node 'SparseSoftmaxCrossEntropyWithLogits' (SparseSoftmaxCrossEntropyWithLogits): label -1 of "
      "row 1 is not in [0, 2)");
  EXPECT_EQ(
      run_error(kSparse, {Tensor(DType::kFloat32, {1, 0}), Tensor({1}, {0})}),
      "INVALID_ARGUMENT: node 'SparseSoftmaxCrossEntropyWithLogits' (SparseSoftmaxCrossEntropyWithLogits): label 0 of "
      "row 0 is not in [0, 0)");
}

TEST(SoftmaxCrossEntropy, GradientsAgreeWithFiniteDifferences) {
  // Labels that do not add up to 1, too.
  check_gradients(kDenseLabels, {{{4, 3}}, {{4, 3}, 0, 1}});
  check_gradients(kDenseLabels, {{{5}}, {{5}, 0, 1}});
}

TEST(SoftmaxCrossEntropy, Float32AgreesWithFloat64) {
  for (const Dims& dims : std::vector<Dims>{{1, 1}, {0, 4}, {3, 0}, {7, 17}, {64, 10}, {2, 33, 130}, {2001, 3}}) {
    SCOPED_TRACE(dims_text(dims));
    check_float32(kDenseLabels, {{dims, -10, 10}, {dims, 0, 1}}, 2e-5);
  }
}

TEST(SoftmaxCrossEntropy, HasNoSecondGradient) {
  EXPECT_EQ(
      build_error(
          [](const Inputs& in) {
            const Output dx = in[0].graph().gradients({kSparse(in)}, {in[0]})[0];
            return in[0].graph().gradients({dx}, {in[0]})[0];
          },
          {{DType::kFloat32, {2, 3}}, {DType::kInt64, {2}}}),
      "UNIMPLEMENTED: 'SparseSoftmaxCrossEntropyWithLogits:1' cannot be differentiated: a cross entropy has a first "
      "derivative only");
}

TEST(SigmoidCrossEntropy, GradientsAgreeWithFiniteDifferences) {
  check_gradients(kSigmoid, {{{3, 4}, -6, 6, {0}}, {{3, 4}, 0, 1}});
}

TEST(SigmoidCrossEntropy, Float32AgreesWithFloat64) {
  for (const Dims& dims : std::vector<Dims>{{}, {0}, {1}, {17}, {5, 33}, {9001}}) {
    SCOPED_TRACE(dims_text(dims));
    check_float32(kSigmoid, {{dims, -30, 30}, {dims, 0, 1}}, 1e-5);
  }
}

TEST(SigmoidCrossEntropy, SmallLossesKeepTheirDigits) {
  EXPECT_NEAR(run_op<float>(kSigmoid, {Tensor({1}, {20.0f}), Tensor({1}, {1.0f})})[0], std::exp(-20.0), 1e-15);
}

TEST(Losses, AreMeansOverTheBatch) {
  const Tensor logits({2, 2}, {0.0f, 0.0f, 2.0f, 0.0f});
  const double second = std::log(1 + std::exp(2.0));  // of label 1
  const auto wanted = static_cast<float>((std::log(2.0) + second) / 2);
  EXPECT_NEAR(run_op<float>([](const Inputs& in) { return ops::softmax_cross_entropy(in[0], in[1]); },
                            {logits, Tensor({2}, {0, 1})})[0],
              wanted, 1e-6);
  EXPECT_NEAR(run_op<float>([](const Inputs& in) { return ops::softmax_cross_entropy(in[0], in[1]); },
                            {logits, Tensor({2, 2}, {1.0f, 0.0f, 0.0f, 1.0f})})[0],
              wanted, 1e-6);
  EXPECT_NEAR(run_op<float>([](const Inputs& in) { return ops::sigmoid_cross_entropy(in[0], in[1]); },
                            {Tensor({2}, {0.0f, 2.0f}), Tensor({2}, {1, 0})})[0],
              (std::log(2.0) + 2 + std::log1p(std::exp(-2.0))) / 2, 1e-6);
  EXPECT_EQ(run_op<float>([](const Inputs& in) { return ops::mean_squared_error(in[0], in[1]); },
                          {Tensor({2, 1}, {1.0f, 2.0f}), Tensor({2, 1}, {3.0f, 2.0f})}),
            std::vector<float>{2});
}

TEST(Losses, OfDistances) {
  const Tensor p({2, 2}, {1.0f, 2.0f, -1.0f, 4.0f}), t({2, 2}, {1.5f, 2.0f, 1.0f, 0.0f});  // apart 0.5, 0, 2, 4
  const auto loss = [&](Output (*f)(const Output&, const Output&, std::string_view)) {
    return run_op<float>([f](const Inputs& in) { return f(in[0], in[1], {}); }, {p, t})[0];
  };
  EXPECT_FLOAT_EQ(loss(ops::absolute_difference), 6.5f / 4);
  EXPECT_FLOAT_EQ(loss(ops::mean_squared_error), 20.25f / 4);
  const auto huber = [](const Inputs& in) { return ops::huber_loss(in[0], in[1], 2); };
  EXPECT_FLOAT_EQ(run_op<float>(huber, {p, t})[0], (0.125f + 0 + 2 + 6) / 4);
  // Differences within a row: (-0.5) - 0 and -2 - 4.
  const auto pairs = [](const Inputs& in) {
    return ops::mean_pairwise_squared_error(ops::reshape(in[0], {2, 2}), ops::reshape(in[1], {2, 2}));
  };
  EXPECT_FLOAT_EQ(run_op<float>(pairs, {p, t})[0], (0.25f + 36) / 2);
  const auto cosine = [](const Inputs& in) { return ops::cosine_distance(in[0], in[1]); };
  EXPECT_FLOAT_EQ(run_op<float>(cosine, {p, t})[0], ((1 - 5.5f) + (1 + 1)) / 2);
}

TEST(Losses, OfLabels) {
  const Tensor x({4}, {0.5f, 2.0f, -0.25f, 3.0f}), labels({4}, {1, 1, 0, 0});
  const auto hinge = [](const Inputs& in) { return ops::hinge_loss(in[0], in[1]); };
  EXPECT_FLOAT_EQ(run_op<float>(hinge, {x, labels})[0], (0.5f + 0 + 0.75f + 4) / 4);
  const auto log = [](const Inputs& in) { return ops::log_loss(in[0], in[1]); };
  const Tensor p({3}, {0.25f, 0.5f, 0.0f}), t({3}, {1, 0, 1});
  EXPECT_NEAR(run_op<float>(log, {p, t})[0], (std::log(4.0) + std::log(2.0) - std::log(1e-7)) / 3, 1e-5);
}

TEST(Losses, OfDistancesHaveGradients) {
  const Operand p{{3, 4}, 1, 2}, t{{3, 4}, -2, 0.5};  // apart from 0.5 on
  check_gradients([](const Inputs& in) { return ops::absolute_difference(in[0], in[1]); }, {p, t});
  check_gradients([](const Inputs& in) { return ops::huber_loss(in[0], in[1], 10); }, {p, t});
  check_gradients([](const Inputs& in) { return ops::huber_loss(in[0], in[1], 0.25); }, {p, t});
  check_gradients([](const Inputs& in) { return ops::cosine_distance(in[0], in[1]); }, {p, t});
  check_gradients([](const Inputs& in) { return ops::log_loss(in[0], in[1]); }, {{{5}, 0.1, 0.9}, {{5}, 0.1, 0.9}});
  check_gradients([](const Inputs& in) { return ops::hinge_loss(in[0], in[1]); }, {{{5}, -0.4, 0.4}, labels({5}, 2)});
}

TEST(Losses, OfPairsHaveGradientsAndFloat32) {
  const auto pairs = [](const Dims& dims) -> Build {
    return [=](const Inputs& in) {
      return ops::mean_pairwise_squared_error(ops::reshape(in[0], dims), ops::reshape(in[1], dims));
    };
  };
  for (const Dims& dims : std::vector<Dims>{{3, 2}, {2, 5}}) check_gradients(pairs(dims), {{dims}, {dims}});
  for (const Dims& dims : std::vector<Dims>{{1, 2}, {17, 33}, {100, 257}}) {
    SCOPED_TRACE(dims_text(dims));
    check_float32(pairs(dims), {{dims}, {dims}});
  }
}

TEST(Losses, AccuracyCountsRowsWhoseLargestLogitIsTheLabel) {
  const Tensor logits({4, 3}, {9.0f, 1.0f, 1.0f, 1.0f, 9.0f, 1.0f, 1.0f, 1.0f, 9.0f, 9.0f, 1.0f, 1.0f});
  const Build accuracy = [](const Inputs& in) { return ops::accuracy(in[0], in[1]); };
  EXPECT_EQ(run_op<float>(accuracy, {logits, Tensor({4}, {0, 1, 2, 1})}), std::vector<float>{0.75});
  EXPECT_EQ(run_op<float>(accuracy,
                          {logits, Tensor({4}, {std::uint8_t{1}, std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{1}})}),
            std::vector<float>{0.5});
}

TEST(Losses, BadInputIsNamed) {
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::huber_loss(in[0], in[1], 0); },
                        {{DType::kFloat32, {2}}, {DType::kFloat32, {2}}}),
            "INVALID_ARGUMENT: huber_loss: delta must be above 0, got 0.000000");
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::absolute_difference(in[0], in[1]); },
                        {{DType::kFloat32, {2}}, {DType::kFloat32, {2, 1}}}),
            "INVALID_ARGUMENT: absolute_difference: 'Placeholder:0' (float32 [2]) and 'Placeholder_1:0' (float32 [2, "
            "1]) must have the same "
            "number of dimensions; use ops::expand_dims or ops::squeeze");
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::mean_pairwise_squared_error(in[0], in[1]); },
                        {{DType::kFloat32, {2, 1}}, {DType::kFloat32, {2, 1}}}),
            "INVALID_ARGUMENT: mean_pairwise_squared_error: 'Placeholder:0' (float32 [2, 1]) must be a matrix "
            "[examples, elements] "
            "of at least two elements");
  EXPECT_EQ(
      build_error(kSparse, {{DType::kFloat32, {4, 3}}, {DType::kFloat32, {4}}}),
      "INVALID_ARGUMENT: node 'SparseSoftmaxCrossEntropyWithLogits' (SparseSoftmaxCrossEntropyWithLogits): input 1 "
      "(float32 [4]) must be int32 or int64");
  EXPECT_EQ(
      build_error(kSparse, {{DType::kFloat32, {4, 3}}, {DType::kInt64, {4, 3}}}),
      "INVALID_ARGUMENT: node 'SparseSoftmaxCrossEntropyWithLogits' (SparseSoftmaxCrossEntropyWithLogits): input 1 "
      "(int64 [4, 3]) must have the shape of input 0 (float32 [4, 3]) without its last dimension");
  EXPECT_EQ(
      build_error(kDenseLabels, {{DType::kFloat32, {4, 3}}, {DType::kFloat32, {4, 2}}}),
      "INVALID_ARGUMENT: node 'SoftmaxCrossEntropyWithLogits' (SoftmaxCrossEntropyWithLogits): input 0 (float32 [4, "
      "3]) and input 1 (float32 [4, 2]) must have the same shape");
  EXPECT_EQ(
      build_error(kSparse, {{DType::kFloat32, {}}, {DType::kInt64, {}}}),
      "INVALID_ARGUMENT: node 'SparseSoftmaxCrossEntropyWithLogits' (SparseSoftmaxCrossEntropyWithLogits): input 0 "
      "(float32 []) must have at least one dimension");
  EXPECT_EQ(
      build_error(
          [](const Inputs& in) {
            return kDenseLabels({ops::placeholder_of_any_rank(in[0].graph(), DType::kFloat32), in[0]});
          },
          {{DType::kFloat32, {}}}),
      "INVALID_ARGUMENT: node 'SoftmaxCrossEntropyWithLogits' (SoftmaxCrossEntropyWithLogits): input 1 (float32 []) "
      "must have at least one dimension");
  EXPECT_EQ(
      build_error(kSigmoid, {{DType::kFloat32, {2, 3}}, {DType::kFloat32, {3}}}),
      "INVALID_ARGUMENT: node 'SigmoidCrossEntropyWithLogits' (SigmoidCrossEntropyWithLogits): input 0 (float32 [2, "
      "3]) and input 1 (float32 [3]) must have the same shape");
  EXPECT_EQ(
      build_error([](const Inputs& in) { return ops::mean_squared_error(in[0], in[1]); },
                  {{DType::kFloat32, {-1, 1}}, {DType::kFloat32, {-1}}}),
      "INVALID_ARGUMENT: mean_squared_error: 'Placeholder:0' (float32 [?, 1]) and 'Placeholder_1:0' (float32 [?]) must "
      "have the same number of dimensions; use ops::expand_dims or ops::squeeze");
  EXPECT_EQ(
      build_error([](const Inputs& in) { return ops::sigmoid_cross_entropy(in[0], in[1]); },
                  {{DType::kFloat32, {-1, 1}}, {DType::kInt64, {-1}}}),
      "INVALID_ARGUMENT: sigmoid_cross_entropy: 'Placeholder:0' (float32 [?, 1]) and 'Placeholder_1:0' (int64 [?]) "
      "must have the same number of dimensions; use ops::expand_dims or ops::squeeze");
}

}  // namespace
}  // namespace belay::runtime::testing
