// SPDX-License-Identifier: Apache-2.0
#include "belay/graph.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "belay/testing/error_of.h"
#include "belay/testing/fake_graph.h"

namespace {

using belay::Dims;
using belay::DType;
using belay::Graph;
using belay::Output;
using belay::testing::error_of;
using belay::testing::FakeGraph;
using belay::testing::FakeHost;

TEST(Graph, FindsByRoleNodeAndOutput) {
  FakeHost host;
  FakeGraph fake(host);
  fake.tensor<float>("losses/xent", {});
  fake.tensor<float>("split:0", {2});
  fake.tensor<std::int64_t>("split:1", {-1, 3});
  fake.role("loss", "losses/xent");
  const Graph g = fake.handle();
  EXPECT_EQ(g.find("loss"), g.find("losses/xent"));
  EXPECT_EQ(g.find("loss").name(), "losses/xent:0");
  EXPECT_EQ(g.find("split:1").dtype(), DType::kInt64);
  EXPECT_EQ(g.find("split:1").dims(), (Dims{-1, 3}));
  EXPECT_EQ(g.find("split:1").text(), "'split:1' (int64 [?, 3])");
  EXPECT_EQ(g.find("split:0").sibling(1), g.find("split:1"));
  EXPECT_FALSE(g.find_if_exists("nothing"));
  EXPECT_EQ(error_of([&] { g.find("losses/xant"); }),
            "NOT_FOUND: the graph has no 'losses/xant'; did you mean 'losses/xent'?");
  EXPECT_EQ(error_of([&] { g.find_if_exists("split"); }),
            "INVALID_ARGUMENT: 'split' has 2 outputs; name one, as 'split:0'");
}

TEST(Graph, AFetchHasAType) {
  FakeHost host;
  FakeGraph fake(host);
  fake.tensor<float>("loss");
  const Graph g = fake.handle();
  EXPECT_TRUE(g.fetch<float>("loss"));
  EXPECT_EQ(fake.announced(), std::vector<std::string>{"loss"});
  EXPECT_EQ(error_of([&] { g.fetch<double>("loss"); }), "INVALID_ARGUMENT: 'loss' is float32, expected float64");
  EXPECT_EQ(error_of([&] { g.fetch<double>(g.find("loss")); }),
            "INVALID_ARGUMENT: 'loss:0' is float32, expected float64");
}

TEST(Graph, TheGlobalStepIsInItsCollection) {
  FakeHost host;
  FakeGraph fake(host);
  const Graph g = fake.handle();
  EXPECT_FALSE(g.global_step_if_exists());
  EXPECT_EQ(error_of([&] { g.global_step(); }), "FAILED_PRECONDITION: the graph has no global step");
  fake.global_step("counters/step");
  EXPECT_EQ(g.global_step_if_exists().name(), "counters/step:0");
  EXPECT_TRUE(g.global_step());
  EXPECT_EQ(g.collection("global_step").size(), 1u);
}

TEST(Graph, ShapesMayBeUnknown) {
  FakeHost host;
  FakeGraph fake(host);
  const Output any = fake.tensor("any", DType::kFloat32, std::nullopt);
  EXPECT_EQ(any.rank(), -1);
  EXPECT_TRUE(any.dims().empty());
  EXPECT_EQ(any.dim(0), -1);
  const Output known = fake.tensor<float>("known", {4, -1});
  EXPECT_EQ(known.dim(0), 4);
  EXPECT_EQ(known.dim(-1), -1);
  EXPECT_EQ(known.dim(-2), 4);
  EXPECT_EQ(known.dim(2), -1);
}

TEST(Graph, AnEmptyOutputSaysSo) {
  const Output empty;
  EXPECT_FALSE(empty);
  EXPECT_EQ(error_of([&] { empty.dtype(); }), "INVALID_ARGUMENT: an empty Output was used");
}

TEST(Graph, ABuilderMakesNodes) {
  FakeHost host;
  FakeGraph fake(host);
  const Output x = fake.tensor<float>("x", {3});
  const Graph g = fake.handle();
  const Output doubled = g.node("Scale", "doubled")
                             .in(x)
                             .control(x)
                             .attr("factor", 2.0)
                             .attr("exact", true)
                             .attr("axes", std::vector<std::int64_t>{0, 1})
                             .attr("names", std::vector<std::string>{"a", "b"})
                             .attr("mode", "fast")
                             .attr("dtype", DType::kFloat32)
                             .attr("table", belay::Tensor({2}, {1.f, 2.f}))
                             .output();
  EXPECT_EQ(doubled.text(), "'doubled:0' (float32 [3])");
  EXPECT_EQ(g.op_of(doubled), "Scale");
  EXPECT_EQ(g.node_name_of(doubled), "doubled");
  EXPECT_EQ(g.inputs_of(doubled), std::vector<Output>{x});
  EXPECT_EQ(*static_cast<const double*>(g.attr_of(doubled, "factor").data), 2.0);
  EXPECT_EQ(error_of([&] { g.attr_of(doubled, "fator"); }), "NOT_FOUND: node 'doubled' has no attribute 'fator'");
  EXPECT_NE(fake.text().find("Scale doubled in x after x axes=[0, 1] dtype=1 exact=true factor=2 mode=\"fast\" "
                             "names=[\"a\", \"b\"] table=[1, 2] -> float32 [3]"),
            std::string::npos)
      << fake.text();
}

TEST(Graph, ScopesNameAndOrderTheNodes) {
  FakeHost host;
  FakeGraph fake(host);
  const Output x = fake.tensor<float>("x");
  const Graph g = fake.handle();
  for (const char* name : {"stats/twice", "stats_1/twice"}) {
    const auto scope = g.scope("stats");
    const auto order = g.after({x});
    EXPECT_EQ(g.node_name_of(g.node("Double", "twice").in(x).output()), name);
  }
  EXPECT_EQ(g.node_name_of(g.node("Double").in(x).output()), "Double");
  EXPECT_EQ(g.node_name_of(g.node("Double").in(x).output()), "Double_1");
  EXPECT_NE(fake.text().find("Double stats/twice in x after x -> float32 []\n"), std::string::npos) << fake.text();
  EXPECT_NE(fake.text().find("Double Double in x -> float32 []\n"), std::string::npos) << fake.text();
}

TEST(Graph, AFrozenOneNamesTheCulprit) {
  FakeHost host;
  FakeGraph fake(host);
  const Output x = fake.tensor<float>("x");
  fake.finalize();
  const Graph g = fake.handle();
  EXPECT_TRUE(g.finalized());
  EXPECT_EQ(error_of([&] { g.node("Double", "late").in(x).output(); }),
            "FAILED_PRECONDITION: Graph is finalized and cannot be modified: node 'late' (Double) was added after the "
            "session "
            "was made; add it in begin(), or before the session");
  EXPECT_EQ(error_of([&] { g.collect("summaries", x); }),
            "FAILED_PRECONDITION: Graph is finalized and cannot be modified: 'x' was added to collection 'summaries'");
}

}  // namespace
