// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "belay/ops/matmul.h"
#include "belay/testing/exporter_driver.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_belay_exporter;

namespace belay_exporter_test {

using namespace belay::testing;
using belay::Dims;
using belay::DType;
using ::testing::HasSubstr;

belay::Signature one_layer(const belay::Graph& g) {
  const belay::Output x = g.node("Placeholder", "x").attr("dtype", DType::kFloat32).attr("shape", Dims{-1, 4}).output();
  return {"serving_default", "predict", {{"x", x}}, {{"y", belay::ops::dense(x, 3)}}};
}
const belay_module& module() { return module_under_test(belay_module_belay_exporter); }

TEST(BelayExporter, TheFolderHasManifestWeightsSignatureAndPlugins) {
  ExporterDriver exporter(module());
  exporter.manifest("[model]\nplugin = \"mlp\"\n");
  exporter.model(one_layer);
  const auto files = exporter.write();
  EXPECT_EQ(files.size(), 4u);
  EXPECT_EQ(files.at("belay.toml"), "[model]\nplugin = \"mlp\"\n");
  EXPECT_THAT(files.at("model.safetensors"), HasSubstr("\"global_step\""));
  EXPECT_THAT(files.at("model.safetensors"), HasSubstr("\"dense/kernel\""));
  EXPECT_EQ(files.at("plugins.json"), "[]\n");
}

TEST(BelayExporter, AProgramsRunHasNoManifestAndIsRefused) {
  ExporterDriver exporter(module());
  exporter.model(one_layer);
  EXPECT_THAT(error_of([&] { exporter.write(); }), HasSubstr("writes a run's manifest"));
}

TEST(BelayExporter, ItsCheckFindsAnotherManifest) {
  ExporterDriver exporter(module());
  exporter.manifest("a = 1\n");
  exporter.model(one_layer);
  auto files = exporter.write();
  files["belay.toml"] = "a = 2\n";
  EXPECT_THAT(error_of([&] { exporter.check(files); }), HasSubstr("belay.toml does not match the model"));
}

}  // namespace belay_exporter_test
