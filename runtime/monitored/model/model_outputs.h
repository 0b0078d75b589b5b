// SPDX-License-Identifier: Apache-2.0
// The facts about a graph from its model.
#pragma once

#include <string>
#include <vector>

#include "belay/model.h"
#include "belay/runtime/plugin_use.h"
#include "runtime/monitored/saving/scaffold.h"

namespace belay::runtime {

struct ModelOutputs {
  struct Metric {
    std::string name;
    Output value;   // a scalar; with an update also float64 [n, n]
    Output update;  // empty: the value is averaged over batches by their examples
  };
  // A hook for the session of this graph, called after the run's hooks.
  struct Hook {
    PluginUse use;  // with a name
    bool chief_only = false;
  };
  Output loss;
  std::vector<NamedOutput> predictions;
  std::vector<Metric> metrics;
  Output train_op;
  std::vector<Signature> signatures;  // for an exporter; of this graph, with distinct names
  std::vector<Hook> hooks;
  std::vector<std::string> pieces;    // of the scaffold; they are in the graph's collections, and Scaffold looks there
  InitialValues initial_values = {};  // empty: the model has none
};

}  // namespace belay::runtime
