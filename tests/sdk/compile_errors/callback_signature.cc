// SPDX-License-Identifier: Apache-2.0
// expect: belay: end would never be called: declare it as in belay::Hook, `void end(Session&) override`
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("bad", "Its end takes no session");
  void end() {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
