// SPDX-License-Identifier: Apache-2.0
// expect: belay: begin would never be called: declare it as in belay::Hook, `void begin(Graph&) override`
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("bad", "Its begin is const");
  void begin(belay::Graph&) const {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
