// SPDX-License-Identifier: Apache-2.0
// Drives an exporter plugin on the real engine. A model that the test builds is exported into files in memory. Its
// outputs can be computed for comparison. Link belay::testing_runtime; this header needs only the SDK.
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
// write checks the contract: the plugin leaves at least one file, closes each, and its check accepts its files. The
// plugin's error is thrown as belay::Error with its name. Use it from one thread.
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
  // The files' contents, by their names.
  using Files = std::map<std::string, std::string>;

  // Makes the instance. `plugin` selects it if the module has several.
  explicit ExporterDriver(const belay_module& module, const OptionValues& options = {}, const std::string& plugin = {});
  ~ExporterDriver();
  ExporterDriver(const ExporterDriver&) = delete;
  ExporterDriver& operator=(const ExporterDriver&) = delete;

  // Sets the model. `build` makes its nodes, with placeholders for a caller's values, and returns the signature. The
  // variables get their initial values. Call it once, before the others.
  void model(const std::function<Signature(const Graph&)>& build);
  // Sets the run's manifest for the exporter. The model plugin is called "model".
  void manifest(std::string text);
  // Sets what the training learned of its data, as JSON. The host writes it as schema.json. write() returns it beside
  // the exporter's files.
  void schema(std::string text);
  // Calls write and check.
  Files write();
  // Calls check, for example on files that the test has changed.
  void check(const Files& files);
  // Computes the signature's outputs from its inputs, in their orders.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs);
  // Returns the values of the variables, by their names.
  std::map<std::string, Tensor> variables();

 private:
  struct Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
