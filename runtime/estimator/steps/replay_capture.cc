// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/steps/replay_capture.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>

#include "belay/global_step.h"
#include "runtime/checkpoint/read/read_tensors.h"
#include "runtime/checkpoint/stored/convert_stored.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

class Capture final : public Hook {
 public:
  Capture(const ModelGraph& model, ArrayPlace place, CapturedTensors captured)
      : model_(model), place_(std::move(place)), captured_(std::move(captured)) {}

  void begin(Graph& graph) override {
    outputs_.clear();
    for (const std::string& name : captured_.names) outputs_.emplace_back(name, graph.fetch(name));
    if (captured_.batch) {
      for (const NamedOutput& o : model_.tensors.features) outputs_.emplace_back("batch/" + o.name, o.output);
      for (const NamedOutput& o : model_.tensors.labels) outputs_.emplace_back("batch/" + o.name, o.output);
    }
    step_ = GlobalStep(graph);
  }

  RunArgs before_run(RunContext&) override {
    RunArgs args;
    for (const auto& [name, output] : outputs_) args.fetch(output);
    return args;
  }

  void after_run(RunContext& run, const RunValues& values) override {
    std::vector<TensorInfo> infos;
    std::vector<TensorView> found;
    for (const auto& [name, output] : outputs_) {
      const TensorView value = values[output];
      if (value.dtype() == DType::kString) {
        if (said_.insert(name).second) host().warning("'" + name + "' is of strings, which npz does not hold");
        continue;
      }
      infos.push_back({name, value.dtype(), value.dims()});
      found.push_back(value);
    }
    if (!infos.empty()) write_arrays(place_, step_.read(run.session()), infos, found);
  }

 private:
  const ModelGraph& model_;
  const ArrayPlace place_;
  const CapturedTensors captured_;
  std::vector<std::pair<std::string, Output>> outputs_;
  GlobalStep step_;
  std::set<std::string> said_;
};

}  // namespace

std::string write_arrays(const ArrayPlace& place, std::int64_t step, const std::vector<TensorInfo>& infos,
                         const std::vector<TensorView>& values) {
  StoredCopy copy{.tensors = std::make_unique<TensorMemory>(infos)};
  copy.state.global_step = step;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i].bytes() != 0)
      std::memcpy(TensorView(copy.tensors->tensors()[i].tensor).mutable_data(), values[i].raw().data,
                  values[i].bytes());
  const std::string name = fmt::format("step-{}.npz", step);
  const RunEnvironment& environment = place.environment;
  // A recovery makes the step again.
  const std::unique_ptr<OpenDirectory> directory = environment.files.open_directory(place.directory);
  if (directory->exists(name)) directory->remove(name);
  std::string path = place.directory + "/" + name;
  write_copy(environment.files, copy, path, place.npz(), environment.clock, environment.log);
  environment.log.info("", fmt::format("step {}: {}{}{}", step, infos.size(),
                                       infos.size() == 1 ? " tensor in " : " tensors in ", escaped(path)));
  return path;
}

PluginInstance::MakeHook capture_hook(const ModelGraph& model, ArrayPlace place, CapturedTensors captured) {
  return
      [&model, place = std::move(place), captured = std::move(captured)](const belay_host_api* api, belay_host* host) {
        return belay::hook(api, host, std::make_unique<Capture>(model, place, captured));
      };
}

}  // namespace belay::runtime
