// SPDX-License-Identifier: Apache-2.0
// expect: belay: end would never be called: declare it as in belay::Hook, `void end(Session&) override`
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("bad", "Has a variable called end");
  bool end = false;
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
