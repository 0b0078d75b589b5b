// SPDX-License-Identifier: Apache-2.0
// Makes the queue of a queue node, for DirectSessionOptions.queues.
#pragma once

#include <memory>

#include "runtime/graph/node_graph.h"
#include "runtime/graph/queue.h"

namespace belay::runtime {

std::unique_ptr<Queue> make_queue(const Node& node);

}  // namespace belay::runtime
