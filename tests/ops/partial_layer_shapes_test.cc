// SPDX-License-Identifier: Apache-2.0
// The results of shape rules while not all is known about the inputs; such a graph still runs.
#include <gtest/gtest.h>

#include <functional>

#include "belay/ops/control.h"
#include "tests/ops/kernel_check.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

struct LayerShapeCase {
  const char* op;
  std::vector<Shape> inputs;
  std::vector<std::string> outputs;  // their shapes
  std::function<void(NodeBuilder&)> set = {};
  std::vector<DType> dtypes = {};  // of the inputs; empty: float32
};

const Shape kUnknown = Shape::unknown();

std::string shape_text(const Output& o) { return o.rank() < 0 ? "[...]" : dims_text(o.dims()); }

Output node_of(const LayerShapeCase& c, const Inputs& in) {
  NodeBuilder node = in[0].graph().node(c.op).in(in);
  if (c.set) c.set(node);
  return node.output();
}

void expect_shapes(const std::vector<LayerShapeCase>& cases) {
  for (const LayerShapeCase& c : cases) {
    std::string trace = c.op;
    for (const Shape& s : c.inputs) trace += " " + s.text();
    SCOPED_TRACE(trace);
    const std::unique_ptr<OpRegistry> registry = make_op_registry();
    NodeGraph graph(*registry);
    Inputs inputs;
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      const DType dtype = c.dtypes.empty() ? DType::kFloat32 : c.dtypes[i];
      inputs.push_back(c.inputs[i].has_rank() ? ops::placeholder(graph.handle(), dtype, c.inputs[i].dims())
                                              : ops::placeholder_of_any_rank(graph.handle(), dtype));
    }
    const Output y = node_of(c, inputs);
    ASSERT_EQ(graph.find_node(graph.handle().node_name_of(y))->outputs.size(), c.outputs.size());
    for (std::uint32_t i = 0; i < c.outputs.size(); ++i) EXPECT_EQ(shape_text(y.sibling(i)), c.outputs[i]) << i;
  }
}

std::function<void(NodeBuilder&)> pool(std::vector<std::int64_t> window, const char* padding,
                                       const char* format = "NHWC") {
  return [=](NodeBuilder& n) {
    n.attr("ksize", window).attr("strides", window).attr("padding", padding).attr("data_format", format);
  };
}

TEST(PartialLayerShapes, OfSoftmax) {
  expect_shapes({{"Softmax", {kUnknown}, {"[...]"}},
                 {"Softmax", {{-1, 4}}, {"[?, 4]"}},
                 {"LogSoftmax", {kUnknown}, {"[...]"}},
                 {"LogSoftmax", {{3, -1}}, {"[3, ?]"}}});
}

TEST(PartialLayerShapes, OfConvolutions) {
  const auto same = [](NodeBuilder& n) { n.attr("padding", "SAME"); };
  const auto channels_first = [](NodeBuilder& n) { n.attr("data_format", "NCHW"); };
  expect_shapes({{"Conv2D", {kUnknown, kUnknown}, {"[?, ?, ?, ?]"}},
                 {"Conv2D", {kUnknown, {3, 3, 2, 5}}, {"[?, ?, ?, 5]"}},
                 {"Conv2D", {kUnknown, {3, 3, 2, 5}}, {"[?, 5, ?, ?]"}, channels_first},
                 {"Conv2D", {{2, 8, -1, 3}, kUnknown}, {"[2, ?, ?, ?]"}},
                 {"Conv2D", {{2, 8, -1, 3}, kUnknown}, {"[2, 8, ?, ?]"}, same},
                 {"Conv2D", {{2, 8, -1, -1}, {3, -1, 3, 5}}, {"[2, 6, ?, 5]"}},
                 {"Conv2DBackpropInput", {kUnknown, {3, 3, 2, 5}, kUnknown}, {"[...]"}},
                 {"Conv2DBackpropInput", {{-1, 8, 8, 2}, kUnknown, kUnknown}, {"[?, 8, 8, 2]"}},
                 {"Conv2DBackpropFilter", {kUnknown, kUnknown, {1, 2, 2, 5}}, {"[...]"}},
                 {"Conv2DBackpropFilter", {kUnknown, {3, 3, -1, 5}, kUnknown}, {"[3, 3, ?, 5]"}}});
}

TEST(PartialLayerShapes, OfPooling) {
  expect_shapes({{"MaxPool", {kUnknown}, {"[?, ?, ?, ?]", "[?, ?, ?, ?]"}, pool({1, 2, 3, 1}, "VALID")},
                 {"MaxPool", {{-1, 7, -1, 3}}, {"[?, 3, ?, 3]", "[?, 3, ?, 3]"}, pool({1, 2, 3, 1}, "VALID")},
                 {"MaxPool", {{-1, 7, -1, 3}}, {"[?, 4, ?, 3]", "[?, 4, ?, 3]"}, pool({1, 2, 3, 1}, "SAME")},
                 {"MaxPool", {{2, -1, -1, 7}}, {"[2, ?, ?, 2]", "[2, ?, ?, 2]"}, pool({1, 1, 2, 3}, "VALID", "NCHW")},
                 {"AvgPool", {kUnknown}, {"[?, ?, ?, ?]"}, pool({1, 2, 2, 1}, "SAME")},
                 {"AvgPool", {{-1, -1, 7, -1}}, {"[?, ?, 3, ?]"}, pool({1, 2, 2, 1}, "VALID")},
                 {"MaxPoolGrad",
                  {kUnknown, kUnknown, {-1, 8, 8, 2}},
                  {"[?, 8, 8, 2]"},
                  pool({1, 2, 2, 1}, "VALID"),
                  {DType::kFloat32, DType::kUInt8, DType::kFloat32}},
                 {"MaxPoolGrad",
                  {{1, 4, 4, 2}, kUnknown, kUnknown},
                  {"[...]"},
                  pool({1, 2, 2, 1}, "VALID"),
                  {DType::kFloat32, DType::kUInt8, DType::kFloat32}},
                 {"AvgPoolGrad", {{-1, 4, 4, 2}, {-1, 8, -1, 2}}, {"[?, 8, ?, 2]"}, pool({1, 2, 2, 1}, "VALID")},
                 {"AvgPoolGrad", {kUnknown, kUnknown}, {"[...]"}, pool({1, 2, 2, 1}, "VALID")}});
}

TEST(PartialLayerShapes, OfNorms) {
  const auto channels_first = [](NodeBuilder& n) { n.attr("data_format", "NCHW"); };
  const auto use = [](NodeBuilder& n) { n.attr("is_training", false); };
  expect_shapes({{"LayerNorm", {kUnknown, kUnknown, kUnknown}, {"[...]", "[...]", "[...]"}},
                 {"LayerNorm", {{2, -1, 4}, {4}, kUnknown}, {"[2, ?, 4]", "[2, ?]", "[2, ?]"}},
                 {"LayerNorm", {{-1}, {4}, {4}}, {"[?]", "[]", "[]"}},
                 {"LayerNormGrad", {kUnknown, kUnknown, kUnknown, kUnknown, kUnknown}, {"[...]", "[...]", "[...]"}},
                 {"LayerNormGrad", {{-1, 4}, {2, -1}, {-1}, {-1}, kUnknown}, {"[2, 4]", "[?]", "[?]"}},
                 {"FusedBatchNorm", {kUnknown, {3}, {3}}, {"[...]", "[?]", "[?]", "[?]"}},
                 {"FusedBatchNorm", {{-1, -1, 3}, kUnknown, {-1}}, {"[?, ?, 3]", "[3]", "[3]", "[3]"}},
                 {"FusedBatchNorm", {{-1, 3, -1, 4}, {3}, {3}}, {"[?, 3, ?, 4]", "[3]", "[3]", "[3]"}, channels_first},
                 {"FusedBatchNorm", {kUnknown, {3}, {3}}, {"[...]", "[?]", "[?]", "[?]"}, channels_first},
                 {"FusedBatchNorm", {{-1, 3}, {3}, {3}, kUnknown, {-1}}, {"[?, 3]"}, use},
                 {"FusedBatchNormGrad", {kUnknown, {3}, kUnknown, {3}, kUnknown}, {"[...]", "[?]", "[?]"}},
                 {"FusedBatchNormGrad", {{-1, 3}, {3}, {3}, {3}, {2, -1}}, {"[?, 3]", "[3]", "[3]"}}});
}

TEST(PartialLayerShapes, OfRecurrentCells) {
  const Shape u = kUnknown;
  const auto time_major = [](NodeBuilder& n) { n.attr("time_major", true); };
  const auto wants_x = [](NodeBuilder& n) { n.attr("wants_x", true); };
  expect_shapes({{"Lstm", {u, u, u, u}, {"[?, ?, ?]", "[?, ?]", "[?, ?]", "[?, ?, ?]", "[?, ?, ?]"}},
                 {"Lstm", {u, {5, 16}, u, u}, {"[?, ?, 4]", "[?, 4]", "[?, 4]", "[?, ?, 16]", "[?, ?, 4]"}},
                 {"Lstm", {u, u, {4, -1}, u}, {"[?, ?, 4]", "[?, 4]", "[?, 4]", "[?, ?, 16]", "[?, ?, 4]"}},
                 {"Lstm",
                  {{7, -1, 5}, u, {4, 16}, {-1}, u, {-1, 4}},
                  {"[7, ?, 4]", "[?, 4]", "[?, 4]", "[7, ?, 16]", "[7, ?, 4]"},
                  time_major},
                 {"LstmGrad", {u, u, u, u, u, u, u, u, u}, {"[0]", "[...]", "[...]", "[?]", "[?, ?]", "[?, ?]"}},
                 {"LstmGrad",
                  {{2, -1, 5}, {5, -1}, {4, -1}, u, u, u, u, u, u, u, u},
                  {"[2, ?, 5]", "[5, ?]", "[4, ?]", "[16]", "[2, 4]", "[2, 4]"},
                  wants_x},
                 {"Gru", {u, u, u, u, u}, {"[?, ?, ?]", "[?, ?]", "[?, ?, ?]", "[?, ?, ?]"}},
                 {"Gru", {{2, -1, 5}, {-1, 12}, u, u, u, u}, {"[2, ?, 4]", "[2, 4]", "[2, ?, 12]", "[2, ?, 4]"}},
                 {"GruGrad", {u, u, u, u, u, u, u, u}, {"[0]", "[...]", "[...]", "[?]", "[?]", "[?, ?]"}},
                 {"GruGrad",
                  {{2, -1, 5}, {5, -1}, {4, -1}, u, u, u, u, u, u},
                  {"[2, ?, 5]", "[5, ?]", "[4, ?]", "[12]", "[12]", "[2, 4]"},
                  wants_x}});
}

TEST(PartialLayerShapes, OfAttention) {
  const Shape u = kUnknown;
  const auto two_heads = [](NodeBuilder& n) { n.attr("heads", 2); };
  const auto packed = [](NodeBuilder& n) { n.attr("packed", true); };
  const auto masked = [](NodeBuilder& n) { n.attr("masked", true); };
  expect_shapes({{"Attention", {u, u, u}, {"[?, ?, ?]", "[?, 2, ?]"}, two_heads},
                 {"Attention", {{-1, 3, -1}, {2, -1, 4}, u}, {"[2, 3, ?]", "[2, 2, 3]"}, two_heads},
                 {"Attention", {u, u, {-1, 5, 6}, {3, 5}}, {"[?, ?, 6]", "[?, 1, ?]"}, masked},
                 {"Attention", {u}, {"[?, ?, ?]", "[?, 1, ?]"}, packed},
                 {"Attention", {{2, -1, 12}}, {"[2, ?, 4]", "[2, 1, ?]"}, packed},
                 {"AttentionGrad", {u, u, u, u, u, u}, {"[...]", "[...]", "[...]"}, two_heads},
                 {"AttentionGrad",
                  {{2, 3, 4}, {2, 5, 4}, {2, 5, 6}, u, {-1, 2, -1}, {2, -1, 6}},
                  {"[2, 3, 4]", "[2, 5, 4]", "[2, 5, 6]"},
                  two_heads}});
}

TEST(PartialLayerShapes, OfCrossEntropies) {
  const std::vector<DType> classes = {DType::kFloat32, DType::kInt64};
  const char* sparse = "SparseSoftmaxCrossEntropyWithLogits";
  const char* dense = "SoftmaxCrossEntropyWithLogits";
  const char* sigmoid = "SigmoidCrossEntropyWithLogits";
  expect_shapes({{sparse, {kUnknown, kUnknown}, {"[...]", "[...]"}, {}, classes},
                 {sparse, {kUnknown, {4}}, {"[4]", "[...]"}, {}, classes},
                 {sparse, {{-1, 2, 3}, {4, -1}}, {"[4, 2]", "[?, 2, 3]"}, {}, classes},
                 {dense, {kUnknown, kUnknown}, {"[...]", "[...]"}},
                 {dense, {kUnknown, {-1, 3}}, {"[?]", "[?, 3]"}},
                 {dense, {{4, -1}, {-1, 3}}, {"[4]", "[4, 3]"}},
                 {sigmoid, {kUnknown, kUnknown}, {"[...]"}},
                 {sigmoid, {{2, -1}, {-1, 3}}, {"[2, 3]"}}});
}

// Forward, and backward to the first input.
TEST(PartialLayerShapes, NothingIsKnownUntilItRuns) {
  const auto attention = [](NodeBuilder& n) { n.attr("heads", 2).attr("causal", true); };
  for (const LayerShapeCase& c :
       {LayerShapeCase{"Softmax", {{2, 3}}, {}}, LayerShapeCase{"LogSoftmax", {{2, 3}}, {}},
        LayerShapeCase{"Conv2D", {{1, 4, 4, 2}, {3, 3, 2, 5}}, {}},
        LayerShapeCase{"MaxPool", {{1, 4, 4, 2}}, {}, pool({1, 2, 2, 1}, "SAME")},
        LayerShapeCase{"AvgPool", {{1, 4, 4, 2}}, {}, pool({1, 2, 2, 1}, "SAME")},
        LayerShapeCase{"LayerNorm", {{2, 3}, {3}, {3}}, {}}, LayerShapeCase{"FusedBatchNorm", {{2, 3}, {3}, {3}}, {}},
        LayerShapeCase{"Lstm", {{2, 3, 5}, {5, 16}, {4, 16}, {16}}, {}},
        LayerShapeCase{"Gru", {{2, 3, 5}, {5, 12}, {4, 12}, {12}, {12}}, {}},
        LayerShapeCase{"Attention", {{2, 3, 4}, {2, 5, 4}, {2, 5, 6}}, {}, attention},
        LayerShapeCase{"SoftmaxCrossEntropyWithLogits", {{2, 3}, {2, 3}}, {}},
        LayerShapeCase{"SigmoidCrossEntropyWithLogits", {{2, 3}, {2, 3}}, {}}}) {
    std::vector<Tensor> tensors;
    for (const Shape& s : c.inputs) tensors.emplace_back(DType::kFloat32, s.dims());
    EXPECT_EQ(run_error([&](const Inputs& in) { return node_of(c, in); }, tensors), "no error") << c.op;
    EXPECT_EQ(
        run_error([&](const Inputs& in) { return in[0].graph().gradients({node_of(c, in)}, {in[0]})[0]; }, tensors),
        "no error")
        << c.op;
  }
}

// Shapes that could not be checked while the graph was built are checked when it runs.
TEST(PartialLayerShapes, BadShapesAreNamedWhenItRuns) {
  const auto run_grad = [](const char* op, const std::vector<Dims>& dims) {
    std::vector<Tensor> tensors;
    for (const Dims& d : dims) tensors.emplace_back(DType::kFloat32, d);
    return run_error([=](const Inputs& in) { return in[0].graph().node(op, "n").in(in).output(); }, tensors);
  };
  EXPECT_EQ(run_grad("LayerNormGrad", {{2, 3}, {2, 3}, {3}, {1}, {2}}),
            "INVALID_ARGUMENT: node 'n' (LayerNormGrad): input 3 (float32 [1]) must have the shape of input 1 (float32 "
            "[2, 3]) without its last dimension");
  EXPECT_EQ(run_grad("AttentionGrad", {{1, 2, 4}, {1, 2, 4}, {1, 2, 4}, {1, 2, 4}, {1, 1, 1}, {1, 2, 4}}),
            "INVALID_ARGUMENT: node 'n' (AttentionGrad): the logarithms of the sums, input 4 (float32 [1, 1, 1]), must "
            "have the shape [1, 1, 2]");
  EXPECT_EQ(run_grad("SoftmaxCrossEntropyWithLogits", {{}, {}}),
            "INVALID_ARGUMENT: node 'n' (SoftmaxCrossEntropyWithLogits): input 0 (float32 []) must have at least one "
            "dimension");
  EXPECT_EQ(run_grad("Lstm", {{2, 3, 5}, {5, 16}, {4, 16}, {12}}),
            "INVALID_ARGUMENT: node 'n' (Lstm): bias, input 3 (float32 [12]), must have the shape [16]");
}

}  // namespace
}  // namespace belay::runtime::testing
