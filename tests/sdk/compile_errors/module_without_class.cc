// SPDX-License-Identifier: Apache-2.0
// expect: belay: BELAY_MODULE takes a version, then the plugin classes: BELAY_MODULE
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("bad", "Is as it should be");
};

}  // namespace

BELAY_MODULE("1.0.0")
