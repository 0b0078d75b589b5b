// SPDX-License-Identifier: Apache-2.0
// The pieces of the graph that a manifest's [scaffold] names: init_op, local_init, ready, ready_for_local_init and
// summary_op, each by the name of a node or of a collection of one item.
#pragma once

#include "runtime/graph/node_graph.h"
#include "runtime/manifest/diagnostics.h"
#include "runtime/manifest/manifest.h"
#include "runtime/monitored/saving/scaffold.h"

namespace belay::runtime {

// Of the training's graph, when everything is in it. What cannot be such a piece is in `problems`, where it is written,
// and left out: a name that is not there; for ready and ready_for_local_init what is no vector of strings (the names of
// variables that are not initialized), for summary_op what is no string; and, except for summary_op, what needs a batch
// of an input or a feed: these run before the first batch is there, and would wait for it for ever.
ScaffoldOptions scaffold_pieces_of(NodeGraph& graph, const Manifest& manifest, Diagnostics& problems);

}  // namespace belay::runtime
