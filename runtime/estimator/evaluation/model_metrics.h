// SPDX-License-Identifier: Apache-2.0
// The metrics of a manifest's [[metrics]] work on any model. They find their tensors by name.
#pragma once

#include <vector>

#include "runtime/manifest/manifest.h"
#include "runtime/monitored/model/build_model.h"

namespace belay::runtime {

// Adds each metric to the graph of an evaluation, after build_model and before the graph is frozen. It adds the nodes
// under "metrics/NAME" and the role. At the end of outputs.metrics it adds the value and the update.
//
// Predictions and values are named by a role ("probabilities"), a node ("dense/BiasAdd", "node:1"), or a feature or
// label of the input. Labels and weights are looked for among the features and labels first. So the label "class" is
// not mistaken for the prediction "class".
//
// NOT_FOUND, with the place in the manifest and the nearest name, if a name is none of these. INVALID_ARGUMENT, with
// the place: the model uses the name for something else, or tensors do not fit the metric.
void add_metrics(NodeGraph& graph, const std::vector<MetricSection>& metrics, ModelOutputs& outputs);

}  // namespace belay::runtime
