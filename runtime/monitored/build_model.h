// SPDX-License-Identifier: Apache-2.0
// A model plugin's graph: features and labels in, named outputs by role out; and the train operation from [optimizer].
#pragma once

#include <string>
#include <vector>

#include "belay/model.h"
#include "runtime/graph/node_graph.h"
#include "runtime/loader/instance.h"
#include "runtime/monitored/model_outputs.h"
#include "runtime/optimizer/optimizer.h"

namespace belay::runtime {

// Calls the model's build. Its outputs become roles of the graph ("loss", a metric's or a prediction's name), and the
// loss and the metrics scalar summaries. `declared`: what the input declares as labels (data/input_service.h), for mode
// kPredict, which has no labels; for an input without any, those of the training's input. Empty: what `labels` are.
// `accumulate`: how many batches a step takes; loss and metrics by their roles and in summaries are then the means over
// them, and part of the step. INVALID_ARGUMENT where a role is given twice or the loss is missing or no scalar. The
// model outlives what is returned.
ModelOutputs build_model(PluginInstance& model, NodeGraph& graph, Mode mode, const std::vector<NamedOutput>& features,
                         const std::vector<NamedOutput>& labels, const std::vector<DeclaredLabel>& declared = {},
                         std::int64_t accumulate = 1);
// The same for a table and an object; an error has the model's own message.
ModelOutputs build_model(const ModelHandle& model, NodeGraph& graph, Mode mode,
                         const std::vector<NamedOutput>& features, const std::vector<NamedOutput>& labels,
                         const std::vector<DeclaredLabel>& declared = {}, std::int64_t accumulate = 1);

// Sets outputs.train_op from the optimizer unless the model has one, which is INVALID_ARGUMENT where the settings
// accumulate or have groups of variables; the roles "train_op" and "learning_rate".
void add_train_op(NodeGraph& graph, const OptimizerUse& optimizer, ModelOutputs& outputs);
// How processes that train together exchange what they have.
struct RankExchange {
  std::int64_t ranks = 2;
  double bucket_mib = 4;          // a bucket has at most so much, or a single value
  bool rounds_gradients = false;  // on their way; other values then have a bucket of their own
};
// Both for several processes that train together, each on its own part of the input whose dequeue is `batch`
// (runtime/cluster): gradients, loss and metrics are the means over all of them, weighted by rows, before the gradients
// are clipped, and so is what the model's own updates (batch norm's moving averages) assign, add or subtract. These
// values are in buckets, in the order in which a step computes them: gradients from the last layer to the first. Each
// bucket is handed over when its last value is there (BeginBucket), and one node waits for all (MeanOverRanks). Buckets
// are at most a quarter of all values, too, so that there is something to send early. With settings.accumulate these
// are means over the batches of the step, but for the model's own updates, which are by the last batch, as in one
// process. INVALID_ARGUMENT: what they cannot share yet, by its name. The model has no roles for loss and metrics in
// between.
ModelOutputs build_model_over_ranks(PluginInstance& model, NodeGraph& graph, const std::vector<NamedOutput>& features,
                                    const std::vector<NamedOutput>& labels);
void add_train_op_over_ranks(NodeGraph& graph, const OptimizerUse& optimizer, const Output& batch,
                             const RankExchange& exchange, ModelOutputs& outputs);
// Makes each training step take a batch: where outputs.train_op does not reach `batch` it becomes an operation that
// does (true). Otherwise a model that uses nothing of its input would never come to the input's end.
bool take_batch(NodeGraph& graph, const Output& batch, ModelOutputs& outputs);

}  // namespace belay::runtime
