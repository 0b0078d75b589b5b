// SPDX-License-Identifier: Apache-2.0
// A manifest's [scaffold] names these pieces of the graph: init_op, local_init, ready, ready_for_local_init and
// summary_op. Each has the name of a node or of a collection of one item.
#pragma once

#include "runtime/graph/node_graph.h"
#include "runtime/manifest/diagnostics.h"
#include "runtime/manifest/manifest.h"
#include "runtime/monitored/saving/scaffold.h"

namespace belay::runtime {

// Finds the pieces in the training's complete graph. `problems` gets each wrong piece with its place, and that piece is
// left out. A name must exist. ready and ready_for_local_init must be vectors of strings (the names of variables that
// are not initialized), and summary_op a string. Except for summary_op, no piece may need a batch of an input or a
// feed. The pieces run before the first batch, and would wait for it for ever.
ScaffoldOptions scaffold_pieces_of(NodeGraph& graph, const Manifest& manifest, Diagnostics& problems);

}  // namespace belay::runtime
