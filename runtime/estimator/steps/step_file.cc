// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/steps/step_file.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "runtime/checkpoint/format/content.h"

namespace belay::runtime {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson listed(const StepTensor& tensor, const std::vector<StepTensor>& all) {
  OrderedJson inputs = OrderedJson::array();
  for (const std::size_t in : tensor.inputs) inputs.push_back(all[in].name);
  return {{"name", tensor.name},
          {"known_as", tensor.alias},
          {"ops", tensor.ops},
          {"origin", origin_text(tensor.origin)},
          {"inputs", std::move(inputs)}};
}

}  // namespace

std::string step_file_name(std::int64_t step, const char* ending) { return fmt::format("step-{}.{}", step, ending); }

void write_step(const WatchedStep& step, const ArrayPlace& place) {
  std::vector<TensorInfo> infos;
  std::vector<TensorView> values;
  OrderedJson list = OrderedJson::array();
  for (std::size_t i = 0; i < step.tensors.size(); ++i) {
    list.push_back(listed(step.tensors[i], step.tensors));
    if (step.tensors[i].origin == TensorOrigin::kBeside) continue;
    const TensorView value = step.value(i);
    infos.push_back({step.tensors[i].name, value.dtype(), value.dims()});
    values.push_back(value);
  }
  const OrderedJson all = {{"step", step.step}, {"tensors", std::move(list)}};
  const std::string name = step_file_name(step.step, "json");
  const std::unique_ptr<OpenDirectory> directory = place.environment.files.open_directory(place.directory);
  if (directory->exists(name)) directory->remove(name);
  const std::string text = all.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
  const std::unique_ptr<OpenFile> file = directory->create(name);
  file->write(text.data(), text.size());
  file->close();
  write_arrays(place, step.step, infos, values);
}

std::vector<ListedTensor> parse_step_list(const std::string& text) {
  const nlohmann::json all = nlohmann::json::parse(text, nullptr, false);
  try {
    std::vector<ListedTensor> tensors;
    for (const nlohmann::json& t : all.at("tensors")) {
      ListedTensor tensor{t.at("name"), t.at("known_as"), t.at("ops"), t.at("origin")};
      for (const nlohmann::json& in : t.at("inputs")) tensor.inputs.push_back(in);
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  } catch (const nlohmann::json::exception& e) {
    fail(Code::kDataLoss, std::string("[B5041] the list of a step's tensors cannot be read: ") + e.what());
  }
}

}  // namespace belay::runtime
