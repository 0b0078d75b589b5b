// SPDX-License-Identifier: Apache-2.0
// Whether an input of a manifest can be used with a model that [input.train] trains: what would otherwise show behind
// the training only. Each problem is at the place where the manifest names the input's plugin. [main]
#pragma once

#include <string>
#include <vector>

#include "runtime/data/input_feed.h"
#include "runtime/graph/node_graph.h"
#include "runtime/loader/library/resolve.h"
#include "runtime/manifest/diagnostics.h"
#include "runtime/manifest/manifest.h"

namespace belay::runtime {

// [input.NAME], which is not [input.train].
struct OtherInput {
  const std::string& name;
  const PluginUse& section;
};

// Its option `epochs`, as all first-party inputs spell it, is 0: for ever.
bool never_ends(const ResolvedPlugin& input, const PluginUse& section);

// Each in which it does not match the training's schema, at the name of its plugin.
void add_schema_problems(const PluginUse& section, const SchemaMismatch& mismatch, Diagnostics& problems);

// Checks that its rows are none of the training's. It is for an input of the same plugin whose `split` is "eval" or
// "test", and that shares a file with the training. The training then has another part of the same split. Files are
// known by their paths.
void check_held_out(const OtherInput& input, const ResolvedPlugin& plugin, const ResolvedPlugin& training,
                    Diagnostics& problems);

// That the model's variables are those of the training, by name. One of another shape comes from an input of another
// width; `help` says so.
void check_variables(const OtherInput& input, const NodeGraph& graph, const NodeGraph& training,
                     const std::string& help, Diagnostics& problems);

// That the model has a class for each label of the input's first batch, as far as that shows: where a label goes into
// softmax_cross_entropy as it is. The problem is at the model's option `classes` or `vocabulary`, as all of ours spell
// it.
void check_first_labels(const InputFeed& feed, const std::vector<NamedOutput>& labels, const NodeGraph& graph,
                        const PluginUse& model, const PluginInfo& info, Diagnostics& problems);

}  // namespace belay::runtime
