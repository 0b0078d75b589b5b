// SPDX-License-Identifier: Apache-2.0
// One of bench/models.h as the exporter onnx writes it, for another system to run: model.onnx, and a batch of its input
// x with what Belay computes of it, as raw elements. bench/onnxruntime_peer.py calls it.
//
//   bench_onnx_files MODEL BATCH FOLDER
//
// prints {"dtype": "float32", "dims": [64, 784]} of x.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>

#include "belay/testing/exporter_driver.h"
#include "bench/models.h"

extern "C" const belay_module belay_module_onnx;

namespace belay::bench {
namespace {

void write(const std::string& path, const void* data, std::size_t bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  if (!file.flush()) fail(Code::kUnavailable, "cannot write '" + path + "'");
}

void write(const std::string& path, const Tensor& tensor) {
  const TensorView view(tensor);
  write(path, view.data(), view.bytes());
}

void write(const std::string& name, std::int64_t batch, const std::string& folder) {
  testing::ExporterDriver exporter(belay_module_onnx);
  std::optional<ModelNodes> model;
  exporter.model([&](const Graph& graph) {
    model = add_model(graph, name, DType::kFloat32, batch);
    return Signature{"serving_default", "predict", {{"x", model->x}}, {{"logits", model->logits}}};
  });
  const std::string onnx = exporter.write().at("model.onnx");
  write(folder + "/model.onnx", onnx.data(), onnx.size());
  const Tensor x = make_features(*model);
  write(folder + "/x.bin", x);
  const Tensor logits = exporter.run({x}).at(0);
  write(folder + "/logits.bin", logits);

  std::cout << R"({"dtype": ")" << dtype_name(x.dtype()) << R"(", "dims": [)";
  for (std::size_t i = 0; i < x.dims().size(); ++i) std::cout << (i == 0 ? "" : ", ") << x.dims()[i];
  std::cout << "]}\n";
}

}  // namespace
}  // namespace belay::bench

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "use: bench_onnx_files MODEL BATCH FOLDER\n";
    return 2;
  }
  try {
    belay::bench::write(argv[1], std::atoi(argv[2]), argv[3]);
    return 0;
  } catch (const belay::Error& e) {
    std::cerr << "bench_onnx_files: " << e.what() << "\n";
    return 2;
  }
}
