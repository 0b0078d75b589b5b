// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/model_layers.h"

#include <gmock/gmock.h>

#include <map>

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A model of a sequence of 16 places with 8 numbers each; [?, 8] is [batch * 16, 8].
class ModelLayers : public ::testing::Test {
 protected:
  void add(const std::string& name, const std::string& op, const std::vector<std::string>& inputs, Shape output) {
    ModelNode node{name, op, {}, {std::move(output)}, op == "Variable"};
    for (const std::string& in : inputs) node.inputs.push_back({at_.at(in), 0});
    at_[name] = nodes_.size();
    nodes_.push_back(std::move(node));
  }
  void SetUp() override {
    add("input/x", "Identity", {}, {-1, 16, 8});
    add("rows", "Reshape", {"input/x"}, {-1, 8});
    add("layer/dense/kernel", "Variable", {}, {8, 4});
    add("layer/dense/MatMul", "MatMul", {"rows", "layer/dense/kernel"}, {-1, 4});
    add("layer/Relu", "Relu", {"layer/dense/MatMul"}, {-1, 4});
    add("loss/Square", "Square", {"layer/Relu"}, {-1, 4});
    add("loss/value", "Mean", {"loss/Square"}, {});
    add("elsewhere", "Exp", {"layer/Relu"}, {-1, 4});
    add("gradients/grad_ys", "OnesLike", {"loss/value"}, {});
  }
  std::vector<ModelNode> nodes_;
  std::map<std::string, std::size_t> at_;
};

TEST_F(ModelLayers, AreTheScopesOfVariablesAndWhatIsBehindThem) {
  const auto layers = model_layers(nodes_, find_loss(nodes_));
  ASSERT_EQ(layers.size(), 4u);
  EXPECT_EQ(layers[0].name, "input");
  EXPECT_EQ(layers[1].name, "rows");
  EXPECT_EQ(layers[2].name, "layer/dense");
  EXPECT_THAT(layers[2].ops, ElementsAre("MatMul", "Relu"));
  EXPECT_EQ(layers[2].output, (Shape{-1, 4}));
  EXPECT_EQ(layers[2].parameters, 32);
  EXPECT_THAT(layers[2].from, ElementsAre(1));
  EXPECT_EQ(layers[3].name, "loss");
  EXPECT_EQ(parameters_of(layers), 32);
}

TEST(ModelLayersOfScopes, ANodeIsOfTheInnermostScopeAroundItThatHasVariables) {
  const std::vector<ModelNode> nodes = {{"a/w", "Variable", {}, {Shape{1}}, true},
                                        {"a/b/w", "Variable", {}, {Shape{1}}, true},
                                        {"a/b/c/Add", "Add", {{0, 0}, {1, 0}}, {Shape{1}}, false},
                                        {"a/Exp", "Exp", {{2, 0}}, {Shape{1}}, false},
                                        {"ab/Exp", "Exp", {{3, 0}}, {Shape{1}}, false}};
  const auto layers = model_layers(nodes, 4);
  ASSERT_EQ(layers.size(), 3u);
  EXPECT_EQ(layers[0].name, "a");
  EXPECT_THAT(layers[0].ops, ElementsAre("Exp"));
  EXPECT_EQ(layers[1].name, "a/b");
  EXPECT_THAT(layers[1].ops, ElementsAre("Add"));
  EXPECT_EQ(layers[2].name, "ab");
}

TEST_F(ModelLayers, FlopsAreOfAllPlacesOfAnExample) {
  const auto layers = model_layers(nodes_, find_loss(nodes_));
  // 16 rows: 2 * 8 * 4 of each in the product, 4 in the Relu.
  EXPECT_EQ(layers[2].flops, 16 * (2 * 8 * 4 + 4));
  EXPECT_EQ(layers[0].flops + layers[1].flops, 0);
}

TEST(ModelLayersOfConvolutions, FlopsAreTheWindowsOfEachElement) {
  const std::vector<ModelNode> nodes = {{"x", "Identity", {}, {Shape{-1, 28, 28, 1}}, false},
                                        {"conv/kernel", "Variable", {}, {Shape{5, 5, 1, 32}}, true},
                                        {"conv/Conv2D", "Conv2D", {{0, 0}, {1, 0}}, {Shape{-1, 28, 28, 32}}, false}};
  const auto layers = model_layers(nodes, 2);
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[1].flops, 2.0 * 28 * 28 * 32 * 25);
}

TEST_F(ModelLayers, WithoutALossThereAreNone) {
  nodes_.pop_back();
  EXPECT_EQ(find_loss(nodes_), nodes_.size());
  EXPECT_TRUE(model_layers(nodes_, find_loss(nodes_)).empty());
  EXPECT_TRUE(model_nodes("no graph").empty());
}

TEST_F(ModelLayers, DrawingsHaveABoxForEachLayerAndEscapeNames) {
  nodes_[1].name = "ro\"<w>\\s";
  const auto layers = model_layers(nodes_, find_loss(nodes_));
  const std::string dot = dot_of(layers, "a \"title\"");
  EXPECT_THAT(dot, HasSubstr("digraph \"a \\\"title\\\"\" {"));
  EXPECT_THAT(dot, HasSubstr("n1 [label=\"ro\\\"<w>\\\\s\\nReshape\\n[?, 8]\"]"));
  EXPECT_THAT(dot, HasSubstr("  n1 -> n2\n"));
  const std::string svg = svg_of(layers, "a \"title\"", true);
  EXPECT_THAT(svg, HasSubstr("<text class=\"box-name\" x=\"125\" y=\"113\">ro&quot;&lt;w&gt;\\s</text>"));
  EXPECT_THAT(svg, HasSubstr("32 parameters"));
}

}  // namespace
}  // namespace belay::runtime
