// SPDX-License-Identifier: Apache-2.0
// expect: belay: end is private, protected or shares its name with another member, so the host cannot call it: declare
// it once, below `public:`
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("bad", "Has a second function called end");
  void end(belay::Session&) override { end(1); }
  void end(int) {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
