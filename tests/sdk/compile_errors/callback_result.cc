// SPDX-License-Identifier: Apache-2.0
// expect g++: conflicting return type specified for 'virtual bool {anonymous}::Bad::begin(belay::v0::Graph&)'
// expect clang++: virtual function 'begin' has a different return type ('bool') than the function it overrides
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("bad", "Its begin returns something");
  bool begin(belay::Graph&) { return true; }
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
