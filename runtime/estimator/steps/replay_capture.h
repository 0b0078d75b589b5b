// SPDX-License-Identifier: Apache-2.0
// The hook of a replay that keeps tensors of a step: `step-1337.npz` in a directory, with an array for each.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/checkpoint/format/saver_tensors.h"
#include "runtime/estimator/host/model_graph.h"
#include "runtime/loader/instance/instance.h"
#include "runtime/monitored/run/run_environment.h"

namespace belay::runtime {

// The place for the arrays of a replay.
struct ArrayPlace {
  const RunEnvironment& environment;
  std::string directory;               // an existing directory; a file of the same step is replaced
  std::function<SaverUse()> npz = {};  // asked when there is something to write
};
struct CapturedTensors {
  std::vector<std::string> names;  // roles of the model, or nodes
  bool batch = false;              // the input's features and labels, too, as batch/NAME
};

// Writes tensors of a step as step-N.npz, with a line of the log. `infos` has their names and forms. Returns the file's
// path.
std::string write_arrays(const ArrayPlace& place, std::int64_t step, const std::vector<TensorInfo>& infos,
                         const std::vector<TensorView>& values);

// A hook that looks at every run that calls it. NOT_FOUND in its begin if a name is not in the graph. A tensor without
// numbers is left out with a warning, once. `model` and the place's environment are borrowed. [session]
PluginInstance::MakeHook capture_hook(const ModelGraph& model, ArrayPlace place, CapturedTensors captured);

}  // namespace belay::runtime
