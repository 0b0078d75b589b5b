// SPDX-License-Identifier: Apache-2.0
// Checks an exporter on the real engine, with a small network and with an operation that no format has.
#include <map>

#include "belay/ops/activations.h"
#include "belay/ops/matmul.h"
#include "belay/testing/exporter_driver.h"
#include "runtime/validate/check.h"

namespace belay::runtime {
namespace exporter_cases {

using belay::testing::ExporterDriver;

constexpr const char* kManifest = "[input.train]\nplugin = \"input\"\n\n[model]\nplugin = \"model\"\n";

Signature small_network(const Graph& g) {
  const Output x = g.node("Placeholder", "x").attr("dtype", DType::kFloat32).attr("shape", Dims{-1, 4}).output();
  ops::DenseOptions hidden, last;
  hidden.name = "hidden";
  last.name = "logits";
  const Output logits = ops::dense(ops::relu(ops::dense(x, 5, hidden)), 3, last);
  return {"serving_default", "predict", {{"x", x}}, {{"probabilities", ops::softmax(logits)}}};
}

void writes(const Subject& subject) {
  must_succeed("exporting a small network", [&] {
    ExporterDriver exporter(subject.module, subject.options(), subject.info.name);
    exporter.manifest(kManifest);
    exporter.model(small_network);
    if (exporter.write().empty()) throw CheckFailed("write left no file");
  });
}

// One instance is called again and again, after each evaluation.
void writes_again(const Subject& subject) {
  must_succeed("exporting twice", [&] {
    ExporterDriver exporter(subject.module, subject.options(), subject.info.name);
    exporter.manifest(kManifest);
    exporter.model(small_network);
    if (exporter.write() != exporter.write()) throw CheckFailed("the same model, exported twice, made different files");
  });
}

// Random numbers of the run are no part of a model. An exporter that left out an unknown operation would write another
// model.
void unknown_operation(const Subject& subject) {
  const auto build = [](const Graph& g) {
    const Output x = g.node("Placeholder", "x").attr("dtype", DType::kFloat32).attr("shape", Dims{-1, 4}).output();
    return Signature{
        "serving_default", "predict", {{"x", x}}, {{"y", g.node("Dropout").in(x).attr("rate", 0.5).output()}}};
  };
  may_refuse("exporting an operation that draws random numbers", [&] {
    ExporterDriver exporter(subject.module, subject.options(), subject.info.name);
    exporter.model(build);
    exporter.write();
  });
}

}  // namespace exporter_cases

std::vector<Check> exporter_checks() {
  using namespace exporter_cases;
  return {{"drive.write", writes}, {"drive.twice", writes_again}, {"drive.unknown_operation", unknown_operation}};
}

}  // namespace belay::runtime
