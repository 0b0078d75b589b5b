// SPDX-License-Identifier: Apache-2.0
// Tests the content of the file, and the errors. tests/e2e/onnx_check.py and onnxruntime_check.py compare its results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "belay/ops/activations.h"
#include "belay/ops/control_flow.h"
#include "belay/ops/convolution.h"
#include "belay/ops/math.h"
#include "belay/ops/matmul.h"
#include "belay/ops/recurrent.h"
#include "belay/ops/shape.h"
#include "belay/ops/sorting.h"
#include "belay/testing/exporter_driver.h"
#include "belay/testing/testing.h"
#include "plugins/exporters/onnx/onnx.pb.h"

extern "C" const belay_module belay_module_onnx;

namespace onnx_test {

using namespace belay::testing;
using belay::Dims;
using belay::DType;
using belay::Graph;
using belay::Output;
using belay::Signature;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
namespace ops = belay::ops;

Output placeholder(const Graph& g, const char* name, DType dtype, const Dims& dims) {
  return g.node("Placeholder", name).attr("dtype", dtype).attr("shape", dims).output();
}
Signature one_layer(const Graph& g) {
  const Output x = placeholder(g, "x", DType::kFloat32, {-1, 4});
  return {"serving_default", "predict", {{"x", x}}, {{"y", ops::dense(x, 3)}}};
}
const belay_module& module() { return module_under_test(belay_module_onnx); }

belay::onnx::Model exported(const std::function<Signature(const Graph&)>& build) {
  ExporterDriver exporter(module());
  exporter.model(build);
  belay::onnx::Model model;
  EXPECT_TRUE(model.ParseFromString(exporter.write().at("model.onnx")));
  return model;
}
std::string refused(const std::function<Signature(const Graph&)>& build) {
  ExporterDriver exporter(module());
  exporter.model(build);
  return error_of([&] { exporter.write(); });
}
// Returns the integers of the constant that is input `index` of a node.
std::vector<std::int64_t> constant(const belay::onnx::Model& model, const belay::onnx::Node& node, int index) {
  for (const auto& t : model.graph().initializer())
    if (t.name() == node.input(index)) {
      std::vector<std::int64_t> values(t.raw_data().size() / sizeof(std::int64_t));
      std::memcpy(values.data(), t.raw_data().data(), t.raw_data().size());
      return values;
    }
  ADD_FAILURE() << node.input(index) << " is no constant";
  return {};
}
std::vector<std::string> operations(const belay::onnx::Model& model) {
  std::vector<std::string> all;
  for (const auto& node : model.graph().node()) all.push_back(node.op_type());
  return all;
}

TEST(Onnx, StatesItsOpsetAndTheModel) {
  const belay::onnx::Model model = exported(one_layer);
  EXPECT_EQ(model.ir_version(), 8);
  ASSERT_EQ(model.opset_import_size(), 1);
  EXPECT_EQ(model.opset_import(0).version(), 17);
  EXPECT_EQ(model.opset_import(0).domain(), "");
  EXPECT_EQ(model.graph().name(), "model");
}

TEST(Onnx, T_106_TheMetadataHasWhatWasLearnedOfTheData) {
  ExporterDriver exporter(module());
  exporter.model(one_layer);
  exporter.schema("{\"format\": 1}");
  belay::onnx::Model model;
  ASSERT_TRUE(model.ParseFromString(exporter.write().at("model.onnx")));
  std::string schema;
  for (const auto& p : model.metadata_props())
    if (p.key() == "belay.schema") schema = p.value();
  EXPECT_EQ(schema, "{\"format\": 1}");
}

TEST(Onnx, InputsAndOutputsHaveTheSignaturesNamesAndAnOpenBatch) {
  const belay::onnx::Model model = exported(one_layer);
  ASSERT_EQ(model.graph().input_size(), 1);
  EXPECT_EQ(model.graph().input(0).name(), "x");
  const auto& shape = model.graph().input(0).type().tensor_type().shape();
  ASSERT_EQ(shape.dim_size(), 2);
  EXPECT_EQ(shape.dim(0).dim_param(), "batch");
  EXPECT_EQ(shape.dim(1).dim_value(), 4);
  ASSERT_EQ(model.graph().output_size(), 1);
  EXPECT_EQ(model.graph().output(0).name(), "y");
  EXPECT_EQ(model.graph().output(0).type().tensor_type().elem_type(), 1);
}

TEST(Onnx, VariablesAreInitializersOfTheirNames) {
  const belay::onnx::Model model = exported(one_layer);
  ASSERT_EQ(model.graph().initializer_size(), 2);
  EXPECT_EQ(model.graph().initializer(0).name(), "dense/kernel");
  EXPECT_EQ(model.graph().initializer(0).raw_data().size(), 48u);
  EXPECT_EQ(model.graph().initializer(1).name(), "dense/bias");
}

TEST(Onnx, WeightsInAnotherOrderAreThereOnce) {
  const belay::onnx::Model model = exported([](const Graph& g) {
    const Output x = placeholder(g, "x", DType::kFloat32, {-1, 3, 2});
    return Signature{"serving_default", "predict", {{"x", x}}, {{"y", ops::lstm(x, 4).y}}};
  });
  std::vector<std::string> names;
  for (const auto& t : model.graph().initializer()) names.push_back(t.name());
  EXPECT_THAT(names, ::testing::IsSupersetOf({"lstm/Lstm/W", "lstm/Lstm/R", "lstm/Lstm/B"}));
  EXPECT_THAT(names, Not(Contains("lstm/kernel")));
}

TEST(Onnx, ImagesGoThroughTransposes) {
  const auto all = operations(exported([](const Graph& g) {
    const Output x = placeholder(g, "x", DType::kFloat32, {-1, 8, 8, 2});
    return Signature{"serving_default", "predict", {{"x", x}}, {{"y", ops::conv2d(x, 3, {3, 3})}}};
  }));
  EXPECT_THAT(all, Contains("Conv"));
  EXPECT_EQ(std::count(all.begin(), all.end(), "Transpose"), 3);  // image, filter, result
}

TEST(Onnx, AStridedSliceIsASliceAndASqueeze) {
  const belay::onnx::Model model = exported([](const Graph& g) {
    const Output x = placeholder(g, "x", DType::kFloat32, {-1, 9, 8, 7});
    return Signature{"serving_default",
                     "predict",
                     {{"x", x}},
                     {{"y", ops::strided_slice(x, {5, -1, 6, 1}, {0, 0, -8, 7}, {1, 1, -2, 3},
                                               {.begin = 1, .end = 1, .shrink = 2})}}};
  });
  ASSERT_EQ(operations(model), (std::vector<std::string>{"Slice", "Squeeze", "Identity"}));
  constexpr std::int64_t kFar = INT64_MAX;
  const belay::onnx::Node& slice = model.graph().node(0);
  EXPECT_EQ(constant(model, slice, 1), (std::vector<std::int64_t>{0, -1, 6, 1}));
  EXPECT_EQ(constant(model, slice, 2), (std::vector<std::int64_t>{kFar, kFar, -8, 7}));
  EXPECT_EQ(constant(model, slice, 3), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(constant(model, slice, 4), (std::vector<std::int64_t>{1, 1, -2, 3}));
  EXPECT_EQ(constant(model, model.graph().node(1), 1), (std::vector<std::int64_t>{1}));
}

TEST(Onnx, AStridedSliceBackwardsBeginsBehindTheEnd) {
  const belay::onnx::Model model = exported([](const Graph& g) {
    const Output x = placeholder(g, "x", DType::kFloat32, {-1, 4});
    return Signature{"serving_default", "predict", {{"x", x}}, {{"y", ops::reverse(x, {1})}}};
  });
  ASSERT_EQ(operations(model), (std::vector<std::string>{"Slice", "Identity"}));
  const belay::onnx::Node& slice = model.graph().node(0);
  EXPECT_EQ(constant(model, slice, 1).at(1), INT64_MAX);
  EXPECT_EQ(constant(model, slice, 2).at(1), -INT64_MAX);
  EXPECT_EQ(constant(model, slice, 4).at(1), -1);
}

TEST(Onnx, TheIndicesOfTheLargestHaveBelaysType) {
  const belay::onnx::Model model = exported([](const Graph& g) {
    const Output x = placeholder(g, "x", DType::kFloat32, {-1, 9});
    const ops::TopK best = ops::top_k(x, 3);
    return Signature{"serving_default", "predict", {{"x", x}}, {{"values", best.values}, {"places", best.indices}}};
  });
  EXPECT_THAT(operations(model), ::testing::IsSupersetOf({"TopK", "Cast"}));
  EXPECT_EQ(constant(model, model.graph().node(0), 1), (std::vector<std::int64_t>{3}));
  ASSERT_EQ(model.graph().output_size(), 2);
  EXPECT_EQ(model.graph().output(1).type().tensor_type().elem_type(), 6);  // int32
}

TEST(Onnx, AOneHotComparesTheIndicesSoThatNegativeOnesAreOff) {
  const belay::onnx::Model model = exported([](const Graph& g) {
    const Output x = placeholder(g, "x", DType::kInt32, {-1});
    return Signature{"serving_default", "predict", {{"x", x}}, {{"y", ops::one_hot(x, 3, 2.0, -1.0)}}};
  });
  EXPECT_EQ(operations(model), (std::vector<std::string>{"Cast", "Unsqueeze", "Equal", "Where", "Identity"}));
  EXPECT_EQ(constant(model, model.graph().node(2), 1), (std::vector<std::int64_t>{0, 1, 2}));
}

TEST(Onnx, ControlFlowIsRefusedByItsNameWithTheFix) {
  const std::string cond = refused([](const Graph& g) {
    const Output x = placeholder(g, "x", DType::kFloat32, {});
    const Output y = ops::cond(
        ops::greater(x, ops::constant(g, belay::Tensor(0.0f))), [&] { return x + 1.0; }, [&] { return x; });
    return Signature{"serving_default", "predict", {{"x", x}}, {{"y", y}}};
  });
  EXPECT_THAT(cond, HasSubstr("of the operation Cond in the model 'model' cannot be exported"));
  EXPECT_THAT(cond, HasSubstr("ops::select"));
  const std::string loop = refused([](const Graph& g) {
    const Output x = placeholder(g, "x", DType::kFloat32, {});
    const Output y =
        ops::while_loop([](const Output& v) { return ops::less(v, ops::constant(v.graph(), belay::Tensor(9.0f))); },
                        [](const Output& v) { return v + 1.0; }, x);
    return Signature{"serving_default", "predict", {{"x", x}}, {{"y", y}}};
  });
  EXPECT_THAT(loop, HasSubstr("of the operation While in the model 'model' cannot be exported"));
  EXPECT_THAT(loop, HasSubstr("as many copies of the body"));
}

TEST(Onnx, AnOperationWithoutATranslationIsNamedWithNodeAndModel) {
  const std::string error = refused([](const Graph& g) {
    const Output x = placeholder(g, "x", DType::kFloat32, {-1, 4});
    return Signature{
        "serving_default", "predict", {{"x", x}}, {{"y", g.node("Dropout", "noise").in(x).attr("rate", 0.5).output()}}};
  });
  EXPECT_THAT(error, HasSubstr("UNIMPLEMENTED"));
  EXPECT_THAT(error, HasSubstr("node 'noise' of the operation Dropout in the model 'model' cannot be exported"));
}

TEST(Onnx, AnOutputWithoutATranslationIsNamed) {
  EXPECT_THAT(refused([](const Graph& g) {
                const Output x = placeholder(g, "x", DType::kFloat32, {-1, 4, 4, 1});
                const Output y = g.node("MaxPool", "pool")
                                     .in(x)
                                     .attr("ksize", std::vector<std::int64_t>{1, 2, 2, 1})
                                     .attr("strides", std::vector<std::int64_t>{1, 2, 2, 1})
                                     .output();
                return Signature{"serving_default", "predict", {{"x", x}}, {{"places", y.sibling(1)}}};
              }),
              HasSubstr("pool:1"));
}

TEST(Onnx, OneNameForAnInputAndAnOutputIsRefused) {
  EXPECT_THAT(refused([](const Graph& g) {
                const Output x = placeholder(g, "x", DType::kFloat32, {-1, 4});
                return Signature{"serving_default", "predict", {{"x", x}}, {{"x", ops::relu(x)}}};
              }),
              HasSubstr("both called 'x'"));
}

TEST(Onnx, ItsCheckFindsWhatIsNoModelAndALostOutput) {
  ExporterDriver exporter(module());
  exporter.model(one_layer);
  EXPECT_THAT(error_of([&] { exporter.check({{"model.onnx", "\xff\xff\xff"}}); }), HasSubstr("is no ONNX model"));
  belay::onnx::Model model = exported(one_layer);
  model.mutable_graph()->clear_output();
  EXPECT_THAT(error_of([&] {
                exporter.check({{"model.onnx", model.SerializeAsString()}});
              }),
              HasSubstr("lost inputs or outputs"));
  model = exported(one_layer);
  model.mutable_graph()->mutable_initializer()->RemoveLast();
  EXPECT_THAT(error_of([&] {
                exporter.check({{"model.onnx", model.SerializeAsString()}});
              }),
              HasSubstr("use dense/bias, which nothing computes before"));
}

}  // namespace onnx_test
