// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "belay/ops/matmul.h"
#include "belay/testing/exporter_driver.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_safetensors_exporter;

namespace safetensors_exporter_test {

using namespace belay::testing;
using belay::Dims;
using belay::DType;
using ::testing::HasSubstr;

belay::Signature one_layer(const belay::Graph& g) {
  const belay::Output x = g.node("Placeholder", "x").attr("dtype", DType::kFloat32).attr("shape", Dims{-1, 4}).output();
  return {"serving_default", "predict", {{"x", x}}, {{"y", belay::ops::dense(x, 3)}}};
}
const belay_module& module() { return module_under_test(belay_module_safetensors_exporter); }

TEST(SafetensorsExporter, TheWeightsAreTheVariables) {
  ExporterDriver exporter(module());
  exporter.model(one_layer);
  const std::string bytes = exporter.write().at("model.safetensors");
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  const nlohmann::json json = nlohmann::json::parse(bytes.substr(8, header));
  EXPECT_EQ(json.at("dense/kernel").at("shape"), (nlohmann::json{4, 3}));
  const std::uint64_t at = 8 + header + json.at("dense/kernel").at("data_offsets").at(0).get<std::uint64_t>();
  const belay::Tensor kernel = exporter.variables().at("dense/kernel");
  EXPECT_EQ(std::memcmp(bytes.data() + at, kernel.view().data, 48), 0);
}

TEST(SafetensorsExporter, T_106_TheMetadataHasWhatWasLearnedOfTheData) {
  ExporterDriver exporter(module());
  exporter.model(one_layer);
  exporter.schema("{\"format\": 1}");
  const auto files = exporter.write();
  const std::string bytes = files.at("model.safetensors");
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  const nlohmann::json json = nlohmann::json::parse(bytes.substr(8, header));
  EXPECT_EQ(json.at("__metadata__").at("belay.schema"), "{\"format\": 1}");
  EXPECT_EQ(files.at("schema.json"), "{\"format\": 1}");
}

TEST(SafetensorsExporter, TheSignatureNamesInputsAndOutputs) {
  ExporterDriver exporter(module());
  exporter.model(one_layer);
  const nlohmann::json json = nlohmann::json::parse(exporter.write().at("signature.json"));
  EXPECT_EQ(json.at("signature"), "serving_default");
  EXPECT_EQ(json.at("inputs").at(0),
            (nlohmann::json{{"name", "x"}, {"dtype", "float32"}, {"shape", {-1, 4}}, {"tensor", "x:0"}}));
  EXPECT_EQ(json.at("outputs").at(0).at("name"), "y");
  EXPECT_EQ(json.at("outputs").at(0).at("shape"), (nlohmann::json{-1, 3}));
}

TEST(SafetensorsExporter, ItsCheckFindsAnotherShapeAndABrokenFile) {
  ExporterDriver exporter(module());
  exporter.model(one_layer);
  auto files = exporter.write();
  const std::string whole = files.at("model.safetensors");
  files["model.safetensors"].replace(whole.find("[4,3]"), 5, "[3,4]");
  EXPECT_THAT(error_of([&] { exporter.check(files); }), HasSubstr("it lacks 'dense/kernel'"));
  files["model.safetensors"] = whole.substr(0, 20);
  EXPECT_THAT(error_of([&] { exporter.check(files); }), HasSubstr("DATA_LOSS"));
  files["model.safetensors"] = whole;
  files["signature.json"] = "{}";
  EXPECT_THAT(error_of([&] { exporter.check(files); }), HasSubstr("signature.json does not match the model"));
}

}  // namespace safetensors_exporter_test
