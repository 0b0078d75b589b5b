// SPDX-License-Identifier: Apache-2.0
// expect: belay: a plugin class has a public `static constexpr auto about = belay::about(
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  static constexpr auto about = "Its about is a text alone";
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
