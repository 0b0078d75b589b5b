// SPDX-License-Identifier: Apache-2.0
// Builds a model plugin's graph from features and labels, with outputs named by role. Makes the train operation from
// [optimizer].
#pragma once

#include <string>
#include <vector>

#include "belay/model.h"
#include "runtime/graph/node_graph.h"
#include "runtime/loader/instance/instance.h"
#include "runtime/monitored/model/model_outputs.h"
#include "runtime/optimizer/optimizer.h"

namespace belay::runtime {

// Calls the model's build. Its outputs become roles of the graph: "loss", a metric's or a prediction's name. The loss
// and the metrics become scalar summaries. `declared`: the input's declared labels (data/input_service.h), for mode
// kPredict, which has no labels. For an input without labels it has those of the training's input. Empty: the labels
// are `labels`. `accumulate`: the number of batches in a step. Loss and metrics, by role and in summaries, are then
// means over these batches and part of the step. INVALID_ARGUMENT: a role is given twice, or the loss is missing or no
// scalar. The model must outlive the result.
ModelOutputs build_model(PluginInstance& model, NodeGraph& graph, Mode mode, const std::vector<NamedOutput>& features,
                         const std::vector<NamedOutput>& labels, const std::vector<DeclaredLabel>& declared = {},
                         std::int64_t accumulate = 1);
// Does the same for a table and an object. An error has the model's message.
ModelOutputs build_model(const ModelHandle& model, NodeGraph& graph, Mode mode,
                         const std::vector<NamedOutput>& features, const std::vector<NamedOutput>& labels,
                         const std::vector<DeclaredLabel>& declared = {}, std::int64_t accumulate = 1);

// Sets outputs.train_op from the optimizer unless the model has one. It sets the roles "train_op" and "learning_rate".
// INVALID_ARGUMENT: the model has one, and the settings accumulate or have groups of variables.
void add_train_op(NodeGraph& graph, const OptimizerUse& optimizer, ModelOutputs& outputs);
// How processes that train together exchange their values.
struct RankExchange {
  std::int64_t ranks = 2;
  double bucket_mib = 4;          // the most bytes of a bucket, unless it is a single value
  bool rounds_gradients = false;  // for the exchange; other values then have their own bucket
};
// These two are for several processes that train together (runtime/cluster). Each one trains on its part of the input;
// `batch` is the dequeue.
//
// Gradients, loss and metrics are means over all processes, weighted by rows, before the gradients are clipped. So are
// the values that the model's own updates (batch norm's moving averages) assign, add or subtract. These values are in
// buckets, in the order in which a step computes them: gradients from the last layer to the first. BeginBucket hands
// over each bucket when its last value is ready, and one node (MeanOverRanks) waits for all. A bucket has at most a
// quarter of all values, too, so some values are sent early.
//
// The rows of a sparse gradient are gathered, in a bucket of each table (BeginRows, RowsOverRanks). Each rank sums the
// rows of one id in the order of the ranks. They are never rounded for the exchange.
//
// With settings.accumulate these are means over the batches of the step. The model's updates use only the last batch,
// as in one process. INVALID_ARGUMENT names the parts that cannot be shared yet. Between the two calls the model has no
// roles for loss and metrics.
ModelOutputs build_model_over_ranks(PluginInstance& model, NodeGraph& graph, const std::vector<NamedOutput>& features,
                                    const std::vector<NamedOutput>& labels, const std::vector<DeclaredLabel>& declared);
void add_train_op_over_ranks(NodeGraph& graph, const OptimizerUse& optimizer, const Output& batch,
                             const RankExchange& exchange, ModelOutputs& outputs);
// Makes each training step take a batch. If outputs.train_op does not reach `batch`, it becomes an operation that does,
// and the result is true. Otherwise a model that uses nothing of its input would never reach the input's end.
bool take_batch(NodeGraph& graph, const Output& batch, ModelOutputs& outputs);

}  // namespace belay::runtime
