// SPDX-License-Identifier: Apache-2.0
// An InitFn runs after the init operation, if no checkpoint was restored. That includes a recovery before the first
// checkpoint. It may replace initial values, for example by those of another run's checkpoint (checkpoint.h):
//
//   void run(belay::Graph& graph, belay::Session& session) override {
//     const belay::Checkpoint old(host(), path_);
//     for (const belay::Output& v : graph.collection(belay::collections::kTrainableVariables)) {
//       const std::string name = graph.node_name_of(v);
//       if (old.find(name) != nullptr) session.assign(name, old.read(name));
//     }
//   }
#pragma once

#include "belay/session.h"

namespace belay {
inline namespace v0 {

// The base of plugins of the kind "init_fn". The host runs those of [scaffold] init_fn in their order.
class InitFn : public Plugin {
 public:
  // Sets variables. The graph is frozen; the variables are initialized. Graph and session are valid for the call. An
  // error ends the run, but ABORTED and UNAVAILABLE recover. [main]
  virtual void run(Graph& graph, Session& session) = 0;
};

}  // namespace v0
}  // namespace belay
