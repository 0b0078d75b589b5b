// SPDX-License-Identifier: Apache-2.0
// The insides of an OwnedGraph.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "belay/runtime/graph.h"
#include "runtime/api/plugin_parts.h"
#include "runtime/graph/node_graph.h"
#include "runtime/optimizer/optimizer.h"

namespace belay {

struct OwnedGraph::Insides {
  explicit Insides(std::vector<const belay_module*> linked);

  const std::vector<const belay_module*> plugins;
  runtime::PluginParts parts;
  const std::unique_ptr<runtime::OpRegistry> ops;
  runtime::NodeGraph nodes;
  std::list<runtime::LinkedOptimizer> optimizers;  // one for each minimize
};

}  // namespace belay
