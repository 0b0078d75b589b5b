// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/fusion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "belay/ops/activations.h"
#include "belay/ops/math.h"
#include "belay/ops/matmul.h"
#include "belay/ops/normalization.h"
#include "belay/ops/training.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

class FusionTest : public SessionTest {
 protected:
  Output matrix(const Dims& dims, DType dtype = DType::kFloat32) { return ops::placeholder(g, dtype, dims); }
  Output variable(const Dims& dims, double value = 0) { return ops::variable(g, "v", ops::fill(g, dims, value)); }

  // The fused steps of the plan for these fetches, as "MatMul+BiasAdd".
  std::vector<std::string> fused(const std::vector<Output>& fetches, const std::vector<Output>& hook_fetches = {}) {
    PlanKey key;
    for (const Output& o : fetches) key.fetches.push_back(graph.resolve(o.raw()));
    for (std::uint32_t id = 0; id < graph.size(); ++id)
      if (graph.node(id).op->name == "Placeholder") key.feeds.push_back({id, 0});
    std::vector<Port> ports;
    for (const Output& o : hook_fetches) ports.push_back(graph.resolve(o.raw()));
    const std::unique_ptr<Plan> plan = make_plan(graph, key, ports);
    std::vector<std::string> found;
    for (const PlanStage& stage : plan->stages)
      for (const PlanStep& step : stage.steps) {
        if (step.members.empty()) continue;
        std::string text;
        for (const Node* n : step.members) text += (text.empty() ? "" : "+") + n->op->name;
        found.push_back(text);
      }
    return found;
  }
  using Names = std::vector<std::string>;

  // The first of `fetches` by itself, so fused, against the same with all of them fetched, and so nothing swallowed.
  void check_agreement(NodeGraph& own, const Output& x, const Tensor& fed, const std::vector<FetchRef>& fetches) {
    const std::vector<Port> inits = own.collection("variable_init");
    own.finalize();
    for (const int threads : {1, 2}) {
      DirectSessionOptions options;
      options.threads = threads;
      DirectSession session(own, std::make_shared<VariableStore>(), options);
      session.run_once(inits);
      const belay_feed feed{x.raw(), fed.view()};
      FetchSet one({fetches[0]}), all(fetches);
      RunRequest request;
      request.feeds = {&feed, 1};
      request.full_team = true;
      request.fetches = &one;
      const runtime::Run fused_run = session.run(request);
      request.fetches = &all;
      const runtime::Run unfused_run = session.run(request);
      const TensorView a(fused_run.result(one, 0)), b(unfused_run.result(all, 0));
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a.number(i), b.number(i), 1e-5) << i << " of " << threads;
    }
  }
};

TEST_F(FusionTest, AProductTakesBiasAndActivationAlong) {
  const Output x = matrix({4, 3}), w = matrix({3, 2}), b = matrix({2});
  const Output with_bias = ops::bias_add(ops::matmul(x, w), b);
  const Output relu = ops::relu(ops::bias_add(ops::matmul(x, w), b));
  const Output tanh = ops::tanh(ops::matmul(x, w));
  const Output sigmoid = ops::sigmoid(ops::bias_add(ops::matmul(x, w), b));
  EXPECT_EQ(fused({with_bias}), Names{"MatMul+BiasAdd"});
  EXPECT_EQ(fused({relu}), Names{"MatMul+BiasAdd+Relu"});
  EXPECT_EQ(fused({tanh}), Names{"MatMul+Tanh"});
  EXPECT_EQ(fused({sigmoid}), Names{"MatMul+BiasAdd+Sigmoid"});
  EXPECT_EQ(fused({ops::matmul(x, w)}), Names{});
  EXPECT_EQ(fused({ops::elu(ops::matmul(x, w))}), Names{});
}

TEST_F(FusionTest, ANormTakesItsActivationAlong) {
  const Output x = matrix({4, 3}), b = matrix({3});
  EXPECT_EQ(fused({ops::relu(ops::batch_norm(x, true))}), Names{"FusedBatchNorm+Relu"});
  EXPECT_EQ(fused({ops::tanh(ops::batch_norm(x, false))}), Names{"FusedBatchNorm+Tanh"});
  EXPECT_EQ(fused({ops::sigmoid(ops::layer_norm(x))}), Names{"LayerNorm+Sigmoid"});
  EXPECT_EQ(fused({ops::elu(ops::layer_norm(x))}), Names{});
  EXPECT_EQ(fused({ops::relu(ops::bias_add(ops::layer_norm(x), b))}), (Names{"BiasAdd+Relu"}));
  EXPECT_EQ(fused({ops::relu(ops::layer_norm(matrix({4, 3}, DType::kFloat64)))}), Names{});
  const Output norm = ops::batch_norm(x, true);
  EXPECT_EQ(fused({ops::relu(norm) + norm}), Names{"Relu+Add"});
}

TEST_F(FusionTest, AFusedNormStillGivesItsStatistics) {
  const Output x = matrix({4, 3});
  const Output norm = ops::batch_norm(x, true);
  // Read between the two in the graph's order, which is why the step is in the place of the norm.
  const Output moved = ops::assign_add(variable({3}), norm.sibling(1));
  const Output relu = ops::relu(norm);
  const Output train = ops::group(g, {moved, ops::assign_add(variable({4, 3}), relu)});
  EXPECT_EQ(fused({train}), Names{"FusedBatchNorm+Relu"});
  EXPECT_EQ(fused({train}, {norm.sibling(1), norm.sibling(3)}), Names{"FusedBatchNorm+Relu"});
  EXPECT_EQ(fused({train}, {norm, ops::neg(norm)}), Names{"FusedBatchNorm+Relu"});
}

TEST_F(FusionTest, AValueWithAnotherUserIsNotSwallowed) {
  const Output x = matrix({4, 3}), w = matrix({3, 2}), b = matrix({2});
  const Output product = ops::matmul(x, w), sum = ops::bias_add(product, b), relu = ops::relu(sum);
  EXPECT_EQ(fused({relu + sum}), (Names{"MatMul+BiasAdd", "Relu+Add"}));
  EXPECT_EQ(fused({relu + product}), Names{"BiasAdd+Relu+Add"});
  const Output tanh = ops::tanh(product);
  EXPECT_EQ(fused({ops::neg(product) - tanh}), Names{"Tanh+Neg+Sub"});
}

TEST_F(FusionTest, AFetchedValueIsNotSwallowedWhereNothingIsWritten) {
  const Output x = matrix({4, 3}), w = matrix({3, 2}), b = matrix({2});
  const Output product = ops::matmul(x, w), sum = ops::bias_add(product, b), relu = ops::relu(sum);
  EXPECT_EQ(fused({relu, sum}), Names{"MatMul+BiasAdd"});
  EXPECT_EQ(fused({relu, product}), Names{"BiasAdd+Relu"});
}

TEST_F(FusionTest, Float64StaysAsItIs) {
  const Output x = matrix({4, 3}, DType::kFloat64), w = matrix({3, 2}, DType::kFloat64);
  EXPECT_EQ(fused({ops::relu(ops::matmul(x, w))}), Names{});
}

TEST_F(FusionTest, AProductThatOthersWaitForStaysAsItIs) {
  const Output x = matrix({4, 3}), w = matrix({3, 2});
  const Output product = ops::matmul(x, w);
  Output waiting;
  {
    const auto after = g.after({product});
    waiting = x * 2.0;
  }
  EXPECT_EQ(fused({ops::relu(product), waiting}), Names{});
}

TEST_F(FusionTest, WhatRunsAfterAWriteStaysBehindIt) {
  const Output x = matrix({4, 3}), w = variable({3, 2});
  const Output product = ops::matmul(x, w);
  Output relu;
  {
    const auto after = g.after({ops::assign_add(w, matrix({3, 2}))});
    relu = ops::relu(product);
  }
  EXPECT_EQ(fused({relu}), Names{});
}

TEST_F(FusionTest, UpdatesWithTheSameScalarsBecomeOnePass) {
  const Output rate = matrix({}), other = matrix({});
  const Output a = variable({3}), b = variable({2, 2}), c = variable({5}), d = variable({1});
  const std::vector<Output> updates = {
      ops::apply_gradient_descent(a, rate, matrix({3})), ops::apply_gradient_descent(b, other, matrix({2, 2})),
      ops::apply_gradient_descent(c, rate, matrix({5})), ops::apply_gradient_descent(d, rate, matrix({1}))};
  EXPECT_EQ(fused(updates), Names{"ApplyGradientDescent+ApplyGradientDescent+ApplyGradientDescent"});
}

TEST_F(FusionTest, UpdatesOfAnotherKindOrWithOtherConstantsStayApart) {
  const Output rate = matrix({}), p1 = matrix({}), p2 = matrix({}), grad = matrix({2});
  const auto v = [&] { return variable({2}); };
  const std::vector<Output> updates = {
      ops::apply_gradient_descent(v(), rate, grad), ops::apply_momentum(v(), v(), rate, grad, p1),
      ops::apply_momentum(v(), v(), rate, grad, p1, true), ops::apply_adam(v(), v(), v(), p1, p2, rate, grad),
      ops::apply_adam(v(), v(), v(), p1, p2, rate, grad, {0.8, 0.999, 1e-8})};
  EXPECT_EQ(fused(updates), Names{});
}

TEST_F(FusionTest, UpdatesThatDependOnEachOtherKeepTheirOrder) {
  const Output rate = matrix({}), grad = matrix({2});
  const Output a = variable({2}), b = variable({2}), c = variable({2});
  const Output first = ops::apply_gradient_descent(a, rate, grad);
  Output second;
  {
    const auto after = g.after({first});
    second = ops::apply_gradient_descent(b, rate, grad);
  }
  const Output third = ops::apply_gradient_descent(c, rate, grad);
  EXPECT_EQ(fused({first, second, third}), Names{"ApplyGradientDescent+ApplyGradientDescent"});
}

TEST_F(FusionTest, AnUpdateDoesNotPassAnotherWriteOfItsVariable) {
  const Output rate = matrix({}), grad = matrix({2});
  const Output a = variable({2}), b = variable({2});
  const Output first = ops::apply_gradient_descent(a, rate, grad);
  const Output write = ops::assign(a, grad);
  const Output second = ops::apply_gradient_descent(b, rate, grad);
  EXPECT_EQ(fused({first, write, second}), Names{});
  const Output twice = ops::apply_gradient_descent(b, rate, grad);
  EXPECT_EQ(fused({second, twice}), Names{});
}

TEST_F(FusionTest, WhatIsFetchedBesideDoesNotDecide) {
  const Output x = matrix({4, 3}), w = variable({3, 2}, 0.5), b = variable({2}), rate = matrix({});
  const Output product = ops::matmul(x, w), sum = ops::bias_add(product, b), relu = ops::relu(sum);
  const std::vector<Output> grads = g.gradients({relu}, {w, b});
  const Output train =
      ops::group(g, {ops::apply_gradient_descent(w, rate, grads[0]), ops::apply_gradient_descent(b, rate, grads[1])});
  const Names wanted{"MatMul+BiasAdd+Relu", "ApplyGradientDescent+ApplyGradientDescent"};
  EXPECT_EQ(fused({train}), wanted);
  EXPECT_EQ(fused({train, product, sum, relu}), wanted);
  EXPECT_EQ(fused({train}, {product, sum * 2.0, ops::neg(product), relu, grads[0]}), wanted);
}

TEST_F(FusionTest, ASwallowedValueIsComputedAgainForWhoAsks) {
  const Output x = matrix({2, 2}), w = variable({2, 2}, 1), b = variable({2}, -2),
               rate = ops::constant(g, Tensor(0.5f));
  const Output product = ops::matmul(x, w), sum = ops::bias_add(product, b), relu = ops::relu(sum);
  const Output doubled = sum * 2.0;
  const std::vector<Output> grads = g.gradients({relu}, {w, b});
  const Output update = ops::apply_gradient_descent(w, rate, grads[0]);
  const Output train = ops::group(g, {update, ops::apply_gradient_descent(b, rate, grads[1])});
  open();
  initialize();
  const Tensor fed({2, 2}, {1.0f, 0.0f, 2.0f, 1.0f});
  const belay_feed feed{x.raw(), fed.view()};
  FetchSet caller(std::vector<FetchRef>{train, relu, product, update});
  FetchSet hook(std::vector<FetchRef>{doubled, sum});
  FetchSet* const hooks[] = {&hook};
  RunRequest request;
  request.fetches = &caller;
  request.hook_fetches = hooks;
  request.feeds = {&feed, 1};
  const runtime::Run done = session().run(request);
  const auto numbers = [&](const FetchSet& set, std::size_t i) {
    const TensorView t(done.result(set, i));
    return std::vector<float>(t.data<const float>(), t.data<const float>() + t.size());
  };
  EXPECT_EQ(numbers(caller, 1), (std::vector<float>{0, 0, 1, 1}));
  EXPECT_EQ(numbers(caller, 2), (std::vector<float>{1, 1, 3, 3}));
  EXPECT_EQ(numbers(hook, 0), (std::vector<float>{-2, -2, 2, 2}));
  EXPECT_EQ(numbers(hook, 1), (std::vector<float>{-1, -1, 1, 1}));
  // Written once, though the update's own value was fetched.
  EXPECT_EQ(numbers(caller, 3), (std::vector<float>{0, 0, 0.5, 0.5}));
  EXPECT_EQ(values<float>(w), (std::vector<float>{0, 0, 0.5, 0.5}));
}

TEST_F(FusionTest, ASwallowedNormIsComputedAgainForWhoAsks) {
  const Output x = matrix({2, 2}), total = variable({2, 2}), mean = variable({2});
  const Output norm = ops::batch_norm(x, true);
  const Output moved = ops::assign_add(mean, norm.sibling(1));
  const Output relu = ops::relu(norm);
  const Output train = ops::group(g, {moved, ops::assign_add(total, relu)});
  open();
  initialize();
  const Tensor fed({2, 2}, {1.0f, 5.0f, 3.0f, 1.0f});  // means 2 and 3, variances 1 and 4
  const belay_feed feed{x.raw(), fed.view()};
  FetchSet caller(std::vector<FetchRef>{train});
  FetchSet hook(std::vector<FetchRef>{norm, norm.sibling(1), norm.sibling(3), relu});
  FetchSet* const hooks[] = {&hook};
  RunRequest request;
  request.fetches = &caller;
  request.hook_fetches = hooks;
  request.feeds = {&feed, 1};
  const runtime::Run done = session().run(request);
  const auto near = [&](std::size_t i, const std::vector<double>& wanted) {
    const TensorView t(done.result(hook, i));
    ASSERT_EQ(t.size(), wanted.size());
    for (std::size_t k = 0; k < t.size(); ++k) EXPECT_NEAR(t.number(k), wanted[k], 1e-3) << i << " " << k;
  };
  near(0, {-1, 1, 1, -1});
  near(1, {2, 3});
  near(2, {1, 4});
  near(3, {0, 1, 1, 0});
  EXPECT_EQ(values<float>(mean), (std::vector<float>{2, 3}));  // added once
  const std::vector<float> sum = values<float>(total);
  EXPECT_EQ(sum[0], 0);
  EXPECT_NEAR(sum[1], 1, 1e-3);
}

// oneDNN's own relu would make 0 of it.
TEST_F(FusionTest, WhatIsNotANumberComesThroughAFusedNorm) {
  const Output x = matrix({2, 3});
  const Output trained = ops::relu(ops::batch_norm(x, true)), used = ops::relu(ops::batch_norm(x, false)),
               layer = ops::relu(ops::layer_norm(x));
  open();
  initialize();
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  const Tensor fed({2, 3}, {1.0f, nan, 3.0f, -1.0f, 2.0f, inf});
  const std::vector<float> a = values<float>(trained, {{x, fed}}), b = values<float>(used, {{x, fed}}),
                           c = values<float>(layer, {{x, fed}});
  for (const std::size_t i : {1u, 4u, 2u, 5u}) EXPECT_TRUE(std::isnan(a[i])) << i;
  EXPECT_NEAR(a[0], 1, 1e-2);
  EXPECT_EQ(a[3], 0);
  EXPECT_TRUE(std::isnan(b[1]));
  EXPECT_EQ(b[5], inf);
  EXPECT_EQ(b[3], 0);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_TRUE(std::isnan(c[i])) << i;
}

TEST_F(FusionTest, FusedAndUnfusedNormsAgree) {
  for (const Dims& dims : {Dims{1, 1}, Dims{0, 4}, Dims{7, 5}, Dims{64, 9, 9, 16}, Dims{300, 20, 3, 20}})
    for (const auto activation : {ops::relu, ops::sigmoid, ops::tanh})
      for (const std::string kind : {"batch, used", "batch, trained", "batch, trained, NCHW", "layer"}) {
        SCOPED_TRACE(dims_text(dims) + " " + kind);
        const bool first = kind.ends_with("NCHW");
        if (first && dims.size() != 4) continue;
        NodeGraph own(*ops);
        const Output x = ops::placeholder(own.handle(), DType::kFloat32, dims);
        const Output norm = kind == "layer"
                                ? ops::layer_norm(x)
                                : ops::batch_norm(x, kind != "batch, used", {.data_format = first ? "NCHW" : "NHWC"});
        const Output y = activation(norm, {});
        Tensor fed(DType::kFloat32, dims);
        for (std::size_t i = 0; i < fed.size(); ++i) fed.data<float>()[i] = static_cast<float>(i * 7 % 31) / 10 - 1;
        check_agreement(own, x, fed, {y, norm});
      }
}

TEST_F(FusionTest, FusedAndUnfusedPlansAgree) {
  const std::vector<Dims> sizes = {{1, 1, 1}, {5, 7, 3}, {33, 17, 129}, {64, 10, 128}};
  for (const Dims& mnk : sizes)
    for (const auto activation : {ops::relu, ops::sigmoid, ops::tanh}) {
      SCOPED_TRACE(dims_text(mnk));
      NodeGraph own(*ops);
      const Graph handle = own.handle();
      const auto random = [&](const Dims& dims) { return ops::random_uniform(handle, dims, -0.5, 0.5); };
      const Output x = ops::placeholder(handle, DType::kFloat32, {mnk[0], mnk[2]});
      const Output w = ops::variable(handle, "w", random({mnk[2], mnk[1]}));
      const Output b = ops::variable(handle, "b", random({mnk[1]}));
      const Output product = ops::matmul(x, w), sum = ops::bias_add(product, b), y = activation(sum, {});
      Tensor fed(DType::kFloat32, {mnk[0], mnk[2]});
      for (std::size_t i = 0; i < fed.size(); ++i) fed.data<float>()[i] = static_cast<float>(i % 11) / 10 - 0.5f;
      check_agreement(own, x, fed, {y, sum, product});
    }
}

}  // namespace
}  // namespace belay::runtime::testing
