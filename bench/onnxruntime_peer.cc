// SPDX-License-Identifier: Apache-2.0
// An exported model in ONNX Runtime by Debian's library, for bench/onnxruntime_peer.py. Its session has the options of
// bench/onnxruntime_peer.js, and input and output tensors are made once.
//
//   bench_onnxruntime_peer FOLDER THREADS      FOLDER: what bench_onnx_files wrote
#include <onnxruntime_cxx_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/rounds.h"

namespace {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read '" + path + "'");
  return {std::istreambuf_iterator<char>(file), {}};
}

Ort::SessionOptions options_of(int threads) {
  Ort::SessionOptions options;
  options.SetIntraOpNumThreads(threads);
  options.SetInterOpNumThreads(1);
  options.SetExecutionMode(ORT_SEQUENTIAL);
  options.SetGraphOptimizationLevel(ORT_ENABLE_ALL);
  return options;
}

class Model {
 public:
  Model(const std::string& folder, int threads)
      : session_(environment_, (folder + "/model.onnx").c_str(), options_of(threads)),
        x_data_(read(folder + "/x.bin")) {
    const auto x = nlohmann::json::parse(read(folder + "/x.json"));
    const auto dims = x.at("dims").get<std::vector<std::int64_t>>();
    const bool integers = x.at("dtype") == "int64";
    x_ = Ort::Value::CreateTensor(Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault), x_data_.data(),
                                  x_data_.size(), dims.data(), dims.size(),
                                  integers ? ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 : ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
    logits_ = std::move(session_.Run(run_options_, &kInput, &x_, 1, &kOutput, 1).at(0));
    check(read(folder + "/logits.bin"));
  }
  void run() { session_.Run(run_options_, &kInput, &x_, 1, &kOutput, &logits_, 1); }

 private:
  static constexpr const char* kInput = "x";
  static constexpr const char* kOutput = "logits";

  void check(const std::string& bytes) const {
    const auto* const expected = reinterpret_cast<const float*>(bytes.data());
    const auto* const found = logits_.GetTensorData<float>();
    const std::size_t count = bytes.size() / sizeof(float);
    if (logits_.GetTensorTypeAndShapeInfo().GetElementCount() != count)
      throw std::runtime_error("there are not as many logits as Belay has");
    float largest = 0, worst = 0;
    for (std::size_t i = 0; i < count; ++i) {
      largest = std::max(largest, std::abs(expected[i]));
      worst = std::max(worst, std::isfinite(found[i]) ? std::abs(expected[i] - found[i]) : HUGE_VALF);
    }
    if (worst > 1e-4f * largest)
      throw std::runtime_error("the logits differ by " + std::to_string(worst) + " of " + std::to_string(largest));
  }

  Ort::Env environment_;
  Ort::RunOptions run_options_;
  Ort::Session session_;
  std::string x_data_;
  Ort::Value x_, logits_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("use: bench_onnxruntime_peer FOLDER THREADS\n", stderr);
    return 2;
  }
  try {
    Model model(argv[1], std::atoi(argv[2]));
    rounds::answer([&] { model.run(); });
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_onnxruntime_peer: %s\n", e.what());
    return 2;
  }
}
