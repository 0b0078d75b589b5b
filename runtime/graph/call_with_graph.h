// SPDX-License-Identifier: Apache-2.0
// Calls a plugin with a graph that is being built. A scope that it leaves open is an error with its name
// (callback_scopes.h).
#pragma once

#include "runtime/graph/callback_scopes.h"
#include "runtime/loader/instance.h"

namespace belay::runtime {

template <class Api, class... P, class... A>
void call_with_graph(NodeGraph& graph, PluginInstance& instance, Callback callback,
                     std::int32_t (*Api::*slot)(void*, P...), A... args) {
  const CallbackScopes scopes(graph);
  instance.call(callback, slot, args...);
  try {
    scopes.check();
  } catch (const Error& e) {
    instance.refuse(callback, e);
  }
}

}  // namespace belay::runtime
