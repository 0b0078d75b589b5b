// SPDX-License-Identifier: Apache-2.0
// What the file says, and its errors; tests/e2e/export_test.cc compares what it computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "belay/ops/activations.h"
#include "belay/ops/convolution.h"
#include "belay/ops/matmul.h"
#include "belay/ops/recurrent.h"
#include "belay/testing/exporter_driver.h"
#include "belay/testing/testing.h"
#include "plugins/exporters/onnx/onnx.pb.h"

extern "C" const belay_module belay_module_onnx;

namespace {

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

}  // namespace
