// SPDX-License-Identifier: Apache-2.0
// An InitFn runs after the init operation, where no checkpoint was restored (so also in a recovery before there is one):
// it may load chosen values over the fresh ones (Session::assign), say from another run's checkpoint (checkpoint.h).
#pragma once

#include "belay/session.h"

namespace belay {
inline namespace v0 {

class InitFn : public Plugin {
 public:
  // [main] The graph is frozen; variables are initialized.
  virtual void run(Graph& graph, Session& session) = 0;
};

}  // namespace v0
}  // namespace belay
