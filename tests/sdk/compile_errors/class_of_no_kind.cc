// SPDX-License-Identifier: Apache-2.0
// expect: belay: a plugin class derives publicly from one of belay::Hook, Saver, InitFn, Model, Input, Op, Optimizer,
// Schedule, Exporter and Cluster
#include <belay/plugin.h>

namespace {

class Bad final {
 public:
  static constexpr auto about = belay::about("bad", "Derives from nothing");
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
