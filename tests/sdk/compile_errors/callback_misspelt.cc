// SPDX-License-Identifier: Apache-2.0
// expect g++: 'void {anonymous}::Bad::bgin(belay::v0::Graph&)' marked 'override', but does not override
// expect clang++: only virtual member functions can be marked 'override'
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("bad", "Its begin is misspelt");
  void bgin(belay::Graph&) override {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
