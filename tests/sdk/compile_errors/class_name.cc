// SPDX-License-Identifier: Apache-2.0
// expect: belay: a plugin's name is [a-z][a-z0-9_-]{0,62}
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("Bad Name", "Its name has a space");
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
