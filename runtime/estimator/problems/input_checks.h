// SPDX-License-Identifier: Apache-2.0
// Whether an input of a manifest can be used with a model that [input.train] trains. Otherwise these problems would
// show only after the training. Each problem is at the place where the manifest names the input's plugin. [main]
#pragma once

#include <string>
#include <vector>

#include "runtime/data/input_feed.h"
#include "runtime/graph/node_graph.h"
#include "runtime/loader/library/resolve.h"
#include "runtime/manifest/diagnostics.h"
#include "runtime/manifest/manifest.h"

namespace belay::runtime {

// [input.NAME], other than [input.train].
struct OtherInput {
  const std::string& name;
  const PluginUse& section;
};

// Its option `epochs`, as all first-party inputs call it, is 0: the input never ends.
bool never_ends(const ResolvedPlugin& input, const PluginUse& section);

// Adds each mismatch with the training's schema, at the name of its plugin.
void add_schema_problems(const PluginUse& section, const SchemaMismatch& mismatch, Diagnostics& problems);

// Checks that its rows are none of the training's rows. It is for an input of the same plugin with `split` "eval" or
// "test" that shares a file with the training. The training then has another part of the same split. The paths of the
// files identify them.
void check_held_out(const OtherInput& input, const ResolvedPlugin& plugin, const ResolvedPlugin& training,
                    Diagnostics& problems);

// Checks that the model's variables are those of the training, by name. A variable of another shape comes from an input
// of another width; `help` is the advice for it.
void check_variables(const OtherInput& input, const NodeGraph& graph, const NodeGraph& training,
                     const std::string& help, Diagnostics& problems);

// Checks that the model has a class for each label of the training: those of the first batch, and all if the input
// keeps their range (belay/label_facts.h). It sees this only if a label is the unchanged input of
// softmax_cross_entropy. The problem is at the model's option `classes` or `vocabulary`, which all first-party models
// have.
void check_labels(const InputFeed& feed, const ResolvedPlugin& input, const std::vector<NamedOutput>& labels,
                  const NodeGraph& graph, const PluginUse& model, const PluginInfo& info, Diagnostics& problems);

}  // namespace belay::runtime
