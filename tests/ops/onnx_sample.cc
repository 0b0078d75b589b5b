// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/onnx_sample.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "belay/error.h"
#include "tests/ops/onnx.pb.h"

namespace belay::runtime::testing {
namespace {

std::filesystem::path folder_of(const std::string& name) {
  const char* given = std::getenv("BELAY_SAMPLES_DIR");
  const std::filesystem::path samples = given != nullptr ? given : BELAY_SOURCE_DIR "/../shared/samples";
  return samples / "onnx" / name;
}

template <class Message>
Message read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  Message message;
  if (!in || !message.ParseFromIstream(&in)) fail(Code::kDataLoss, "cannot read " + file.string());
  return message;
}

template <class T, class Listed>
Tensor tensor_from(const pb::OnnxTensor& t, const Listed& listed) {
  Tensor tensor(dtype_of<T>, Dims(t.dims().begin(), t.dims().end()));
  const std::size_t n = TensorView(tensor.view()).size();
  if (t.raw_data().size() == n * sizeof(T)) {
    std::memcpy(tensor.data<T>(), t.raw_data().data(), n * sizeof(T));
  } else if (static_cast<std::size_t>(listed.size()) == n) {
    std::copy(listed.begin(), listed.end(), tensor.data<T>());
  } else {
    fail(Code::kDataLoss, "tensor '" + t.name() + "' has not as many elements as its dimensions say");
  }
  return tensor;
}
Tensor tensor_of(const pb::OnnxTensor& t) {
  switch (t.data_type()) {
    case 1: return tensor_from<float>(t, t.float_data());
    case 6: return tensor_from<std::int32_t>(t, t.int32_data());
    case 7: return tensor_from<std::int64_t>(t, t.int64_data());
    default: fail(Code::kDataLoss, "tensor '" + t.name() + "' has type " + std::to_string(t.data_type()));
  }
}

}  // namespace

std::optional<OnnxSample> read_onnx_sample(const std::string& name) {
  const std::filesystem::path folder = folder_of(name);
  if (!std::filesystem::exists(folder)) return std::nullopt;
  const auto model = read<pb::OnnxModel>(folder / "model.onnx");
  const pb::OnnxGraph& graph = model.graph();
  if (graph.node_size() != 1) fail(Code::kDataLoss, folder.string() + ": the model has not one node");
  const pb::OnnxNode& node = graph.node(0);
  OnnxSample sample;
  sample.op = node.op_type();
  for (const pb::OnnxAttribute& a : node.attribute()) {
    sample.integers[a.name()].assign(a.ints().begin(), a.ints().end());
    if (a.ints().empty()) sample.integers[a.name()] = {a.i()};
    sample.numbers[a.name()] = static_cast<double>(a.f());
  }
  const std::filesystem::path data = folder / "test_data_set_0";
  std::map<std::string, Tensor> tensors;
  for (const pb::OnnxTensor& t : graph.initializer()) tensors.emplace(t.name(), tensor_of(t));
  int file = 0;
  for (const pb::OnnxValueInfo& input : graph.input())
    if (tensors.count(input.name()) == 0)
      tensors.emplace(input.name(),
                      tensor_of(read<pb::OnnxTensor>(data / ("input_" + std::to_string(file++) + ".pb"))));
  for (const std::string& input : node.input()) sample.inputs.push_back(tensors.at(input));
  for (int i = 0; i < graph.output_size(); ++i)
    sample.outputs.push_back(tensor_of(read<pb::OnnxTensor>(data / ("output_" + std::to_string(i) + ".pb"))));
  return sample;
}

std::string no_onnx_sample(const std::string& name) {
  return "SKIPPED: there is no " + folder_of(name).string() + "; set BELAY_SAMPLES_DIR to the folder of samples";
}

std::vector<float> floats_of(const Tensor& tensor) {
  const TensorView view(tensor.view());
  const float* data = view.data<const float>();
  return {data, data + view.size()};
}

}  // namespace belay::runtime::testing
