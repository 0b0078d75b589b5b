// SPDX-License-Identifier: Apache-2.0
// Watching changes nothing: training ends with the same bits whether or not somebody fetches every tensor.
#include <gtest/gtest.h>

#include <cstring>

#include "belay/ops/losses.h"
#include "belay/ops/matmul.h"
#include "belay/ops/random.h"
#include "plugins/default_plugins.h"
#include "runtime/optimizer/optimizer.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

enum class Watch { kNothing, kLoss, kEverythingByTheCaller, kEverythingByAHook };

struct Mlp {
  Mlp() : ops(make_op_registry()), graph(*ops), g(graph.handle()) {
    x = ops::placeholder(g, DType::kFloat32, {-1, 19}, "x");
    labels = ops::placeholder(g, DType::kInt64, {-1}, "labels");
    Output h = ops::dense(x, 33, {.activation = ops::Activation::kRelu});
    h = ops::dropout(h, 0.3);
    h = ops::dense(h, 17, {.activation = ops::Activation::kTanh});
    const Output logits = ops::dense(h, 5, {.name = "logits"});
    loss = ops::softmax_cross_entropy(logits, labels);
    ops::accuracy(logits, labels);
    OptimizerSettings section;
    section.name = "adam";
    section.learning_rate.schedule = "exponential_decay";
    section.learning_rate.learning_rate = 0.01;
    section.learning_rate.options = {{"decay_steps", std::int64_t{7}}};
    section.clip_norm = 0.5;
    train = minimize(g, loss, LinkedOptimizer(section, default_plugins()).use());
    inits = graph.collection("variable_init");
    // All that can be fetched: also what is fused away, the updates' results, gradients, masks.
    for (std::uint32_t id = 0; id < graph.size(); ++id) {
      const Node& n = graph.node(id);
      if (std::find(inits.begin(), inits.end(), Port{id, BELAY_OPERATION}) != inits.end()) continue;
      for (std::uint32_t i = 0; i < n.outputs.size(); ++i) everything.push_back(graph.output({id, i}));
    }
    graph.finalize();
  }

  std::unique_ptr<OpRegistry> ops;
  NodeGraph graph;
  belay::Graph g;
  Output x, labels, loss, train;
  std::vector<Port> inits;
  std::vector<FetchRef> everything;
};

// The bytes of all variables after 20 steps, the batch's size changing from step to step.
std::string trained(int threads, Watch watch) {
  Mlp mlp;
  const auto store = std::make_shared<VariableStore>();
  DirectSessionOptions options;
  options.threads = threads;
  DirectSession session(mlp.graph, store, options);
  session.run_once(mlp.inits);
  FetchSet only_train(std::vector<FetchRef>{mlp.train}), with_loss(std::vector<FetchRef>{mlp.train, mlp.loss});
  std::vector<FetchRef> all = mlp.everything;
  all.push_back(mlp.train);
  FetchSet by_caller(all), by_hook(mlp.everything);
  FetchSet* const hooks[] = {&by_hook};
  for (int step = 0; step < 20; ++step) {
    const std::int64_t batch = step % 3 == 0 ? 300 : 64;
    Tensor x(DType::kFloat32, {batch, 19}), labels(DType::kInt64, {batch});
    for (std::size_t i = 0; i < x.size(); ++i)
      x.data<float>()[i] = static_cast<float>((i * 31 + static_cast<std::size_t>(step) * 7) % 23) / 23 - 0.5f;
    for (std::size_t i = 0; i < labels.size(); ++i)
      labels.data<std::int64_t>()[i] = static_cast<std::int64_t>((i * 3 + static_cast<std::size_t>(step)) % 5);
    const std::vector<belay_feed> feeds = {{mlp.x.raw(), x.view()}, {mlp.labels.raw(), labels.view()}};
    RunRequest request;
    request.fetches = watch == Watch::kEverythingByTheCaller ? &by_caller
                      : watch == Watch::kLoss                ? &with_loss
                                                             : &only_train;
    // A hook of a period: every other step.
    if (watch == Watch::kEverythingByAHook && step % 2 == 0) request.hook_fetches = hooks;
    request.feeds = feeds;
    request.full_team = true;
    session.run(request);
  }
  std::string bytes;
  for (const Variable* v : session.variables()) {
    bytes += v->name + "=";
    bytes.append(v->value.data<char>(), v->value.bytes());
  }
  return bytes;
}

TEST(Observation, FetchingEveryTensorChangesNoBit) {
  for (const int threads : {1, 2}) {
    const std::string alone = trained(threads, Watch::kNothing);
    EXPECT_TRUE(trained(threads, Watch::kNothing) == alone) << "training twice";
    EXPECT_TRUE(trained(threads, Watch::kLoss) == alone) << threads << " threads, the loss";
    EXPECT_TRUE(trained(threads, Watch::kEverythingByTheCaller) == alone) << threads << " threads, all by the caller";
    EXPECT_TRUE(trained(threads, Watch::kEverythingByAHook) == alone) << threads << " threads, all by a hook";
  }
}

}  // namespace
}  // namespace belay::runtime::testing
