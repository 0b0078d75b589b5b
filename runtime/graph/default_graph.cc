// SPDX-License-Identifier: Apache-2.0
#include "belay/runtime/default_graph.h"

namespace belay {
namespace {

// The innermost scope of this thread; null: there is none.
DefaultGraph*& innermost_scope() noexcept {
  thread_local DefaultGraph* scope = nullptr;
  return scope;
}

}  // namespace

DefaultGraph::DefaultGraph(const Graph& graph) : graph_(graph), outer_(innermost_scope()) {
  if (!graph) fail(Code::kInvalidArgument, "DefaultGraph was given a Graph that names no graph");
  innermost_scope() = this;
}

DefaultGraph::~DefaultGraph() { innermost_scope() = outer_; }

Graph default_graph() {
  const DefaultGraph* scope = innermost_scope();
  if (scope == nullptr)
    fail(Code::kFailedPrecondition,
         "this thread has no default graph: give the function a graph as its first argument, or keep a "
         "belay::DefaultGraph of one in a local variable around the call");
  return scope->graph_;
}

}  // namespace belay
