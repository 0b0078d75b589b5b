// SPDX-License-Identifier: Apache-2.0
// Calls a plugin with a graph that is being built. A scope that the plugin leaves open is an error with its name
// (callback_scopes.h).
#pragma once

#include "runtime/graph/callback_scopes.h"
#include "runtime/loader/instance/instance.h"

namespace belay::runtime {

// Also calls take(), like PluginInstance::call_and_take.
template <class Api, class... P, class Take, class... A>
void call_with_graph_and_take(NodeGraph& graph, PluginInstance& instance, Callback callback,
                              std::int32_t (*Api::*slot)(void*, P...), const Take& take, A... args) {
  const CallbackScopes scopes(graph);
  instance.call_and_take(
      callback, slot,
      [&] {
        scopes.check();
        take();
      },
      args...);
}

template <class Api, class... P, class... A>
void call_with_graph(NodeGraph& graph, PluginInstance& instance, Callback callback,
                     std::int32_t (*Api::*slot)(void*, P...), A... args) {
  call_with_graph_and_take(
      graph, instance, callback, slot, [] {}, args...);
}

}  // namespace belay::runtime
