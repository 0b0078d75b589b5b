// SPDX-License-Identifier: Apache-2.0
// expect: belay: save_state would never be called: declare it as in belay::Hook, `void save_state(StateWriter&) const
// override`
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("bad", "Its save_state is not const");
  void save_state(belay::StateWriter&) {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
