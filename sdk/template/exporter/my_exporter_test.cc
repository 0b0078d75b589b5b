// Drives the exporter on the real engine. It runs twice: with the exporter linked in, and with the .so.
#include <belay/ops/matmul.h>
#include <belay/testing/exporter_driver.h>
#include <belay/testing/testing.h>
#include <gtest/gtest.h>

#include <string>

extern "C" const belay_module belay_module_my_exporter;

namespace {

using namespace belay::testing;

belay::Signature one_layer(const belay::Graph& g) {
  const belay::Output x =
      g.node("Placeholder", "x").attr("dtype", belay::DType::kFloat32).attr("shape", belay::Dims{-1, 4}).output();
  return {"serving_default", "predict", {{"x", x}}, {{"y", belay::ops::dense(x, 3)}}};
}

TEST(MyExporter, WritesALineForEachNode) {
  ExporterDriver exporter(module_under_test(belay_module_my_exporter));
  exporter.model(one_layer);
  const std::string text = exporter.write().at("nodes.txt");
  EXPECT_NE(text.find("MatMul dense/MatMul x:0 dense/kernel:0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Variable dense/bias\n"), std::string::npos) << text;
}

TEST(MyExporter, LeavesOutTheVariables) {
  ExporterDriver exporter(module_under_test(belay_module_my_exporter), {{"variables", false}});
  exporter.model(one_layer);
  EXPECT_EQ(exporter.write().at("nodes.txt").find("Variable"), std::string::npos);
}

TEST(MyExporter, FindsAnEmptyFile) {
  ExporterDriver exporter(module_under_test(belay_module_my_exporter));
  exporter.model(one_layer);
  EXPECT_NE(error_of([&] { exporter.check({{"nodes.txt", ""}}); }).find("nodes.txt is empty"), std::string::npos);
}

}  // namespace
