// SPDX-License-Identifier: Apache-2.0
// A hook that has both callbacks of a step and does nothing in them: what is left is the boundary.
#include <belay/plugin.h>

namespace {

class IdleHook final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("idle_hook", "Is called round every step and does nothing");
  belay::RunArgs before_run(belay::RunContext&) override { return {}; }
  void after_run(belay::RunContext&, const belay::RunValues&) override {}
};

}  // namespace

BELAY_MODULE("1.0.0", IdleHook)
