// SPDX-License-Identifier: Apache-2.0
// An InitFn runs after the init operation, where no checkpoint was restored (so also in a recovery before there is
// one): it may load chosen values over the fresh ones, say from another run's checkpoint (checkpoint.h):
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

// A plugin of the kind "init_fn"; those of [scaffold] init_fn run in their order.
class InitFn : public Plugin {
 public:
  // [main] The graph is frozen; variables are initialized. An error ends the run, but ABORTED and UNAVAILABLE recover.
  virtual void run(Graph& graph, Session& session) = 0;
};

}  // namespace v0
}  // namespace belay
