// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/pool_groups.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "belay/ops/convolution.h"
#include "belay/ops/losses.h"
#include "belay/ops/math.h"
#include "belay/ops/matmul.h"
#include "belay/ops/pooling.h"
#include "belay/ops/training.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

using Names = std::vector<std::string>;

// Two convolutions with pooling after each, and a dense layer; trained by plain descent.
struct Cnn {
  struct Options {
    DType dtype = DType::kFloat32;
    std::string_view format = "NHWC";
    std::int64_t window = 2;  // of the pooling, 2 apart: 3 overlap
    ops::Activation activation = ops::Activation::kRelu;
  };
  explicit Cnn(const Options& o) : ops(make_op_registry()), graph(*ops), g(graph.handle()) {
    const bool last = o.format == "NHWC";
    x = ops::placeholder(g, o.dtype, last ? Dims{-1, 9, 8, 2} : Dims{-1, 2, 9, 8}, "x");
    labels = ops::placeholder(g, DType::kInt64, {-1}, "labels");
    ops::Conv2dOptions layer;
    layer.window.padding = "SAME";
    layer.window.data_format = o.format;
    layer.activation = o.activation;
    // The same numbers in both types.
    layer.kernel_initializer = [](const Graph& in, const Dims& dims, DType dtype) {
      return ops::cast(ops::glorot_uniform(in, dims, DType::kFloat32), dtype);
    };
    ops::PoolOptions pool;
    pool.strides = 2;
    pool.data_format = o.format;
    Output h = ops::max_pool2d(ops::conv2d(x, 17, 3, layer), o.window, pool);
    h = ops::max_pool2d(ops::conv2d(h, 5, 3, layer), o.window, pool);
    loss = ops::softmax_cross_entropy(ops::dense(ops::flatten(h), 4, {.kernel_initializer = layer.kernel_initializer}),
                                      labels);
    const std::vector<Output> variables = g.collection(collections::kTrainableVariables);
    const std::vector<Output> gradients = g.gradients({loss}, variables);
    std::vector<Output> updates;
    for (std::size_t i = 0; i < variables.size(); ++i)
      updates.push_back(ops::apply_gradient_descent(variables[i], ops::scalar(g, 0.1, o.dtype), gradients[i]));
    train = ops::group(g, updates);
    const std::vector<Port> inits = graph.collection("variable_init");
    for (std::uint32_t id = 0; id < graph.size(); ++id) {
      if (std::find(inits.begin(), inits.end(), Port{id, BELAY_OPERATION}) != inits.end()) continue;
      for (std::uint32_t i = 0; i < graph.node(id).outputs.size(); ++i) everything.push_back(graph.output({id, i}));
    }
    graph.finalize();
  }

  std::unique_ptr<OpRegistry> ops;
  NodeGraph graph;
  belay::Graph g;
  Output x, labels, loss, train;
  std::vector<FetchRef> everything;
};

enum class Watch { kNothing, kEverythingByTheCaller, kEverythingByAHook };

// All variables after some steps.
std::map<std::string, std::vector<double>> trained(const Cnn::Options& options, int threads, Watch watch, int steps) {
  Cnn cnn(options);
  DirectSessionOptions session_options;
  session_options.threads = threads;
  DirectSession session(cnn.graph, std::make_shared<VariableStore>(), session_options);
  session.run_once(cnn.graph.collection("variable_init"));
  FetchSet only_train(std::vector<FetchRef>{cnn.train});
  std::vector<FetchRef> all = cnn.everything;
  all.push_back(cnn.train);
  FetchSet by_caller(all), by_hook(cnn.everything);
  FetchSet* const hooks[] = {&by_hook};
  for (int step = 0; step < steps; ++step) {
    const std::int64_t batch = step % 2 == 0 ? 6 : 33;
    Tensor x(options.dtype, cnn.x.dim(3) == 2 ? Dims{batch, 9, 8, 2} : Dims{batch, 2, 9, 8});
    Tensor labels(DType::kInt64, {batch});
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double value = static_cast<double>((i * 37 + i / 13 + static_cast<std::size_t>(step)) % 101) / 50 - 1;
      if (options.dtype == DType::kFloat32) {
        x.data<float>()[i] = static_cast<float>(value);
      } else {
        x.data<double>()[i] = static_cast<float>(value);
      }
    }
    for (std::size_t i = 0; i < labels.size(); ++i) labels.data<std::int64_t>()[i] = static_cast<std::int64_t>(i % 4);
    const std::vector<belay_feed> feeds = {{cnn.x.raw(), x.view()}, {cnn.labels.raw(), labels.view()}};
    RunRequest request;
    request.fetches = watch == Watch::kEverythingByTheCaller ? &by_caller : &only_train;
    if (watch == Watch::kEverythingByAHook) request.hook_fetches = hooks;
    request.feeds = feeds;
    request.full_team = true;
    session.run(request);
  }
  std::map<std::string, std::vector<double>> values;
  for (const Variable* v : session.variables()) {
    const TensorView view(v->value.view());
    for (std::size_t i = 0; i < view.size(); ++i) values[v->name].push_back(view.number(i));
  }
  return values;
}

// The fused steps of a training, as "Conv2D+BiasAdd".
Names fused(const Cnn::Options& options) {
  Cnn cnn(options);
  PlanKey key;
  key.fetches = {cnn.graph.resolve(cnn.train.raw())};
  key.feeds = {cnn.graph.resolve(cnn.x.raw()), cnn.graph.resolve(cnn.labels.raw())};
  const std::unique_ptr<Plan> plan = make_plan(cnn.graph, key, {});
  Names found;
  for (const PlanStage& stage : plan->stages)
    for (const PlanStep& step : stage.steps) {
      if (step.members.empty() || step.writes) continue;
      std::string text;
      for (const Node* n : step.members) text += (text.empty() ? "" : "+") + n->op->name;
      found.push_back(text);
    }
  return found;
}
bool has(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(PoolGroups, AReluWithPoolingIsOneStepForwardAndOneBackward) {
  const Names names = fused({});
  EXPECT_EQ(std::count(names.begin(), names.end(), "Conv2D+BiasAdd+Relu+MaxPool"), 2);
  EXPECT_EQ(std::count(names.begin(), names.end(), "MaxPoolGrad+ReluGrad"), 2);
  EXPECT_EQ(std::count(names.begin(), names.end(), "BiasAddGrad"), 2);
}

TEST(PoolGroups, OtherActivationsKeepTheirResult) {
  const Names names = fused({.activation = ops::Activation::kTanh});
  EXPECT_TRUE(has(names, "Conv2D+BiasAdd+Tanh"));
  EXPECT_FALSE(has(names, "MaxPoolGrad+TanhGrad"));
}

TEST(PoolGroups, ABiasOfChannelsThatAreNotLastIsNoPartOfIt) {
  const Names names = fused({.format = "NCHW"});
  EXPECT_EQ(std::count(names.begin(), names.end(), "MaxPoolGrad+ReluGrad"), 2);
  EXPECT_FALSE(has(names, "BiasAddGrad"));
}

const Cnn::Options kCases[] = {{}, {.window = 3}, {.format = "NCHW"}, {.activation = ops::Activation::kTanh}};

TEST(PoolGroups, Float32TrainsToTheNumbersOfFloat64WhichFusesNothing) {
  for (const Cnn::Options& options : kCases) {
    Cnn::Options wide = options;
    wide.dtype = DType::kFloat64;
    const auto wanted = trained(wide, 1, Watch::kNothing, 5);
    for (const int threads : {1, 2}) {
      const auto got = trained(options, threads, Watch::kNothing, 5);
      for (const auto& [name, values] : wanted)
        for (std::size_t i = 0; i < values.size(); ++i)
          ASSERT_NEAR(got.at(name)[i], values[i], 2e-5) << name << " " << i << ", " << threads << " threads";
    }
  }
}

TEST(PoolGroups, FetchingEveryTensorChangesNoBit) {
  for (const Cnn::Options& options : kCases)
    for (const int threads : {1, 2}) {
      const auto alone = trained(options, threads, Watch::kNothing, 4);
      EXPECT_TRUE(trained(options, threads, Watch::kEverythingByTheCaller, 4) == alone) << threads << " threads";
      EXPECT_TRUE(trained(options, threads, Watch::kEverythingByAHook, 4) == alone) << threads << " threads";
    }
}

}  // namespace
}  // namespace belay::runtime::testing
