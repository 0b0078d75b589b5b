// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/fake_graph.h"

#include <gtest/gtest.h>

#include <thread>

#include "belay/testing/error_of.h"

namespace {

using belay::DType;
using belay::Graph;
using belay::Output;
using belay::Tensor;
using belay::testing::error_of;
using belay::testing::FakeGraph;
using belay::testing::FakeHost;

TEST(FakeGraph, DeclarationsAreChecked) {
  FakeHost host;
  FakeGraph graph(host);
  graph.tensor<float>("a");
  graph.tensor<float>("b:0");
  EXPECT_EQ(error_of([&] { graph.tensor<float>("a"); }), "ALREADY_EXISTS: 'a' is declared twice");
  EXPECT_EQ(error_of([&] { graph.tensor<float>("b:2"); }),
            "INVALID_ARGUMENT: declare the outputs of 'b' in order: the next is ':1', not 'b:2'");
  EXPECT_EQ(error_of([&] { graph.tensor<float>("c:1"); }), "NOT_FOUND: declare 'c:0' first");
  EXPECT_EQ(error_of([&] { graph.role("loss", "d"); }), "NOT_FOUND: the graph has no 'd'");
}

TEST(FakeGraph, ValuesMustFitTheDeclaration) {
  FakeHost host;
  FakeGraph graph(host);
  const belay_output logits = graph.tensor<float>("logits", {-1, 2}).raw();
  EXPECT_EQ(error_of([&] { graph.check_value(logits, Tensor({1, 2}, {1.f, 2.f})); }), "");
  EXPECT_EQ(error_of([&] {
              graph.check_value(logits, Tensor({2, 1}, {1.f, 2.f}));
            }),
            "INVALID_ARGUMENT: 'logits' was declared float32 [?, 2], the test's value is float32 [2, 1]");
  EXPECT_EQ(error_of([&] {
              graph.check_value(logits, Tensor({1, 2}, {1.0, 2.0}));
            }),
            "INVALID_ARGUMENT: 'logits' was declared float32 [?, 2], the test's value is float64 [1, 2]");
  const belay_output any = graph.tensor("any", DType::kInt32, std::nullopt).raw();
  EXPECT_EQ(error_of([&] { graph.check_value(any, Tensor({2, 1}, {1, 2})); }), "");
}

TEST(FakeGraph, AnotherGraphsOutputIsRecognised) {
  FakeHost host, other_host;
  FakeGraph graph(host), other(other_host);
  const Output x = other.tensor<float>("x");
  EXPECT_NE(graph.serial(), other.serial());
  EXPECT_EQ(error_of([&] { graph.handle().fetch(x); }),
            "INVALID_ARGUMENT: output 0 of node 0 is not an element of this graph: it belongs to another one");
  EXPECT_EQ(error_of([&] { graph.handle().fetch(Output()); }), "INVALID_ARGUMENT: an empty Output was used");
  const Graph g = other.handle();
  EXPECT_EQ(error_of([&] { g.fetch(x.sibling(1)); }), "INVALID_ARGUMENT: node 'x' has 1 outputs, there is no output 1");
  EXPECT_EQ(error_of([&] { g.fetch(g.output({other.serial(), 7, 0})); }), "INVALID_ARGUMENT: the graph has no node 7");
}

TEST(FakeGraph, NodesOfAPluginTakeTheShapeOfTheirFirstInput) {
  FakeHost host;
  FakeGraph graph(host);
  graph.op("Norm", DType::kFloat32, belay::Dims{});
  const Output x = graph.tensor<double>("x", {4});
  const Output run = graph.operation("run");
  const Graph g = graph.handle();
  EXPECT_EQ(g.node("Square").in(x).output().text(), "'Square:0' (float64 [4])");
  EXPECT_EQ(g.node("Norm").in(x).output().text(), "'Norm:0' (float32 [])");
  EXPECT_TRUE(g.node("NoOp", "nothing").operation().is_operation());
  EXPECT_EQ(error_of([&] { g.node("Square", "y").in(run).output(); }),
            "INVALID_ARGUMENT: 'run' is an operation without a value; node 'y' (Square) cannot take it as input 0");
}

TEST(FakeGraph, EachAnnouncementIsKeptOnce) {
  FakeHost host;
  FakeGraph graph(host);
  graph.tensor<float>("a");
  graph.tensor<float>("b:0");
  graph.tensor<float>("b:1");
  const Graph g = graph.handle();
  for (const char* name : {"b:1", "a", "b:1", "b:0"}) g.fetch(name);
  EXPECT_EQ(graph.announced(), (std::vector<std::string>{"b:1", "a", "b:0"}));
}

TEST(FakeGraph, CollectionsAreCountedAndChecked) {
  FakeHost host;
  FakeGraph graph(host);
  graph.tensor<float>("a");
  const Graph g = graph.handle();
  EXPECT_EQ(g.collection_size("summaries"), 0u);
  g.collect("summaries", g.find("a"));
  EXPECT_EQ(g.collection("summaries"), std::vector<Output>{g.find("a")});
  EXPECT_EQ(error_of([&] { g.collection_item("summaries", 1); }),
            "INVALID_ARGUMENT: collection 'summaries' has 1 items, there is no item 1");
  EXPECT_EQ(error_of([&] { g.collection_item("none", 0); }),
            "INVALID_ARGUMENT: collection 'none' has 0 items, there is no item 0");
}

TEST(FakeGraph, ListsEveryOutputThatThereIs) {
  FakeHost host;
  FakeGraph graph(host);
  graph.operation("train_op");
  const Output x = graph.tensor<float>("x");
  graph.handle().node("Square", "squared").in(x).output();
  std::string names;
  for (const Output& o : graph.outputs()) names += graph.name_of(o.raw()) + " ";
  EXPECT_EQ(names, "x squared ");
}

TEST(FakeGraph, HasNoGradients) {
  FakeHost host;
  FakeGraph graph(host);
  const Output x = graph.tensor<float>("x");
  EXPECT_EQ(error_of([&] { graph.handle().gradients({x}, {x}); }),
            "UNIMPLEMENTED: the fake graph has no gradients; test this plugin with the engine");
}

TEST(FakeGraph, BelongsToOneThread) {
  FakeHost host;
  FakeGraph graph(host);
  graph.tensor<float>("x");
  std::string error;
  std::thread([&] { error = error_of([&] { graph.handle().find("x"); }); }).join();
  EXPECT_EQ(error,
            "FAILED_PRECONDITION: graph.find was called from a thread of the plugin; it belongs to the session's "
            "thread");
  EXPECT_EQ(host.breaches().size(), 1u);
}

}  // namespace
