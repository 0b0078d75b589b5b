// SPDX-License-Identifier: Apache-2.0
// Drives an exporter plugin on the real engine: a model that the test builds is exported into files in memory, and its
// outputs can be computed to compare with. Link belay::testing_runtime; the header itself needs the SDK only.
//
//   ExporterDriver exporter(belay_module_node_list);
//   exporter.model([](const belay::Graph& g) {
//     const Output x = g.node("Placeholder", "x").attr("dtype", DType::kFloat32).attr("shape", Dims{-1, 4}).output();
//     return Signature{"serving_default", "predict", {{"x", x}}, {{"y", ops::dense(x, 3)}}};
//   });
//   const ExporterDriver::Files files = exporter.write();
//   EXPECT_NE(files.at("nodes.txt").find("MatMul"), std::string::npos);
//   const std::vector<Tensor> y = exporter.run({Tensor(Dims{2, 4}, values)});
//
// write holds the plugin to the contract: it leaves at least one file, closes each, and its check accepts what it
// wrote. What the plugin throws comes out as belay::Error that names it. One thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "belay/graph.h"
#include "belay/model.h"
#include "belay/testing/option_values.h"

namespace belay {
inline namespace v0 {
namespace testing {

class ExporterDriver {
 public:
  // By their names.
  using Files = std::map<std::string, std::string>;

  // Makes the instance. `plugin` names it where the module has several.
  explicit ExporterDriver(const belay_module& module, const OptionValues& options = {}, const std::string& plugin = {});
  ~ExporterDriver();
  ExporterDriver(const ExporterDriver&) = delete;
  ExporterDriver& operator=(const ExporterDriver&) = delete;

  // The model: `build` makes its nodes, placeholders for what a caller gives among them, and returns the signature. Its
  // variables get their initial values. Once, before the others.
  void model(const std::function<Signature(const Graph&)>& build);
  // What the exporter is told of the run: its manifest; the model plugin is called "model".
  void manifest(std::string text);
  // What the training learned of its data, as JSON. The host writes it as schema.json, which write() returns
  // beside the exporter's files.
  void schema(std::string text);
  // Calls write and check.
  Files write();
  // Calls check on files that the test has changed, say.
  void check(const Files& files);
  // The signature's outputs for its inputs, in their orders.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs);
  // The values of the variables, by their names.
  std::map<std::string, Tensor> variables();

 private:
  struct Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
