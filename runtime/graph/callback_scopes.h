// SPDX-License-Identifier: Apache-2.0
// Round a plugin's callback that gets a graph which is being built. What the callback opens (a scope, a control scope,
// a body) it must close: else the names of what the host and others add, and the order in which it runs, would be its.
//
//   const CallbackScopes scopes(graph);
//   optimizer.call("apply", ...);
//   scopes.check();
//
// What was open before, a callback cannot close. After it, whatever became of it, the same is open as before. A frozen
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

  // FAILED_PRECONDITION if the callback has left something open, or closed more than it opened.
  void check() const {
    const std::string why = graph_ == nullptr ? "" : graph_->left_by_callback();
    if (!why.empty()) fail(Code::kFailedPrecondition, why);
  }

 private:
  NodeGraph* graph_;  // null: it is frozen
  NodeGraph::Floor outer_;
};

}  // namespace belay::runtime
