// SPDX-License-Identifier: Apache-2.0
// Guards a plugin's callback that gets an unfinished graph. A callback must close the scopes, control scopes and bodies
// that it opens. Otherwise it would change the names and the order of later nodes.
//
//   const CallbackScopes scopes(graph);
//   optimizer.call("apply", ...);
//   scopes.check();
//
// A callback cannot close earlier scopes. After it the same scopes are open as before, even if it failed. A frozen
// graph has no scopes to enter, so there is nothing to remember. [main]
#pragma once

#include "runtime/graph/node_graph.h"

namespace belay::runtime {

class CallbackScopes {
 public:
  explicit CallbackScopes(NodeGraph& graph) noexcept : graph_(graph.finalized() ? nullptr : &graph) {
    if (graph_ != nullptr) outer_ = graph_->begin_callback();
  }
  ~CallbackScopes() {
    if (graph_ != nullptr) graph_->end_callback(outer_);
  }
  CallbackScopes(const CallbackScopes&) = delete;
  CallbackScopes& operator=(const CallbackScopes&) = delete;

  // FAILED_PRECONDITION: the callback has left something open, or closed more than it opened.
  void check() const {
    const std::string why = graph_ == nullptr ? "" : graph_->left_by_callback();
    if (!why.empty()) fail(Code::kFailedPrecondition, why);
  }

 private:
  NodeGraph* graph_;  // null: the graph is frozen
  NodeGraph::Floor outer_;
};

}  // namespace belay::runtime
