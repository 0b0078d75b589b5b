// SPDX-License-Identifier: Apache-2.0
// belay/ops/defaults.h: what layers are made with inside a scope.
#include "belay/ops/defaults.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "belay/ops/attention.h"
#include "belay/ops/convolution.h"
#include "belay/ops/embedding.h"
#include "belay/ops/matmul.h"
#include "belay/ops/normalization.h"
#include "belay/ops/pooling.h"
#include "belay/ops/recurrent.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

using ops::Activation;

class DefaultsTest : public SessionTest {
 protected:
  // The operation that computes it.
  const std::string& op_of(const Output& o) const { return graph.node(o.raw().node).op->name; }
  Output rows() { return ops::placeholder(g, DType::kFloat32, {-1, 4}); }
  Output images() { return ops::placeholder(g, DType::kFloat32, {-1, 8, 8, 2}); }
};

TEST_F(DefaultsTest, HoldForTheLayersInsideTheScope) {
  {
    const auto scope = ops::defaults(ops::DenseOptions{.activation = Activation::kRelu, .use_bias = false});
    EXPECT_EQ(op_of(ops::dense(rows(), 3)), "Relu");
    EXPECT_EQ(op_of(ops::dense_last(rows(), 3, {.name = "named"})), "Relu");
    EXPECT_EQ(graph.collection(collections::kTrainableVariables).size(), 2u) << "and no bias";
  }
  EXPECT_EQ(op_of(ops::dense(rows(), 3)), "BiasAdd");
}

TEST_F(DefaultsTest, WhatACallSetsWinsAndTheRestIsTheScopes) {
  const auto scope = ops::defaults(ops::DenseOptions{.activation = Activation::kRelu, .use_bias = false});
  EXPECT_EQ(op_of(ops::dense(rows(), 3, {.activation = Activation::kNone})), "MatMul");
  EXPECT_EQ(op_of(ops::dense(rows(), 3, {.use_bias = true})), "Relu");
  EXPECT_EQ(graph.collection(collections::kTrainableVariables).size(), 3u);
}

TEST_F(DefaultsTest, OfAnInnerScopeBeginWithTheOuterOnes) {
  const auto outer = ops::defaults(ops::DenseOptions{.activation = Activation::kRelu, .use_bias = false});
  {
    const auto inner = ops::defaults(ops::DenseOptions{.activation = Activation::kTanh});
    const ops::DenseOptions now;
    EXPECT_EQ(now.activation, Activation::kTanh);
    EXPECT_FALSE(now.use_bias);
  }
  EXPECT_EQ(ops::DenseOptions().activation, Activation::kRelu);
}

TEST_F(DefaultsTest, AreOfEachFunctionForItself) {
  const auto scope = ops::defaults(ops::Conv2dOptions{.window = {.padding = "SAME"}, .activation = Activation::kRelu},
                                   ops::PoolOptions{.strides = 1, .padding = "SAME"});
  const Output y = ops::conv2d(images(), 3, 3);
  EXPECT_EQ(op_of(y), "Relu");
  EXPECT_EQ(y.dims(), (Dims{-1, 8, 8, 3}));
  EXPECT_EQ(ops::max_pool2d(y, 2).dims(), (Dims{-1, 8, 8, 3}));
  EXPECT_EQ(ops::avg_pool2d(y, 2, {.strides = 2}).dims(), (Dims{-1, 4, 4, 3}));
  EXPECT_EQ(op_of(ops::dense(rows(), 3)), "BiasAdd") << "nothing was said of dense layers";
}

TEST_F(DefaultsTest, EveryOptionOfALayerCanHaveOne) {
  const auto made = [](const Graph& owner, const Dims& dims, DType type) { return ops::zeros(owner, dims, type); };
  ops::LstmOptions lstm;
  lstm.time_major = true;
  lstm.forget_bias = 0;
  ops::GruOptions gru;
  gru.time_major = true;
  const auto scope = ops::defaults(
      ops::DenseOptions{.kernel_initializer = made}, ops::Conv2dOptions{.kernel_initializer = made, .use_bias = false},
      ops::PoolOptions{.explicit_paddings = {1, 0, 1, 0}, .data_format = "NCHW"},
      ops::BatchNormOptions{.momentum = 0.9, .epsilon = 0.5, .data_format = "NCHW"},
      ops::LayerNormOptions{.epsilon = 0.25}, ops::EmbeddingOptions{.dtype = DType::kFloat64, .initializer = made},
      lstm, gru, ops::AttentionOptions{.heads = 2, .causal = true, .scale = 3});
  EXPECT_TRUE(ops::DenseOptions().kernel_initializer && ops::Conv2dOptions().kernel_initializer);
  EXPECT_FALSE(ops::Conv2dOptions().use_bias);
  EXPECT_EQ(ops::PoolOptions().explicit_paddings[2], 1);
  EXPECT_EQ(ops::PoolOptions().data_format, "NCHW");
  const ops::BatchNormOptions norm;
  EXPECT_TRUE(norm.momentum == 0.9 && norm.epsilon == 0.5);
  EXPECT_EQ(norm.data_format, "NCHW");
  EXPECT_EQ(ops::LayerNormOptions().epsilon, 0.25);
  EXPECT_TRUE(ops::EmbeddingOptions().dtype == DType::kFloat64 && ops::EmbeddingOptions().initializer);
  EXPECT_TRUE(ops::LstmOptions().time_major && ops::LstmOptions().forget_bias == 0);
  EXPECT_TRUE(ops::GruOptions().time_major);
  const ops::AttentionOptions attention;
  EXPECT_TRUE(attention.heads == 2 && attention.causal && attention.scale == 3);
}

TEST_F(DefaultsTest, ANameIsOfOneCall) {
  const auto scope = ops::defaults(ops::DenseOptions{.name = "mine"});
  EXPECT_EQ(ops::DenseOptions().name, "dense");
}

TEST_F(DefaultsTest, AreOfOneThread) {
  const auto scope = ops::defaults(ops::DenseOptions{.activation = Activation::kRelu});
  std::optional<Activation> elsewhere;
  std::thread([&] { elsewhere = ops::DenseOptions().activation; }).join();
  EXPECT_EQ(elsewhere, Activation::kNone);
}

TEST_F(DefaultsTest, WhatTheCompilerEvaluatesHasTheStructsOwn) {
  const auto scope = ops::defaults(ops::BatchNormOptions{.momentum = 0.5});
  constexpr double momentum = ops::BatchNormOptions().momentum;
  EXPECT_EQ(momentum, 0.99);
}

}  // namespace
}  // namespace belay::runtime::testing
