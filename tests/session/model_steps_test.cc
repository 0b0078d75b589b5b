// SPDX-License-Identifier: Apache-2.0
// Warm training steps of recurrent cells, attention and convolutions allocate nothing; what oneDNN allocates is not
// counted (steady_state_test.cc, in the same program).
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "belay/ops/activations.h"
#include "belay/ops/attention.h"
#include "belay/ops/convolution.h"
#include "belay/ops/embedding.h"
#include "belay/ops/losses.h"
#include "belay/ops/math.h"
#include "belay/ops/normalization.h"
#include "belay/ops/pooling.h"
#include "belay/ops/recurrent.h"
#include "belay/ops/shape.h"
#include "belay/ops/variables.h"
#include "belay/testing/allocations.h"
#include "plugins/default_plugins.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/optimizer/optimizer.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

using belay::testing::allocations;

constexpr std::int64_t kBatch = 8, kTime = 16, kWidth = 32, kVocabulary = 20;

Output lstm_body(const Output& ids) { return ops::lstm(ops::embedding(ids, kVocabulary, kWidth), kWidth).y; }
Output gru_body(const Output& ids) { return ops::gru(ops::embedding(ids, kVocabulary, kWidth), kWidth).y; }
Output transformer_body(const Output& ids) {
  const Output x = ops::embedding(ids, kVocabulary, kWidth);
  ops::AttentionOptions attention;
  attention.heads = 4, attention.causal = true;
  const Output y = ops::layer_norm(ops::add(x, ops::multi_head_attention(x, attention)));
  return ops::layer_norm(ops::add(y, ops::dense_last(ops::gelu(ops::dense_last(y, 4 * kWidth)), kWidth)));
}

// A sequence of 16 as an image of 4 x 4; pooling halves the sides, the flattened rest is a row per step again.
Output cnn_body(const Output& ids) {
  ops::Conv2dOptions conv;
  conv.window.padding = "SAME", conv.activation = ops::Activation::kRelu;
  const Output image = ops::reshape(ops::embedding(ids, kVocabulary, kWidth), {kBatch, 4, 4, kWidth});
  const Output pooled = ops::max_pool2d(ops::conv2d(image, kTime, {3, 3}, conv), 2);
  return ops::reshape(pooled, {kBatch, kTime, 4});
}

// Two groups of element-wise nodes (elementwise_groups.h), one of rows and scalars too.
Output chain_body(const Output& ids) {
  const Output x = ops::embedding(ids, kVocabulary, kWidth);
  const Output bias = ops::variable(x.graph(), "bias", ops::fill(x.graph(), {kWidth}, 0.1));
  return ops::tanh(x * 2.0 + bias) * ops::sigmoid(x);
}

class ModelSteps : public SessionTest, public ::testing::WithParamInterface<Output (*)(const Output&)> {};

TEST_P(ModelSteps, AllocateNothing) {
  const Output ids = ops::placeholder(g, DType::kInt32, {kBatch, kTime}, "ids");
  const Output logits = ops::dense_last(GetParam()(ids), kVocabulary);
  OptimizerSettings adam;
  adam.name = "adam";
  const Output train =
      minimize(g, ops::softmax_cross_entropy(logits, ids), LinkedOptimizer(adam, default_plugins()).use());
  DirectSessionOptions options;
  options.threads = kLoopsAllocate ? 1 : 2;
  open(options);
  initialize();
  std::vector<std::int32_t> values(static_cast<std::size_t>(kBatch * kTime));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(i * i % kVocabulary);
  const Tensor fed({kBatch, kTime}, values);
  const std::vector<belay_feed> feeds = {{ids.raw(), fed.view()}};
  FetchSet fetches(std::vector<FetchRef>{train});
  RunRequest request;
  request.fetches = &fetches;
  request.feeds = feeds;
  request.full_team = true;
  for (int i = 0; i < 5; ++i) session().run(request);
  const std::uint64_t before = allocations();
  for (int i = 0; i < 20; ++i) session().run(request);
  EXPECT_EQ(allocations() - before, 0u);
}

INSTANTIATE_TEST_SUITE_P(Bodies, ModelSteps,
                         ::testing::Values(lstm_body, gru_body, transformer_body, cnn_body, chain_body));

}  // namespace
}  // namespace belay::runtime::testing
