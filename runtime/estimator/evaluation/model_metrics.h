// SPDX-License-Identifier: Apache-2.0
// The metrics of a manifest's [[metrics]]: on any model, over tensors by their names.
#pragma once

#include <vector>

#include "runtime/manifest/manifest.h"
#include "runtime/monitored/model/build_model.h"

namespace belay::runtime {

// Adds each metric to the graph of an evaluation, after build_model and before the graph is frozen: its nodes under
// "metrics/NAME", its role, and at the end of outputs.metrics its value and update.
//
// Names: predictions and values are a role ("probabilities"), a node ("dense/BiasAdd", "node:1"), or a feature or label
// of the input by its own name; labels and weights are first of all a feature or label, so that the label "class" is
// not mistaken for the prediction "class".
//
// A name that is neither is NOT_FOUND with the place in the manifest and the nearest name; a name that the model has
// given to something else, and tensors that do not fit the metric, are INVALID_ARGUMENT with the place.
void add_metrics(NodeGraph& graph, const std::vector<MetricSection>& metrics, ModelOutputs& outputs);

}  // namespace belay::runtime
