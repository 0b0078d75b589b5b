// SPDX-License-Identifier: Apache-2.0
<<<<<<< HEAD:tests/sdk/compile_errors/class_of_no_kind.cc
// expect: belay: a plugin class derives publicly from one of belay::Hook, Saver, InitFn, Model, Input, Op, Optimizer and Schedule
=======
// expect: belay: a plugin class derives from Hook, Saver, InitFn, Model, Input, Op, Optimizer or Schedule
>>>>>>> cd46834 (optimizer: optimizers and schedules are plugins):tests/sdk/compile_errors/no_kind.cc
#include <belay/plugin.h>

namespace {

class Bad final {
 public:
  static constexpr auto about = belay::about("bad", "Derives from nothing");
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
